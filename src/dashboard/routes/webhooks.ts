import { ENVIRONMENTS, type Environment } from '../../core/environment.ts'
import type { WebhookService } from '../../webhooks/webhooks.ts'
import { DashboardError, type DashboardRoute, json, type SignedIn, userRoute } from '../route.ts'
import { deliveryView } from '../views.ts'
import type { ExpectedEventsView, RedeliveryView } from '../wire.ts'

type ShownWebhooks = Pick<WebhookService, 'deliveries' | 'expected'>

/**
 * What the webhooks page shows beyond the API: the expected events of each kind per day, one delivery in full, and its
 * redelivery.
 */
export function webhookRoutes(deps: {
  webhooksOf: (environment: Environment) => ShownWebhooks | undefined
}): DashboardRoute[] {
  const webhooksOf = ({ params }: SignedIn): ShownWebhooks => {
    const environment = ENVIRONMENTS.find((name) => name === params.environment)
    const webhooks = environment && deps.webhooksOf(environment)
    if (webhooks !== undefined) return webhooks
    throw new DashboardError(404, 'not_found', 'This environment is not running.')
  }
  const path = 'webhooks/{environment}/{id}/deliveries/{delivery}'
  return [
    userRoute('GET webhooks/{environment}/expected', async (context) => {
      const kinds = await webhooksOf(context).expected()
      return json({
        kinds: kinds.map(
          ({ kind, eventsPerDay, creditsPerDay, basis }): ExpectedEventsView => ({
            kind,
            events_per_day: eventsPerDay,
            credits_per_day: creditsPerDay,
            basis,
          }),
        ),
      })
    }),
    userRoute(`GET ${path}`, async (context) => {
      const { id = '', delivery = '' } = context.params
      return json(deliveryView(await webhooksOf(context).deliveries.find(context.accountId, id, delivery)))
    }),
    userRoute(`POST ${path}/redeliver`, async (context) => {
      const { id = '', delivery = '' } = context.params
      const again = await webhooksOf(context).deliveries.redeliver(context.accountId, id, delivery)
      return json({ delivery_id: again.deliveryId, event_id: again.eventId } satisfies RedeliveryView, 202)
    }),
  ]
}
