/** The exchange's REST: parameters, weights in the headers, refusals and error bodies. */
import { CANDLE_INTERVALS, type CandleInterval } from '../../../src/core/interval.ts'
import { type AssetSymbol, parseSymbol } from '../../../src/core/symbol.ts'
import { createWeightWindow, type Verdict, type WeightWindow } from '../../server/limits.ts'
import { type Flaws, otherSymbol, type RestReply, withQuery } from '../../server/service.ts'
import type { RestRequest } from '../../server/transport.ts'
import type { IsListed, RestHandler } from '../venue-server.ts'
import type { MarketWorld, World } from '../world/world.ts'

/** How many ids too early a misread page of trades begins. */
const MISREAD_IDS = 1_000

export type Product = 'spot' | 'futures'

export class BinanceError extends Error {
  readonly code: number
  readonly status: number
  constructor(code: number, message: string, status = 400) {
    super(message)
    this.code = code
    this.status = status
  }
}

export interface Route {
  readonly weight: (query: URLSearchParams) => number
  /** Budgets that are separate from the request weight per minute. */
  readonly pool?: 'funding' | 'statistics'
  /** Whether the answer is the venue's time, which is never stale. */
  readonly isClock?: boolean
  /** Whether the answer names its symbol. */
  readonly namesSymbol?: boolean
  readonly handle: (query: URLSearchParams, nowMs: number) => unknown
}

export interface RestLimits {
  readonly weightPerMinute: number
  readonly fundingPerFiveMinutes: number
  readonly statisticsPerFiveMinutes: number
  /** Number of refusals within a window that lead to a ban. */
  readonly bansAfter: number
}

/** Paths for which faults can be set separately. */
const SERVICES = [
  { ending: '/openInterestHist', name: 'open-interest' },
  { ending: '/aggTrades', name: 'agg-trades' },
]

export function createRest(options: {
  product: Product
  routes: Record<string, Route>
  limits: RestLimits
  now: () => number
  isListed: IsListed
}): RestHandler {
  const { product, routes, limits, now, isListed } = options
  const window = (limit: number, windowMs: number) =>
    createWeightWindow({ limit, windowMs, now, bansAfter: limits.bansAfter })
  const weight = window(limits.weightPerMinute, 60_000)
  const pools: Record<NonNullable<Route['pool']>, WeightWindow> = {
    funding: window(limits.fundingPerFiveMinutes, 300_000),
    statistics: window(limits.statisticsPerFiveMinutes, 300_000),
  }

  async function handle(request: RestRequest, { lagMs }: Flaws): Promise<RestReply> {
    const route = routes[request.path]
    if (route === undefined) return html(404, '<html><body><h2>404 Not found</h2></body></html>')
    if (request.method !== 'GET')
      return errorReply(new BinanceError(-1000, 'Request method not supported.', 405))
    let verdict = weight.take(route.weight(request.query))
    const used = String(verdict.used)
    const headers = { 'x-mbx-used-weight': used, 'x-mbx-used-weight-1m': used }
    if (verdict.refused === undefined && route.pool !== undefined) verdict = pools[route.pool].take(1)
    if (verdict.refused !== undefined) return refusal(verdict.refused, headers)
    try {
      const symbol = symbolOf(request)
      if (symbol !== undefined && !isListed(symbol)) throw new BinanceError(-1121, 'Invalid symbol.')
      const nowMs = now() - (route.isClock === true ? 0 : lagMs)
      return { status: 200, headers, body: await route.handle(request.query, nowMs) }
    } catch (error) {
      if (error instanceof BinanceError) return errorReply(error, headers)
      throw error
    }
  }

  function refusal(refused: NonNullable<Verdict['refused']>, headers: Record<string, string>): RestReply {
    const msg =
      refused.status === 418
        ? `Way too much request weight used; IP banned until ${refused.untilMs}. Please use WebSocket Streams for live updates to avoid bans.`
        : `Too much request weight used; current limit is ${limits.weightPerMinute} request weight per 1 MINUTE. Please use WebSocket Streams for live updates to avoid polling the API.`
    const error = new BinanceError(-1003, msg, refused.status)
    return errorReply(error, { ...headers, 'retry-after': String(refused.retryAfterS) })
  }

  return {
    handle,
    nameOf: ({ path }) => SERVICES.find(({ ending }) => path.endsWith(ending))?.name,
    symbolOf,
    misread(request, as) {
      if (as === 'other-symbol') {
        const symbol = symbolOf(request)
        if (routes[request.path]?.namesSymbol !== true || symbol === undefined) return undefined
        return withQuery(request, ['symbol'], () => `${otherSymbol(symbol)}USDT`)
      }
      return (
        withQuery(request, ['startTime', 'endTime'], (text) =>
          String(Math.max(0, Number(text) + as.offsetMs)),
        ) ?? withQuery(request, ['fromId'], (text) => String(Math.max(0, Number(text) - MISREAD_IDS)))
      )
    },
    refuse(status, retryAfterS) {
      if (status === 429 || status === 418)
        return refusal({ status, retryAfterS, untilMs: now() + retryAfterS * 1_000 }, {})
      if (status === 403) return html(403, '<html><body>403 Forbidden</body></html>')
      const [code, msg] =
        status === 451
          ? [
              0,
              `Service unavailable from a restricted location according to 'b. Eligibility' in the ${product} terms.`,
            ]
          : [-1001, 'Internal error; unable to process your request. Please try again.']
      return errorReply(new BinanceError(code as number, msg as string, status))
    },
  }
}

