import type { Idempotency, IdempotencyScope } from '../accounts/idempotency.ts'
import type { Credential, KeyRing } from '../accounts/key-ring.ts'
import type { Ledger } from '../accounts/ledger.ts'
import type {
  Answer,
  AnyEndpoint,
  Counters,
  ListAnswer,
  RunContext,
  TimeRange,
} from '../api/contract/endpoint.ts'
import type { Environment } from '../core/environment.ts'
import { ApiError, faultsError } from '../core/errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import { admitEndpoint, admitParams, admitRange } from './admit.ts'
import { AuthenticationError, authenticate, checkCredential, findKeyText } from './authenticate.ts'
import { errorReply, toApiError } from './error-reply.ts'
import { limitRate } from './limit-rate.ts'
import { parseQuery, type Query } from './query.ts'
import { readBody } from './read-body.ts'
import { readInput } from './read-input.ts'
import { chooseFormat, matchesEtag, type Rendered, render } from './render.ts'
import { meterHeaders } from './reply-headers.ts'
import type { GateReply, GateRequest, HeaderList, Route } from './request.ts'
import type { SlowDown } from './slow-down.ts'

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
  readonly slowDown: SlowDown
  readonly clock: Clock
  readonly log: Logger
  /** What endpoints work with, per environment; one that is not running is absent. */
  readonly services: Partial<Record<Environment, Services>>
  /** For endpoints that need no key. */
  readonly openServices: Services
  readonly upgradeUrl: string
}

export interface Gate<Services> {
  handle(request: GateRequest, route: Route<Services>): Promise<GateReply>
}

const JSON_ONLY = ['dry_run']
const LIST_PARAMS = ['dry_run', 'format']
const NO_PARAMS: string[] = []
/** The balance can shrink between reading a page and paying for it; then the page is read again, shorter. */
const MOST_READS = 3

