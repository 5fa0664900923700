/** One REST service of a venue: its handler behind the faults that concern requests. */
import { type AssetSymbol, SYMBOLS } from '../../src/core/symbol.ts'
import type { Fault, FaultSwitches, FaultTarget, FaultVenue } from './faults.ts'
import type { Endpoint, RestRequest } from './transport.ts'
import { unfitValue } from './unfit-value.ts'

export interface RestReply {
  readonly status: number
  /** Text is sent unchanged, everything else as JSON. */
  readonly body: unknown
  readonly headers?: Record<string, string>
}

/** What faults do to an otherwise correct answer. */
export interface Flaws {
  /** The data is this old; times and statuses are current. */
  readonly lagMs: number
  /** For services that page by cursor: half the rows, with the cursor of the last of them. */
  readonly isPartial: boolean
}

export interface RestService {
  readonly venue: FaultVenue
  /** gamma, clob, data or rest: the channel of a fault that concerns only this service. */
  readonly name: string
  readonly provider?: number
  /** The same for requests that can fail separately from the others. */
  nameOf?(request: RestRequest): string | undefined
  handle(request: RestRequest, flaws: Flaws): Promise<RestReply> | RestReply
  /** Whether `handle` itself omits rows of a partial answer. */
  readonly cutsPages?: boolean
  /** The symbol that a request concerns, for faults of one symbol. */
  symbolOf?(request: RestRequest): AssetSymbol | undefined
  /** The request that is answered instead; undefined if nobody could tell the two answers apart. */
  misread?(request: RestRequest, as: Misreading): RestRequest | undefined
  /** What is still answered during maintenance. */
  duringMaintenance?(request: RestRequest): RestReply | undefined
  /** A refusal in this venue's wording. */
  refuse(status: number, retryAfterS: number): RestReply
}

/** For another time or other ids, or for another symbol. */
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

  /** Counts as a hit only if the request can be misread. */
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

  /** Counts as a hit only if the answer has rows. */
  function cut(body: unknown, target: FaultTarget): unknown {
    const empty = faults.find('empty', venue, target)
    const partial = service.cutsPages === true ? undefined : faults.find('partial', venue, target)
    const fault = empty ?? partial
    const left = fault === undefined ? undefined : empty === undefined ? halfOf(body) : withoutRows(body)
    if (fault === undefined || left === undefined) return body
    fault.hits++
    return left
  }

  /** Counts as a hit only if the answer has a price. */
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

/** The lists of rows in answers of the venues that do not page by cursor. */
const LISTS = ['symbols', 'universe', 'result']
/** The lists in answers of the other venues, and the members that mark their last page. */
const PAGED_LISTS = ['data', 'markets', 'trades', 'candlesticks']
const LAST_PAGE = { cursor: '', pagination: { has_more: false, next_cursor: null } }

/** Undefined for an answer without rows. */
function halfOf(body: unknown): unknown {
  if (Array.isArray(body)) return body.length === 0 ? undefined : firstHalf(body)
  if (typeof body !== 'object' || body === null) return undefined
  const list = Object.entries(body).find(
    ([key, value]) => LISTS.includes(key) && Array.isArray(value) && value.length > 0,
  )
  return list === undefined ? undefined : { ...body, [list[0]]: firstHalf(list[1] as unknown[]) }
}

/** Undefined for an answer without rows. */
function withoutRows(body: unknown): unknown {
  if (Array.isArray(body)) return body.length === 0 ? undefined : []
  if (typeof body !== 'object' || body === null) return undefined
  const list = Object.entries(body).find(
    ([key, value]) => [...LISTS, ...PAGED_LISTS].includes(key) && Array.isArray(value) && value.length > 0,
  )
  if (list === undefined) return undefined
  const last = Object.entries(LAST_PAGE).filter(([key]) => Object.hasOwn(body, key))
  return { ...body, ...Object.fromEntries(last), [list[0]]: [] }
}

export const firstHalf = <T>(rows: readonly T[]): T[] => rows.slice(0, Math.floor(rows.length / 2))

/** The request with these query values changed; undefined if it has none of them. */
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

/** The next symbol in the list. */
export const otherSymbol = (symbol: AssetSymbol): AssetSymbol =>
  SYMBOLS[(SYMBOLS.indexOf(symbol) + 1) % SYMBOLS.length] as AssetSymbol

const statusOf = (fault: Fault): number =>
  fault.kind === 'rate-limit' ? 429 : fault.kind === 'ban' ? 418 : (fault.status ?? 503)
