import { ENVIRONMENTS, type Environment } from '../../core/environment.ts'
import type { DeliveryLog } from '../../webhooks/delivery-log.ts'
import { DashboardError, type DashboardRoute, json, type SignedIn, userRoute } from '../route.ts'
import { deliveryView } from '../views.ts'
import type { RedeliveryView } from '../wire.ts'

/** What the delivery log shows beyond the API: one delivery in full, and that one again. */
export function webhookRoutes(deps: {
  deliveriesOf: (environment: Environment) => DeliveryLog | undefined
}): DashboardRoute[] {
  const logOf = ({ params }: SignedIn): DeliveryLog => {
    const environment = ENVIRONMENTS.find((name) => name === params.environment)
    const log = environment && deps.deliveriesOf(environment)
    if (log !== undefined) return log
    throw new DashboardError(404, 'not_found', 'This environment is not running.')
  }
  const path = 'webhooks/{environment}/{id}/deliveries/{delivery}'
  return [
    userRoute(`GET ${path}`, async (context) => {
      const { id = '', delivery = '' } = context.params
      return json(deliveryView(await logOf(context).find(context.accountId, id, delivery)))
    }),
    userRoute(`POST ${path}/redeliver`, async (context) => {
      const { id = '', delivery = '' } = context.params
      const again = await logOf(context).redeliver(context.accountId, id, delivery)
      return json({ delivery_id: again.deliveryId, event_id: again.eventId } satisfies RedeliveryView, 202)
    }),
  ]
}
