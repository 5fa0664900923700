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
 * The explorer and the webhooks page call the service's own endpoints through the gate, as the signed-in account:
 * `…/view/{environment}/v1/candles?…` is `GET /v1/candles?…`. Validation, plan rules and ownership are therefore those
 * of the API. The differences are that no key is needed and that views within the day's allowance are free.
 */
export type View = (
  request: DashboardRequest,
  as: { accountId: string; environment: Environment; maxRows: number; freeOnly: boolean },
) => Promise<DashboardReply | undefined>

/** The paths that the page reads, with the maximum number of rows: one chart, one list, one table. */
const READABLE: readonly (readonly [path: RegExp, maxRows: number])[] = [
  [/^\/v1\/candles$/, 500],
  [/^\/v1\/funding$/, 200],
  [/^\/v1\/snapshots$/, 1_000],
  [/^\/v1\/snapshots\/at$/, 1],
  [/^\/v1\/markets$/, 500],
  [/^\/v1\/markets\/[^/]+$/, 1],
  [/^\/v1\/(symbols|sources|limits)$/, 1],
  [/^\/v1\/webhooks$/, 1_000],
  [/^\/v1\/webhooks\/\w+\/deliveries$/, 100],
]
const MAX_TRIED_ROWS = 1_000
/** A replay continues when its user opens another page. */
const REPLAY = /\/replay$/
const WRITABLE = /^\/v1\/webhooks(\/\w+(\/(test|rotate|replay))?)?$/

/** The maximum number of rows shown; undefined for paths that the page does not read. */
export function rowsShown(path: string): number | undefined {
  return READABLE.find(([pattern]) => pattern.test(path))?.[1]
}

function asked({ isGone, ...request }: DashboardRequest, path: string): DashboardRequest {
  return { ...request, path, ...(isGone === undefined || REPLAY.test(path) ? {} : { isGone }) }
}

export function viewRoutes(deps: { view: View }): DashboardRoute[] {
  const run = async (context: SignedIn): Promise<DashboardReply> => {
    const environment = ENVIRONMENTS.find((name) => name === context.params.environment)
    const path = `/v1/${context.params.path ?? ''}`
    const { request, accountId } = context
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const maxRows = isRead ? rowsShown(path) : WRITABLE.test(path) ? 1 : undefined
    if (environment !== undefined && maxRows !== undefined) {
      // Unless the user has agreed to pay, the page requests only what is free.
      const freeOnly = isRead && request.headers['x-view-free-only'] === 'true'
      const reply = await deps.view(asked(request, path), { accountId, environment, maxRows, freeOnly })
      if (reply !== undefined) return reply
    }
    throw new DashboardError(404, 'not_found', 'There is no such view.')
  }
  const tryIt = async ({ request, accountId, params }: SignedIn): Promise<DashboardReply> => {
    const environment = ENVIRONMENTS.find((name) => name === params.environment)
    const as = environment && { accountId, environment, maxRows: MAX_TRIED_ROWS, freeOnly: false }
    const reply = as && (await deps.view(asked(request, `/${params.path ?? ''}`), as))
    if (reply !== undefined) return reply
    throw new DashboardError(404, 'not_found', 'There is no such path.')
  }
  return ['GET', 'POST', 'PATCH', 'DELETE'].flatMap((method) => [
    userRoute(`${method} view/{environment}/v1/{path*}`, run),
    // The API reference can send any operation.
    userRoute(`${method} try/{environment}/{path*}`, tryIt),
  ])
}