export function createGate<Services>(deps: GateDeps<Services>): Gate<Services> {
  const { clock, keys, ledger, log } = deps

  async function handle(request: GateRequest, route: Route<Services>): Promise<GateReply> {
    let credential: Credential | undefined
    try {
      const query = parseQuery(request.search)
      if (route.endpoint.access.auth === 'none') return await answerOpen(request, route, query)
      credential = await authenticated(request, route.endpoint, query)
      const reply = await answerMetered(request, route, query, credential)
      return reply
    } catch (error) {
      return await failed(error, request, route, credential)
    }
  }

  async function authenticated(
    request: GateRequest,
    endpoint: AnyEndpoint<Services>,
    query: Query,
  ): Promise<Credential> {
    const credential = await authenticate(keys, findKeyText(request.headers, query))
    const nowMs = clock.now()
    checkCredential(credential, { nowMs, address: request.address, scope: endpoint.access.scope })
    return credential
  }

  async function answerMetered(
    request: GateRequest,
    route: Route<Services>,
    query: Query,
    credential: Credential,
  ): Promise<GateReply> {
    const { endpoint } = route
    const nowMs = clock.now()
    limitRate(credential.rate, nowMs, endpoint.rateLimitError)
    const services = deps.services[credential.environment]
    if (services === undefined) throw notRunning(credential.environment)
    const admission = { plan: credential.plan, nowMs, upgradeUrl: deps.upgradeUrl }
    admitEndpoint(endpoint.access, admission)

    const read = readInput(endpoint.params, {
      query,
      path: request.pathParams,
      bound: route.bound,
      gateParams: gateParams(endpoint),
    })
    const dryRun = readDryRun(query, endpoint)
    if (read.faults.length > 0) throw faultsError(read.faults)
    admitParams(endpoint.params, read, endpoint.access, admission)
    const range = endpoint.access.history && admitRange(endpoint.access.history, read.input, admission)
    const format =
      endpoint.returns.kind === 'list'
        ? chooseFormat(query.values.get('format'), request.headers.accept)
        : 'json'
    const body =
      endpoint.body && readBody(endpoint.body.schema, request.headers['content-type'], request.body)

    if (!ledger.isFresh(credential.budgets, nowMs)) await ledger.refresh(credential.budgets, nowMs)
    const task: Task = { request, route, credential, services, nowMs, range, ignored: read.ignored }
    const call = { input: read.input, dryRun, body }
    if (endpoint.method === 'POST') return answerOnce(task, call)
    if (dryRun) return dryRunReply(task, call)
    return paidReply(task, call, (answer) => render(answer, format, endpoint.returns))
  }

  interface Task {
    request: GateRequest
    route: Route<Services>
    credential: Credential
    services: Services
    nowMs: number
    range: TimeRange | undefined
    ignored: string[]
  }
  interface Call {
    input: Record<string, unknown>
    dryRun: boolean
    body: unknown
  }

  function run(task: Task, call: Call, rowLimit: number): Answer | Promise<Answer> {
    const { request, credential, nowMs } = task
    const context: RunContext<never, Services> = {
      input: call.input as never,
      services: task.services,
      caller: {
        accountId: credential.accountId,
        keyId: credential.keyId,
        keyName: credential.key.name,
        environment: credential.environment,
        expiresAtMs: credential.key.expiresAtMs,
        plan: credential.plan,
      },
      counters: () => countersOf(credential, nowMs),
      nowMs,
      range: task.range,
      ignored: task.ignored,
      rowLimit,
      body: call.body,
      dryRun: call.dryRun,
      requestId: request.id,
      path: request.path,
    }
    return task.route.endpoint.run(context)
  }

  /** Reads, then pays for exactly what was read. */
  async function paidReply(
    task: Task,
    call: Call,
    renderAnswer: (answer: Answer) => Rendered,
  ): Promise<GateReply> {
    const { request, route, credential, nowMs } = task
    const { cost } = route.endpoint
    const isHead = request.method === 'HEAD'
    for (let reads = 1; ; reads++) {
      const balance = remainingOf(credential)
      const price = cost.least(call.input)
      if (price > balance && !isHead) throw exhausted(credential, price, balance)
      const rowLimit = rowLimitOf(
        call.input,
        credential,
        isHead ? Infinity : cost.affordableRows(balance, call.input),
      )
      const pending = run(task, call, rowLimit)
      const answer = pending instanceof Promise ? await pending : pending
      const rendered = renderAnswer(answer)
      const unchanged = matchesEtag(request.headers['if-none-match'], rendered.etag)
      const rows = answer.kind === 'list' ? answer.count : (answer.units?.row ?? 0)
      const units = answer.kind === 'list' ? { row: answer.count } : (answer.units ?? {})
      const credits = isHead || unchanged ? 0 : cost.charge(units, call.input)
      if (credits === 0) ledger.count(credential, route.name, 'free')
      else {
        const paid = ledger.charge(credential, { id: request.id, endpoint: route.name, credits, rows })
        if (!(typeof paid === 'boolean' ? paid : await paid)) {
          if (reads < MOST_READS && route.endpoint.method === 'GET') continue
          throw exhausted(credential, credits, remainingOf(credential))
        }
      }
      const headers = meterHeaders(credential, nowMs, {
        charged: credits,
        remaining: remainingOf(credential),
      })
      if (answer.kind === 'list') pushListHeaders(headers, answer, task, call, rowLimit)
      else for (const [name, value] of answer.headers ?? []) headers.push(name, value)
      return finishReply(answer, rendered, headers, unchanged)
    }
  }

  async function dryRunReply(task: Task, call: Call): Promise<GateReply> {
    const { credential, route, nowMs } = task
    const { cost } = route.endpoint
    const balance = remainingOf(credential)
    const affordable = cost.least(call.input) > balance ? Infinity : cost.affordableRows(balance, call.input)
    const answer = await run(task, call, rowLimitOf(call.input, credential, affordable))
    const rows = answer.kind === 'list' ? answer.count : (answer.units?.row ?? 0)
    const units = answer.kind === 'list' ? { row: answer.count } : (answer.units ?? {})
    ledger.count(credential, route.name, 'free')
    const value = {
      dry_run: true,
      rows,
      credits: cost.charge(units, call.input),
      credits_remaining: balance,
      clamped: answer.kind === 'list' && answer.clamped,
    }
    const headers = meterHeaders(credential, nowMs, { charged: 0, remaining: balance })
    headers.push('Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'private, no-cache')
    return { status: 200, headers, body: JSON.stringify(value) }
  }

  /** A POST with an idempotency key runs once; its answer is given again, for nothing. */
  async function answerOnce(task: Task, call: Call): Promise<GateReply> {
    const { request, route, credential, nowMs } = task
    const key = request.headers['idempotency-key']
    const go = () => paidReply(task, call, (answer) => render(answer, 'json', route.endpoint.returns))
    if (key === undefined) return go()
    const scope: IdempotencyScope = {
      owner: `${credential.accountId}/${credential.environment}`,
      route: route.name,
      key: String(key),
      body: request.body ?? Buffer.alloc(0),
    }
    const stored = await deps.idempotency.begin(scope)
    if (stored !== undefined) {
      ledger.count(credential, route.name, 'free')
      const headers = meterHeaders(credential, nowMs, { charged: 0, remaining: remainingOf(credential) })
      for (const [name, value] of stored.headers) headers.push(name, value)
      headers.push('Idempotent-Replayed', 'true')
      return { status: stored.status, headers, body: stored.body }
    }
    try {
      const reply = await go()
      const kept = pairs(reply.headers).filter(([name]) => name === 'Content-Type' || name === 'Location')
      await deps.idempotency.finish(scope, {
        status: reply.status,
        headers: kept,
        body: reply.body.toString(),
      })
      return reply
    } catch (error) {
      await deps.idempotency.release(scope)
      throw error
    }
  }

  async function answerOpen(request: GateRequest, route: Route<Services>, query: Query): Promise<GateReply> {
    const { endpoint } = route
    const read = readInput(endpoint.params, {
      query,
      path: request.pathParams,
      bound: route.bound,
      gateParams: NO_PARAMS,
    })
    if (read.faults.length > 0) throw faultsError(read.faults)
    const answer = await endpoint.run({
      input: read.input as never,
      services: deps.openServices,
      nowMs: clock.now(),
      requestId: request.id,
      path: request.path,
      ignored: [],
      range: undefined,
      rowLimit: 0,
      body: undefined,
      dryRun: false,
      get caller(): never {
        throw new Error('an open endpoint has no caller')
      },
      counters: () => {
        throw new Error('an open endpoint has no counters')
      },
    })
    const rendered = render(answer, 'json', endpoint.returns)
    const headers: HeaderList = []
    if (answer.kind !== 'list') for (const [name, value] of answer.headers ?? []) headers.push(name, value)
    return finishReply(
      answer,
      rendered,
      headers,
      matchesEtag(request.headers['if-none-match'], rendered.etag),
    )
  }

  async function failed(
    error: unknown,
    request: GateRequest,
    route: Route<Services>,
    credential: Credential | undefined,
  ): Promise<GateReply> {
    const known = toApiError(error)
    if (known.kind === 'internal_error') {
      log.error({ err: error, request: request.id, route: route.name }, 'a request failed')
    }
    const accept = request.headers.accept
    if (error instanceof AuthenticationError && !(await deps.slowDown.afterFailure(request.address))) {
      const seconds = 5
      const busy = new ApiError('rate_limited', 'Too many failed attempts.', { retry_after: seconds }, [
        ['Retry-After', String(seconds)],
      ])
      return errorReply(busy, request.id, accept)
    }
    const reply = errorReply(known, request.id, accept)
    if (credential !== undefined) {
      const nowMs = clock.now()
      ledger.count(credential, route.name, known.status === 429 ? 'rate_limited' : 'failed')
      reply.headers.push(
        ...meterHeaders(credential, nowMs, { charged: 0, remaining: remainingOf(credential) }),
      )
    }
    return reply
  }

  function exhausted(credential: Credential, price: number, balance: number): ApiError {
    const [account, key] = credential.budgets
    const capped = key !== undefined && account !== undefined && key.remaining < account.remaining
    return new ApiError(
      'credits_exhausted',
      `This answer costs at least ${price} credits; ${balance} are left ${capped ? "of the key's cap" : 'in this period'}.`,
      {
        reason: capped ? 'key_cap' : 'balance',
        resets_at: new Date(account?.period.endMs ?? 0).toISOString(),
        upgrade_url: deps.upgradeUrl,
      },
    )
  }

  return { handle }
}

function gateParams<Services>(endpoint: AnyEndpoint<Services>): readonly string[] {
  if (endpoint.method !== 'GET') return NO_PARAMS
  return endpoint.returns.kind === 'list' ? LIST_PARAMS : JSON_ONLY
}

function readDryRun<Services>(query: Query, endpoint: AnyEndpoint<Services>): boolean {
  const text = query.values.get('dry_run')
  if (text === undefined || endpoint.method !== 'GET') return false
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw new ApiError('invalid_param', 'dry_run must be true or false.', {
    param: 'dry_run',
    allowed: ['true', 'false'],
  })
}

function remainingOf(credential: Credential): number {
  let least = Number.POSITIVE_INFINITY
  for (const budget of credential.budgets) least = Math.min(least, budget.remaining)
  return least
}

function countersOf(credential: Credential, nowMs: number): Counters {
  const [budget] = credential.budgets
  const { limit = 0, used = 0, remaining = 0 } = budget ?? {}
  return {
    credits: { used, limit, remaining, resetsAtMs: budget?.period.endMs ?? 0 },
    rate: credential.rate.counts(nowMs),
  }
}

function rowLimitOf(input: Record<string, unknown>, credential: Credential, affordable: number): number {
  const asked = typeof input.limit === 'number' ? input.limit : Number.POSITIVE_INFINITY
  return Math.min(asked, credential.plan.maxRowsPerRequest, affordable)
}

function pushListHeaders(
  headers: HeaderList,
  answer: ListAnswer,
  task: { request: GateRequest },
  call: { input: Record<string, unknown> },
  rowLimit: number,
): void {
  const asked = typeof call.input.limit === 'number' ? call.input.limit : rowLimit
  headers.push(
    'X-Rows-Returned',
    String(answer.count),
    'X-Rows-Capped',
    String(rowLimit < asked && answer.hasMore),
    'X-Coverage-Complete',
    String(answer.coverageComplete),
    'X-Clamped',
    String(answer.clamped),
  )
  if (answer.nextCursor === null) return
  headers.push('X-Next-Cursor', answer.nextCursor, 'Link', nextLink(task.request, answer.nextCursor))
}

/** The same request with the new cursor; the key does not belong into a link. */
function nextLink(request: GateRequest, cursor: string): string {
  const query = new URLSearchParams(request.search)
  for (const name of ['api-key', 'api_key']) query.delete(name)
  query.set('after', cursor)
  return `<${request.path}?${query}>; rel="next"`
}

function finishReply(answer: Answer, rendered: Rendered, headers: HeaderList, unchanged: boolean): GateReply {
  headers.push('Content-Type', rendered.contentType)
  if (rendered.etag !== undefined) headers.push('ETag', rendered.etag)
  headers.push(
    'Cache-Control',
    rendered.sealed ? 'private, max-age=31536000, immutable' : 'private, no-cache',
  )
  if (unchanged) return { status: 304, headers, body: '' }
  const status = answer.kind === 'list' ? 200 : (answer.status ?? 200)
  return { status, headers, body: rendered.body, sealed: rendered.sealed }
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

function pairs(list: HeaderList): [string, string][] {
  const out: [string, string][] = []
  for (let i = 0; i + 1 < list.length; i += 2) out.push([list[i] ?? '', list[i + 1] ?? ''])
  return out
}
