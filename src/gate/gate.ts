import type { Idempotency } from '../accounts/idempotency.ts'
import type { Credential, KeyRing } from '../accounts/key-ring.ts'
import type { Ledger } from '../accounts/ledger.ts'
import type { ViewAllowances } from '../accounts/view-allowance.ts'
import { MAX_REQUEST_BODY_BYTES } from '../contract/endpoint.ts'
import type { Environment } from '../core/environment.ts'
import { ApiError, faultsError } from '../core/errors.ts'
import type { Plan } from '../core/plan.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import { admitEndpoint, admitParams, admitRange } from './admit.ts'
import type { AuthThrottle } from './auth-throttle.ts'
import { AuthenticationError, authenticate, checkCredential, findKeyText } from './authenticate.ts'
import { errorReply, toApiError } from './error-reply.ts'
import { isRateFull, limitRate } from './limit-rate.ts'
import { contentReply, createMeter } from './meter.ts'
import { createPageCache } from './page-cache.ts'
import { parseQuery } from './query.ts'
import { readRequestBody, withBodyFaults } from './read-body.ts'
import { gateParams, readChoices } from './read-choices.ts'
import { readInput } from './read-input.ts'
import { matchesEtag, render } from './render.ts'
import { meterHeaders } from './reply-headers.ts'
import type { GateReply, GateRequest, GateRoute } from './request.ts'
import { remainingOf, type Task } from './task.ts'

/**
 * The sequence that every request passes:
 *
 *   authenticate → limit rate → plan of the endpoint → validate → parameter gates (interval, depth, feature)
 *     → balance → run → debit the exact price → reply
 *
 * A request that fails costs nothing.
 */
export interface GateDeps<Services> {
  readonly keys: KeyRing
  readonly ledger: Ledger
  readonly idempotency: Idempotency
  readonly allowances: ViewAllowances
  readonly authThrottle: AuthThrottle
  readonly clock: Clock
  readonly log: Logger
  /** What endpoints work with, per environment; one that is not running is absent. */
  readonly services: Partial<Record<Environment, Services>>
  /** For endpoints that need no key. */
  readonly openServices: Services
  /** Every plan of this service. */
  readonly plans: readonly Plan[]
  readonly upgradeUrl: string
}

export interface Gate<Services> {
  handle(request: GateRequest, route: GateRoute<Services>): GateReply | Promise<GateReply>
  /**
   * The same rules for an account holder in the dashboard (a credential without a key): for nothing within the
   * account's allowance of the day, neither charged nor counted; beyond it at the price of a request. The header
   * X-Credits-Price says what a key would pay. Nobody keeps the answer.
   */
  view(
    request: GateRequest,
    route: GateRoute<Services>,
    viewer: Credential,
    options: ViewOptions,
  ): Promise<GateReply>
}

export interface ViewOptions {
  readonly maxRows: number
  /** Refused (402) where the allowance does not pay for it, whatever credits there are. */
  readonly freeOnly: boolean
}

const NO_PARAMS: string[] = []
const TOO_MANY_FAILURES_RETRY_SECONDS = 5

