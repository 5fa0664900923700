/** Reads and checks query parameters in the exchange's own words. */
import { type BarInterval, parseBarInterval } from '../world/bar-interval.ts'
import type { MarketWorld, World } from '../world/world.ts'
import type { Product } from './streams.ts'

export class BinanceError extends Error {
  readonly code: number
  readonly status: number
  constructor(code: number, message: string, status = 400) {
    super(message)
    this.code = code
    this.status = status
  }
}

export interface TimeRange {
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
}

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

/** Spot cuts a limit that is too high, futures refuses it. */
export function limitFrom(product: Product, query: URLSearchParams, normal: number, most: number): number {
  const limit = integerFrom(query, 'limit') ?? normal
  if (limit < 1) throw new BinanceError(-1130, "Data sent for parameter 'limit' is not valid.")
  if (limit > most && product === 'futures')
    throw new BinanceError(-1130, "Data sent for parameter 'limit' is not valid.")
  return Math.min(limit, most)
}

export function rangeFrom(query: URLSearchParams): TimeRange {
  const fromMs = timeFrom(query, 'startTime')
  const toMs = timeFrom(query, 'endTime')
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw new BinanceError(-1023, 'Start time is greater than end time.')
  return { fromMs, toMs }
}

/** Milliseconds or microseconds are accepted. */
function timeFrom(query: URLSearchParams, name: string): number | undefined {
  const value = integerFrom(query, name)
  return value !== undefined && value >= 1e15 ? Math.floor(value / 1_000) : value
}

export function intervalFrom(product: Product, query: URLSearchParams): BarInterval {
  const text = query.get('interval') ?? ''
  if (text === '') throw missing('interval')
  const interval = parseBarInterval(text)
  if (interval === undefined || (interval === '1s' && product === 'futures'))
    throw new BinanceError(-1120, 'Invalid interval.')
  return interval
}

export function missing(name: string): BinanceError {
  return new BinanceError(-1102, `Mandatory parameter '${name}' was not sent, was empty/null, or malformed.`)
}
