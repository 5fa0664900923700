import type { Credential, KeyRing } from '../accounts/key-ring.ts'
import type { EndpointRoute } from '../contract/endpoint.ts'
import { type Clock, elapsedMs } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import { type AdmissionDeps, admitAndCount, admitRequest, type KeyedRequest } from './admit-request.ts'
import { underAskedName } from './asked-name.ts'
import { type AuthThrottle, tooManyFailures } from './auth-throttle.ts'
import { AuthenticationError, authenticate, checkCredential, findKeyText } from './authenticate.ts'
import { errorReply, toApiError } from './error-reply.ts'
import { limitRate } from './limit-rate.ts'
import { Meter, type MeterDeps } from './meter.ts'
import { type CachedPage, createPageCache } from './page-cache.ts'
import type { RecentCalls } from './recent-calls.ts'
import { meterHeaders } from './reply.ts'
import type { GateReply, GateRequest } from './request.ts'
import { runOpen } from './run-open.ts'
import { remainingOf, type Task } from './task.ts'
import { UnreadAnswers } from './unread-answers.ts'

/**
 * The steps of every request:
 *
 *   authenticate → limit rate → plan of the endpoint → validate → parameter gates (interval, depth, feature)
 *     → balance → run → debit the exact price → reply
 *
 * A request that fails costs nothing.
 */
export interface GateDeps<Services> extends AdmissionDeps<Services>, Omit<MeterDeps<Services>, 'pages'> {
  readonly keys: KeyRing
  readonly authThrottle: AuthThrottle
  readonly clock: Clock
  readonly log: Logger
  /** For endpoints that need no key. */
  readonly openServices: Services
  readonly pageCacheBytes: number
  /** For an operator who inspects an account. */
  readonly calls?: RecentCalls
}

export interface Gate<Services> {
  /** The sender of an answer counts the bytes that it still holds here. */
  readonly unread: UnreadAnswers
  handle(request: GateRequest, route: EndpointRoute<Services>): GateReply | Promise<GateReply>
  /**
   * Applies the same rules to an account holder in the dashboard (a credential without a key). Views are free within
   * the account's daily allowance, neither charged nor counted; beyond it they cost as much as a request. The header
   * X-Credits-Price has the price that a key would pay. The answer is never cached.
   */
  view(
    request: GateRequest,
    route: EndpointRoute<Services>,
    viewer: Credential,
    options: ViewOptions,
  ): Promise<GateReply>
}

interface ViewOptions {
  readonly maxRows: number
  /** Refuse (402) if the allowance does not cover it, even if there are credits left. */
  readonly freeOnly: boolean
}