function symbolOf({ query }: RestRequest): AssetSymbol | undefined {
  const name = query.get('symbol') ?? ''
  return name.endsWith('USDT') ? parseSymbol(name.slice(0, -'USDT'.length)) : undefined
}

const html = (status: number, body: string): RestReply => ({
  status,
  headers: { 'content-type': 'text/html' },
  body,
})

const errorReply = (error: BinanceError, headers: Record<string, string> = {}): RestReply => ({
  status: error.status,
  headers,
  body: { code: error.code, msg: error.message },
})

// Query parameters, with the exchange's own error texts.

export function marketFrom(world: World, product: Product, query: URLSearchParams): MarketWorld {
  const name = query.get('symbol') ?? ''
  if (name === '') throw missing('symbol')
  if (!/^[A-Z0-9-_.]{1,20}$/.test(name))
    throw new BinanceError(
      -1100,
      "Illegal characters found in parameter 'symbol'; legal range is '^[A-Z0-9-_.]{1,20}$'.",
    )
  const entry = world.named(product, name)
  if (entry === undefined) throw new BinanceError(-1121, 'Invalid symbol.')
  return entry
}

export function integerFrom(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^[0-9]{1,20}$/.test(text))
    throw new BinanceError(
      -1100,
      `Illegal characters found in parameter '${name}'; legal range is '^[0-9]{1,20}$'.`,
    )
  return Number(text)
}

/** Spot caps a limit that is too high; futures refuses it. */
export function limitFrom(product: Product, query: URLSearchParams, normal: number, max: number): number {
  const limit = integerFrom(query, 'limit') ?? normal
  if (limit < 1 || (limit > max && product === 'futures'))
    throw new BinanceError(-1130, "Data sent for parameter 'limit' is not valid.")
  return Math.min(limit, max)
}

export function rangeFrom(query: URLSearchParams): { fromMs: number | undefined; toMs: number | undefined } {
  const fromMs = timeFrom(query, 'startTime')
  const toMs = timeFrom(query, 'endTime')
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw new BinanceError(-1023, 'Start time is greater than end time.')
  return { fromMs, toMs }
}

/** Accepts milliseconds or microseconds. */
function timeFrom(query: URLSearchParams, name: string): number | undefined {
  const value = integerFrom(query, name)
  return value !== undefined && value >= 1e15 ? Math.floor(value / 1_000) : value
}

export function intervalFrom(product: Product, query: URLSearchParams): CandleInterval {
  const text = query.get('interval') ?? ''
  if (text === '') throw missing('interval')
  const interval = CANDLE_INTERVALS.find((known) => known === text)
  if (interval === undefined || (interval === '1s' && product === 'futures'))
    throw new BinanceError(-1120, 'Invalid interval.')
  return interval
}

export function missing(name: string): BinanceError {
  return new BinanceError(-1102, `Mandatory parameter '${name}' was not sent, was empty/null, or malformed.`)
}
