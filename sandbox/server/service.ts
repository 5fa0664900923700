/** One REST service of a venue: its handler behind the faults that concern requests. */
import { type AssetSymbol, SYMBOLS } from '../../src/core/symbol.ts'
import type { Fault, FaultSwitches, FaultTarget, FaultVenue } from './faults.ts'
import type { Endpoint, RestRequest } from './transport.ts'
import { unfitValue } from './unfit-value.ts'

export interface RestReply {
  readonly status: number
  /** Text is sent as it is, everything else as JSON. */
  readonly body: unknown
  readonly headers?: Record<string, string>
}

/** What faults leave of an answer that is otherwise right. */
export interface Flaws {
  /** The data is as old as this; times and statuses are not. */
  readonly lagMs: number
  /** For services that page by cursor: half the rows, and the cursor of the last of them. */
  readonly isPartial: boolean
}

export interface RestService {
  readonly venue: FaultVenue
  /** gamma, clob, data, rest: the channel of a fault that concerns this service only. */
  readonly name: string
  readonly provider?: number
  /** The same for requests that can fail apart from the others. */
  nameOf?(request: RestRequest): string | undefined
  handle(request: RestRequest, flaws: Flaws): Promise<RestReply> | RestReply
  /** Whether `handle` itself leaves out rows of a partial answer. */
  readonly cutsPages?: boolean
  /** The symbol that a request is about, for faults of one symbol. */
  symbolOf?(request: RestRequest): AssetSymbol | undefined
  /** The question that is answered instead; undefined where nobody could tell that it was another one. */
  misread?(request: RestRequest, as: Misreading): RestRequest | undefined
  /** What is still answered during maintenance. */
  duringMaintenance?(request: RestRequest): RestReply | undefined
  /** How this venue words a refusal. */
  refuse(status: number, retryAfterS: number): RestReply
}

/** Of another time or with other ids, or of another symbol. */
export type Misreading = { readonly offsetMs: number } | 'other-symbol'

const DEFAULT_LAG_MS = 60_000
const DEFAULT_OFFSET_MS = -3_600_000
const DEFAULT_RETRY_AFTER_S = 5

export const ok = (body: unknown): RestReply => ({ status: 200, body })

/** The `answer` of an endpoint. */
export function answersOf(options: {
  service: RestService
  faults: FaultSwitches
  /** The venue's own clock, which the `Date` header follows. */
  now: () => number
}): Endpoint['answer'] {
  const { service, faults, now } = options
  const { venue, name, provider } = service

  function refusalOf(request: RestRequest, target: FaultTarget): RestReply | undefined {
    if (faults.hit('maintenance', venue, target))
      return service.duringMaintenance?.(request) ?? service.refuse(503, DEFAULT_RETRY_AFTER_S)
    const fault =
      faults.hit('rate-limit', venue, target) ??
      faults.hit('ban', venue, target) ??
      faults.hit('http-error', venue, target)
    if (fault === undefined) return undefined
    const reply = service.refuse(statusOf(fault), fault.retryAfterS ?? DEFAULT_RETRY_AFTER_S)
    if (fault.retryAfterS !== 0) return reply
    const { 'retry-after': _, ...headers } = reply.headers ?? {}
    return { ...reply, headers }
  }

  function flawed(request: RestRequest, target: FaultTarget): [RestRequest, Flaws] {
    const stale = faults.hit('stale', venue, target)
    const lagMs = stale === undefined ? 0 : (stale.delayMs ?? DEFAULT_LAG_MS)
    const isPartial = service.cutsPages === true && faults.hit('partial', venue, target) !== undefined
    return [misread(request, target), { lagMs, isPartial }]
  }

  /** A fault is hit only by a question that can be misread. */
  function misread(request: RestRequest, target: FaultTarget): RestRequest {
    for (const kind of ['other-range', 'other-symbol'] as const) {
      const fault = faults.find(kind, venue, target)
      if (fault === undefined) continue
      const as = kind === 'other-symbol' ? kind : { offsetMs: fault.offsetMs ?? DEFAULT_OFFSET_MS }
      const other = service.misread?.(request, as)
      if (other === undefined) continue
      fault.hits++
      return other
    }
    return request
  }

  /** Hit only by an answer that has rows. */
  function cut(body: unknown, target: FaultTarget): unknown {
    const fault = service.cutsPages === true ? undefined : faults.find('partial', venue, target)
    const half = fault === undefined ? undefined : halfOf(body)
    if (fault === undefined || half === undefined) return body
    fault.hits++
    return half
  }

  /** Hit only by an answer with a price. */
  function spoil(text: string, target: FaultTarget): string {
    const fault = faults.find('unfit-value', venue, target)
    const unfit = fault === undefined ? undefined : unfitValue(text)
    if (fault === undefined || unfit === undefined) return text
    fault.hits++
    return unfit
  }

  return async (request) => {
    const target = {
      channel: 'rest',
      service: service.nameOf?.(request) ?? name,
      symbol: service.symbolOf?.(request),
      ...(provider === undefined ? {} : { provider }),
    }
    if (faults.hit('drop', venue, target)) return 'cut'
    if (faults.hit('hang', venue, target)) return 'hang'
    const reply = refusalOf(request, target) ?? (await service.handle(...flawed(request, target)))
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(cut(reply.body, target))
    const isBroken = faults.hit('malformed', venue, target) !== undefined
    const isText = typeof reply.body === 'string' && !/^[[{]/.test(text)
    return {
      status: reply.status,
      headers: {
        date: new Date(now()).toUTCString(),
        'content-type': isText ? 'text/plain' : 'application/json',
        ...reply.headers,
      },
      body: isBroken ? text.slice(0, Math.ceil(text.length / 2)) : spoil(text, target),
    }
  }
}

/** The lists of rows in the answers of the venues that do not page by cursor. */
const LISTS = ['symbols', 'universe', 'result']

/** undefined for an answer without rows. */
function halfOf(body: unknown): unknown {
  if (Array.isArray(body)) return body.length === 0 ? undefined : firstHalf(body)
  if (typeof body !== 'object' || body === null) return undefined
  const list = Object.entries(body).find(
    ([key, value]) => LISTS.includes(key) && Array.isArray(value) && value.length > 0,
  )
  return list === undefined ? undefined : { ...body, [list[0]]: firstHalf(list[1] as unknown[]) }
}

export const firstHalf = <T>(rows: readonly T[]): T[] => rows.slice(0, Math.floor(rows.length / 2))

/** A request with other values in its query, where it has them. */
export function withQuery(
  request: RestRequest,
  names: readonly string[],
  change: (value: string) => string | undefined,
): RestRequest | undefined {
  const query = new URLSearchParams(request.query)
  let isChanged = false
  for (const name of names)
    for (const [index, value] of query.getAll(name).entries()) {
      const other = change(value)
      if (other === undefined) continue
      if (index === 0) query.delete(name)
      query.append(name, other)
      isChanged = true
    }
  return isChanged ? { ...request, query } : undefined
}

/** The symbol after it. */
export const otherSymbol = (symbol: AssetSymbol): AssetSymbol =>
  SYMBOLS[(SYMBOLS.indexOf(symbol) + 1) % SYMBOLS.length] as AssetSymbol

const statusOf = (fault: Fault): number =>
  fault.kind === 'rate-limit' ? 429 : fault.kind === 'ban' ? 418 : (fault.status ?? 503)
