import { AccountsError } from '../accounts/accounts.ts'
import { type Billing, SignatureError } from '../accounts/billing.ts'
import { BusyError } from '../accounts/hash-queue.ts'
import type { Users } from '../accounts/users.ts'
import { routeFinder } from '../api/publish/router.ts'
import { ApiError, publicCode } from '../core/errors.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type { Logger } from '../kit/log.ts'
import { createCallRate } from './call-rate.ts'
import type { SessionCookies } from './cookies.ts'
import {
  DashboardError,
  type DashboardReply,
  type DashboardRequest,
  type DashboardRoute,
  json,
  type SignedIn,
} from './route.ts'
import { GUARDS, type Site } from './site.ts'

/** The page, its assets, its API and the billing webhook. API keys are not accepted here. */
export interface Dashboard {
  /** Undefined for paths that do not belong to the dashboard. */
  handle(request: DashboardRequest): Promise<DashboardReply | undefined>
  /** The account of a browser's session, for the stream; undefined if there is none. */
  accountOf(headers: DashboardRequest['headers']): Promise<string | undefined>
}

export const DASHBOARD_API = '/dashboard/api/'
const USAGE_DOWNLOAD = `${DASHBOARD_API}usage.csv`
export const BILLING_PATH = '/billing/stripe'

export function createDashboard(deps: {
  site: Site
  routes: readonly DashboardRoute[]
  users: Users
  cookies: SessionCookies
  billing: Billing | undefined
  log: Logger
}): Dashboard {
  const { users, cookies, billing, log } = deps
  const find = routeFinder(deps.routes)
  const limitRate = createCallRate()

  async function callApi(request: DashboardRequest): Promise<DashboardReply> {
    refuseForeign(request)
    const found = find(request.method === 'HEAD' ? 'GET' : request.method, request.path)
    if (found === undefined) throw new DashboardError(404, 'not_found', 'There is nothing at this path.')
    const { route, params } = found
    const token = cookies.read(request.headers)
    if (route.method !== 'GET' && !cookies.csrfFits(token, request.headers['x-csrf-token'])) {
      throw new DashboardError(403, 'csrf', 'The page is out of date. Load it again.')
    }
    const context = { request, params, query: new URLSearchParams(request.search), token: token ?? '' }
    const session = token === undefined ? undefined : await users.findSession(token)
    if (session === undefined) {
      if (route.access === 'open') return route.run(context as SignedIn)
      throw new DashboardError(401, 'signed_out', 'Sign in first.')
    }
    const { accountId } = session.user
    limitRate(session.user.id)
    if (route.access === 'operator' && session.user.role !== 'operator') {
      throw new DashboardError(403, 'operators_only', 'Only an operator may do this.')
    }
    return { ...(await route.run({ ...context, session, accountId })), readBy: accountId }
  }

  async function receiveBilling({ method, headers, body }: DashboardRequest): Promise<DashboardReply> {
    if (billing === undefined) {
      throw new DashboardError(404, 'not_found', 'Billing is not set up (TAPELINE_BILLING_SECRET).')
    }
    if (method !== 'POST')
      throw new DashboardError(405, 'method_not_allowed', 'Only POST.', ['Allow', 'POST'])
    const signature = headers['stripe-signature']
    const receiving = billing.receive(body ?? Buffer.alloc(0), signature?.toString())
    const outcome = await receiving.catch((error: Error) => {
      // Otherwise only the provider would see that somebody has paid and got nothing. Anybody may send a wrong signature.
      if (!(error instanceof SignatureError)) log.warn({ why: error.message }, 'a billing event was refused')
      throw error
    })
    log.info(outcome, 'a billing event')
    return json({ received: true, ...outcome })
  }

  return {
    async handle(request) {
      const isApi = request.path.startsWith(DASHBOARD_API)
      const isBilling = request.path === BILLING_PATH
      try {
        if (isApi) return guarded(await callApi(request))
        if (isBilling) return guarded(await receiveBilling(request))
        const file = await deps.site.find(request.path)
        return file && guarded(file)
      } catch (error) {
        return guarded(failed(error, request, log))
      }
    },
    async accountOf(headers) {
      const token = cookies.read(headers)
      const session = token === undefined ? undefined : await users.findSession(token)
      return session?.user.accountId
    },
  }
}

/**
 * Because a navigation sends the cookie, a link or form on another site could spend a customer's credits. Only the page
 * itself makes calls, and its only link is the download of the usage. Old browsers do not send these headers.
 */
function refuseForeign({ path, headers }: DashboardRequest): void {
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers
  const isForeign = site !== 'same-origin' && site !== 'none'
  if (isForeign || (mode === 'navigate' && path !== USAGE_DOWNLOAD)) {
    throw new DashboardError(403, 'foreign_call', 'Only the pages of the dashboard may call this.')
  }
}

/** Adds the headers that every answer has. */
function guarded(reply: DashboardReply): DashboardReply {
  return { ...reply, headers: [...reply.headers, ...GUARDS] }
}

function failed(error: unknown, request: DashboardRequest, log: Logger): DashboardReply {
  const known = toDashboardError(error)
  if (known === undefined)
    log.error({ err: error, request: request.id, path: request.path }, 'a dashboard call failed')
  const { status, code, message, headers } =
    known ?? new DashboardError(500, 'internal_error', 'Something went wrong on our side.')
  return json({ error: code, message, request_id: request.id }, status, headers)
}

function toDashboardError(error: unknown): DashboardError | undefined {
  if (error instanceof DashboardError) return error
  if (error instanceof ApiError) {
    return new DashboardError(error.status, publicCode(error.kind), error.message, error.headers.flat())
  }
  // The same answer as the API's. The log and /ready report it once, so it is not logged again for every call of a
  // page.
  if (error instanceof StoreUnavailableError) {
    return new DashboardError(
      503,
      'environment_unavailable',
      'The stored data cannot be reached at the moment. Try again in a few seconds.',
      ['Retry-After', '5'],
    )
  }
  if (error instanceof AccountsError) return new DashboardError(422, 'invalid_param', error.message)
  if (error instanceof SignatureError) return new DashboardError(400, 'bad_signature', error.message)
  if (error instanceof Error && error.name === 'ConflictError') {
    return new DashboardError(409, 'taken', error.message)
  }
  if (error instanceof BusyError) {
    return new DashboardError(503, 'busy', error.message, ['Retry-After', '2'])
  }
  return undefined
}
