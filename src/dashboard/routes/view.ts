import type { Environment } from '../../core/environment.ts'
import { ENVIRONMENTS } from '../../core/environment.ts'
import {
  DashboardError,
  type DashboardReply,
  type DashboardRequest,
  type DashboardRoute,
  type SignedIn,
  userRoute,
} from '../route.ts'

/**
 * The explorer and the webhooks page call the service's own endpoints, through the gate, as the account that
 * is signed in: `…/view/{environment}/v1/candles?…` is `GET /v1/candles?…`. Validation, plan rules and
 * ownership are therefore those of the API; only key and price fall away.
 */
export type View = (
  request: DashboardRequest,
  as: { accountId: string; environment: Environment },
) => Promise<DashboardReply | undefined>

export const READABLE =
  /^\/v1\/(candles|funding|open-interest|trades|flow|liquidations|snapshots(\/at)?|markets(\/[^/]+)?|symbols|sources|limits|webhooks(\/\w+\/deliveries)?)$/
const WRITABLE = /^\/v1\/webhooks(\/\w+(\/(test|rotate|replay))?)?$/

export function viewRoutes(deps: { view: View }): DashboardRoute[] {
  const run = async (context: SignedIn): Promise<DashboardReply> => {
    const environment = ENVIRONMENTS.find((name) => name === context.params.environment)
    const path = `/v1/${context.params.path ?? ''}`
    const { request, accountId } = context
    const isOpen = (request.method === 'GET' ? READABLE : WRITABLE).test(path)
    if (environment !== undefined && isOpen) {
      const reply = await deps.view({ ...request, path }, { accountId, environment })
      if (reply !== undefined) return reply
    }
    throw new DashboardError(404, 'not_found', 'There is no such view.')
  }
  return ['GET', 'POST', 'PATCH', 'DELETE'].map((method) =>
    userRoute(`${method} view/{environment}/v1/{path*}`, run),
  )
}