export function createGate<Services>(deps: GateDeps<Services>): Gate<Services> {
  const { clock, keys, ledger, log } = deps
  const replay = createPageCache<Services>()
  const meter = createMeter<Services>({
    ...deps,
    onAnswer: (task, answer, rowLimit) => {
      if (answer.kind === 'list') replay.keep(task, answer, rowLimit)
    },
  })

  /** Answers at once where nothing has to be waited for: a promise costs more than all checks together. */
  function handle(request: GateRequest, route: GateRoute<Services>): GateReply | Promise<GateReply> {
    if (route.endpoint.access.auth === 'none') {
      return answerOpen(request, route).catch((error) => failed(error, request, route, undefined))
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
    route: GateRoute<Services>,
    key: Credential,
  ): GateReply | Promise<GateReply> {
    let known: Credential | undefined
    const onError = (error: unknown) => failed(error, request, route, known)
    try {
      const { endpoint } = route
      const nowMs = clock.now()
      checkCredential(key, { nowMs, address: request.address, scope: endpoint.access.scope })
      known = key
      const countFirst = endpoint.demand === undefined || isRateFull(key.rate, nowMs)
      if (countFirst) limitRate(key.rate, nowMs, endpoint.rateLimitError)
      const answer = ledger.isFresh(key.budgets, nowMs)
        ? serve(request, route, key, nowMs, countFirst)
        : ledger.refresh(key.budgets, nowMs).then(() => serve(request, route, key, nowMs, countFirst))
      return answer instanceof Promise ? answer.catch(onError) : answer
    } catch (error) {
      return onError(error)
    }
  }

  function serve(
    request: GateRequest,
    route: GateRoute<Services>,
    key: Credential,
    nowMs: number,
    counted: boolean,
  ): GateReply | Promise<GateReply> {
    const again = replayed(request, route, key, nowMs)
    if (again !== undefined) return again
    const task = counted ? admit(request, route, key, nowMs) : admitCounted(request, route, key, nowMs)
    return task instanceof Promise ? task.then(run) : run(task)
  }

  function run(task: Task<Services>): GateReply | Promise<GateReply> {
    if (task.route.endpoint.method === 'POST') return meter.runOnceAndCharge(task)
    return task.dryRun ? meter.preview(task) : meter.runAndCharge(task)
  }

  async function view(
    asked: GateRequest,
    route: GateRoute<Services>,
    viewer: Credential,
    options: ViewOptions,
  ): Promise<GateReply> {
    // Whoever sends a tag has kept what is not to be kept.
    const request = { ...asked, headers: { ...asked.headers, 'if-none-match': undefined } }
    try {
      const nowMs = clock.now()
      const { access, rateLimitError } = route.endpoint
      checkCredential(viewer, { nowMs, address: request.address, scope: access.scope })
      limitRate(viewer.rate, nowMs, rateLimitError)
      if (!ledger.isFresh(viewer.budgets, nowMs)) await ledger.refresh(viewer.budgets, nowMs)
      const task = await admit(request, route, viewer, nowMs)
      return notKept(await meter.runFree({ ...task, ...options }))
    } catch (error) {
      const known = toApiError(error)
      if (known.kind === 'internal_error') {
        log.error({ err: error, request: request.id, route: route.name }, 'a view failed')
      }
      return errorReply(known, request.id, request.headers.accept)
    }
  }

  /**
   * A body that says how many requests it is worth is read before it is counted; one that was refused before
   * it could say so counts as one, and a large one, which takes time to read, counts as one from the start.
   */
  function admitCounted(
    request: GateRequest,
    route: GateRoute<Services>,
    credential: Credential,
    nowMs: number,
  ): Task<Services> | Promise<Task<Services>> {
    const counted = (request.body?.length ?? 0) > MAX_REQUEST_BODY_BYTES ? 1 : 0
    const count = (requests: number, before: number) =>
      limitRate(credential.rate, nowMs, route.endpoint.rateLimitError, requests, before)
    const countTask = (task: Task<Services>) => {
      count(task.demand?.requests ?? 1, counted)
      return task
    }
    count(counted, 0)
    let task: Task<Services> | Promise<Task<Services>>
    try {
      task = admit(request, route, credential, nowMs)
    } catch (error) {
      count(1, counted)
      throw error
    }
    return task instanceof Promise ? task.then(countTask) : countTask(task)
  }

  /** The same page as before, where nothing can have changed it. */
  function replayed(
    request: GateRequest,
    route: GateRoute<Services>,
    credential: Credential,
    nowMs: number,
  ): GateReply | Promise<GateReply> | undefined {
    const kept = replay.find(request, credential, nowMs)
    const services = deps.services[credential.environment]
    if (kept === undefined || services === undefined) return undefined
    const { answer, rowLimit, ...rest } = kept
    const task = { ...rest, request, route, credential, services, nowMs }
    return meter.chargeFor(
      { ...task, range: undefined, ignored: [], body: undefined, demand: undefined, dryRun: false },
      answer,
      rowLimit,
    )
  }

  /** Plan of the endpoint, then validation, then what the plan says about the values. */
  function admit(
    request: GateRequest,
    route: GateRoute<Services>,
    credential: Credential,
    nowMs: number,
  ): Task<Services> | Promise<Task<Services>> {
    const query = parseQuery(request.search)
    const { endpoint } = route
    const { access, demand } = endpoint
    const services = deps.services[credential.environment]
    if (services === undefined) throw notRunning(credential.environment)
    const { plans, upgradeUrl } = deps
    const admission = { plan: credential.plan, plans, nowMs, upgradeUrl }
    admitEndpoint(access, admission)
    const read = readInput(route.params, {
      query,
      path: request.pathParams,
      bound: route.bound,
      gateParams: gateParams(endpoint),
    })
    const choices = readChoices(endpoint, query, request.headers.accept)
    const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers
    const sent = { contentType, contentEncoding, body: request.body, plan: credential.plan }
    const faults = [...read.faults, ...choices.faults]
    if (faults.length > 0) {
      const { body } = endpoint
      if (body === undefined) throw faultsError(faults)
      return withBodyFaults(faults, () => readRequestBody(body, sent, services))
    }
    admitParams(route.params, read, access, admission)
    const range = access.history && admitRange(access.history, read.input, admission)
    const taskWith = (body: unknown): Task<Services> => ({
      request,
      route,
      credential,
      services,
      nowMs,
      input: read.input,
      given: read.given,
      range,
      ignored: read.ignored,
      format: choices.format,
      dryRun: choices.dryRun,
      body,
      demand: demand?.(body),
    })
    if (endpoint.body === undefined) return taskWith(undefined)
    const body = readRequestBody(endpoint.body, sent, services)
    return body instanceof Promise ? body.then(taskWith) : taskWith(body)
  }

  async function answerOpen(request: GateRequest, route: GateRoute<Services>): Promise<GateReply> {
    const { endpoint, bound } = route
    const query = parseQuery(request.search)
    const texts = { query, path: request.pathParams, bound, gateParams: NO_PARAMS }
    const read = readInput(route.params, texts)
    if (read.faults.length > 0) throw faultsError(read.faults)
    const answer = await endpoint.run({
      input: read.input as never,
      given: read.given,
      services: deps.openServices,
      nowMs: clock.now(),
      requestId: request.id,
      isGone: undefined,
      path: request.path,
      ignored: [],
      range: undefined,
      rowLimit: 0,
      body: undefined,
      heavySlots: 0,
      dryRun: false,
      get caller(): never {
        throw new Error('an open endpoint has no caller')
      },
      counters: () => {
        throw new Error('an open endpoint has no counters')
      },
    })
    const rendered = render(answer, 'json', endpoint.returns)
    return contentReply(answer, rendered, [], matchesEtag(request.headers['if-none-match'], rendered.etag))
  }

  async function failed(
    error: unknown,
    request: GateRequest,
    route: GateRoute<Services>,
    credential: Credential | undefined,
  ): Promise<GateReply> {
    const known = toApiError(error)
    if (known.kind === 'internal_error') {
      log.error({ err: error, request: request.id, route: route.name }, 'a request failed')
    }
    const accept = request.headers.accept
    if (error instanceof AuthenticationError && !(await deps.authThrottle.afterFailure(request.address))) {
      const seconds = TOO_MANY_FAILURES_RETRY_SECONDS
      const headers = [['Retry-After', String(seconds)]] as const
      const busy = new ApiError(
        'rate_limited',
        'Too many failed attempts.',
        { retry_after: seconds },
        headers,
      )
      return errorReply(busy, request.id, accept)
    }
    const reply = errorReply(known, request.id, accept)
    if (credential !== undefined) {
      ledger.count(credential, route.name, known.status === 429 ? 'rate_limited' : 'failed')
      const credits = { charged: 0, remaining: remainingOf(credential) }
      reply.headers.push(...meterHeaders(credential, clock.now(), credits))
    }
    return reply
  }

  return { handle, view }
}

/** A view depends on a cookie and is paid for each time: no cache may have it. */
function notKept({ headers, sealedTag: _tag, ...reply }: GateReply): GateReply {
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (name !== 'ETag' && name !== 'Cache-Control') kept.push(name, headers[i + 1] ?? '')
  }
  return { ...reply, headers: [...kept, 'Cache-Control', 'no-store'] }
}

function notRunning(environment: Environment): ApiError {
  return new ApiError(
    'environment_unavailable',
    environment === 'live'
      ? 'The live environment is not running on this service. Use a svc_test_ key, or ask the operator to start it (TAPELINE_LIVE).'
      : 'The test environment is switched off on this service (TAPELINE_TEST).',
    { reason: environment },
  )
}