export function createGate<Services>(deps: GateDeps<Services>): Gate<Services> {
  const { clock, keys, ledger, log } = deps
  const pages = createPageCache<Services>(deps.pageCacheBytes)
  const meter = new Meter<Services>({ ...deps, pages })
  const unread = new UnreadAnswers()

  /** Answers synchronously if nothing has to be awaited, because a promise costs more than all checks together. */
  function handle(request: GateRequest, route: EndpointRoute<Services>): GateReply | Promise<GateReply> {
    if (route.endpoint.access.auth === 'none') {
      return runOpen(request, route, deps).catch((error) => failed(error, request, route, undefined))
    }
    let credential: Credential | undefined
    try {
      const key = authenticate(keys, findKeyText(request))
      if (key instanceof Promise) {
        return key.then(
          (found) => handleFor(request, route, found),
          (error) => failed(error, request, route, undefined),
        )
      }
      credential = key
    } catch (error) {
      return failed(error, request, route, undefined)
    }
    return handleFor(request, route, credential)
  }

  function handleFor(
    request: GateRequest,
    route: EndpointRoute<Services>,
    credential: Credential,
  ): GateReply | Promise<GateReply> {
    let known: Credential | undefined
    const startedMs = elapsedMs(clock)
    const finish = (reply: GateReply) => {
      reply.readBy = credential.accountId
      deps.calls?.finished(request, credential, elapsedMs(clock) - startedMs)
      return reply
    }
    const onError = (error: unknown) => failed(error, request, route, known)
    try {
      const { endpoint } = route
      const nowMs = clock.now()
      checkCredential(credential, { nowMs, address: request.address, scope: endpoint.access.scope })
      known = credential
      const countFirst = endpoint.demand === undefined || credential.rate.state(nowMs).remaining <= 0
      if (countFirst) limitRate(credential.rate, nowMs, endpoint.rateLimitError)
      try {
        unread.check(credential.accountId, endpoint.rateLimitError)
      } catch (error) {
        // Requests of this kind are normally counted after their body is read; a refusal counts as one request.
        if (!countFirst) limitRate(credential.rate, nowMs, endpoint.rateLimitError)
        throw error
      }
      const keyed = { request, route, credential, nowMs }
      const reply = ledger.isFresh(credential.budgets, nowMs)
        ? serve(keyed, countFirst)
        : ledger.refresh(credential.budgets, nowMs).then(() => serve(keyed, countFirst))
      return reply instanceof Promise ? reply.then(finish, onError) : finish(reply)
    } catch (error) {
      return onError(error)
    }
  }

  function serve(keyed: KeyedRequest<Services>, isCounted: boolean): GateReply | Promise<GateReply> {
    const page = pages.find(keyed.request, keyed.credential)
    if (page === undefined) return admitAndRun(keyed, isCounted)
    const isCurrent = page.isCurrent(keyed.nowMs)
    const serveIf = (current: boolean) =>
      current ? servePage(keyed, page, isCounted) : admitAndRun(keyed, isCounted)
    return isCurrent instanceof Promise ? isCurrent.then(serveIf) : serveIf(isCurrent)
  }

  /** Serves the stored page, or reads a shorter one if the balance does not cover it. */
  function servePage(
    keyed: KeyedRequest<Services>,
    page: CachedPage<Services>,
    isCounted: boolean,
  ): GateReply | Promise<GateReply> {
    const reply = meter.chargeFor({ ...keyed, input: page.input }, page)
    return reply instanceof Promise
      ? reply.then((paid) => paid ?? admitAndRun(keyed, isCounted))
      : (reply ?? admitAndRun(keyed, isCounted))
  }

  function admitAndRun(keyed: KeyedRequest<Services>, isCounted: boolean): GateReply | Promise<GateReply> {
    const task = isCounted ? admitRequest(keyed, deps) : admitAndCount(keyed, deps)
    return task instanceof Promise ? task.then(run) : run(task)
  }

  function run(task: Task<Services>): GateReply | Promise<GateReply> {
    if (task.route.endpoint.method === 'POST') return meter.runOnceAndCharge(task)
    return task.dryRun ? meter.preview(task) : meter.runAndCharge(task)
  }

  async function view(
    asked: GateRequest,
    route: EndpointRoute<Services>,
    viewer: Credential,
    options: ViewOptions,
  ): Promise<GateReply> {
    // Views are not cached, so an ETag never matches.
    const request = { ...asked, headers: { ...asked.headers, 'if-none-match': undefined } }
    try {
      const nowMs = clock.now()
      const { access, rateLimitError } = route.endpoint
      checkCredential(viewer, { nowMs, address: request.address, scope: access.scope })
      limitRate(viewer.rate, nowMs, rateLimitError)
      unread.check(viewer.accountId, rateLimitError)
      if (!ledger.isFresh(viewer.budgets, nowMs)) await ledger.refresh(viewer.budgets, nowMs)
      const task = await admitRequest({ request, route, credential: viewer, nowMs }, deps)
      limitRate(viewer.rate, nowMs, rateLimitError, task.demand?.requests ?? 1, 1)
      if (task.dryRun) return uncached(await meter.preview(task))
      return { ...uncached(await meter.runFree({ ...task, ...options })), readBy: viewer.accountId }
    } catch (error) {
      const known = toApiError(error)
      if (known.kind === 'internal_error') {
        log.error({ err: error, request: request.id, route: route.name }, 'a view failed')
      }
      return errorReply(known, request.id, request.headers.accept)
    }
  }

  async function failed(
    error: unknown,
    request: GateRequest,
    route: EndpointRoute<Services>,
    credential: Credential | undefined,
  ): Promise<GateReply> {
    const known = toApiError(error)
    if (known.kind === 'internal_error') {
      log.error({ err: error, request: request.id, route: route.name }, 'a request failed')
    }
    const accept = request.headers.accept
    if (error instanceof AuthenticationError && !(await deps.authThrottle.afterFailure(request.address))) {
      return errorReply(tooManyFailures(route.endpoint.rateLimitError), request.id, accept)
    }
    const told = underAskedName(known, route.params, request.search)
    const reply = errorReply(told, request.id, accept)
    if (credential !== undefined) {
      ledger.count(credential, route.name, known.status === 429 ? 'rate_limited' : 'failed')
      deps.calls?.failed(request, credential, known)
      const credits = { charged: 0, remaining: remainingOf(credential) }
      reply.headers.push(...meterHeaders(credential, clock.now(), credits))
    }
    return reply
  }

  return { handle, view, unread }
}

/** A view depends on a cookie and is charged each time, so no cache may store it. */
function uncached({ headers, encoded: _encoded, ...reply }: GateReply): GateReply {
  const rest: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (name !== 'ETag' && name !== 'Cache-Control') rest.push(name, headers[i + 1] ?? '')
  }
  return { ...reply, headers: [...rest, 'Cache-Control', 'no-store'] }
}
