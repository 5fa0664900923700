import type { MarketType } from '../../core/rows/market.ts'

/** The end of a perpetual, for sorting by end. */
export const NO_END = Number.MAX_SAFE_INTEGER

const MINUTE_MS = 60_000
/** A window that contains an instant ends within its duration; twice the duration leaves room for irregular windows. */
const MAX_WINDOW_MS: Record<MarketType, number> = {
  '5m': 10 * MINUTE_MS,
  '15m': 30 * MINUTE_MS,
  '1h': 120 * MINUTE_MS,
  '4h': 480 * MINUTE_MS,
  '24h': 2880 * MINUTE_MS,
}

/** The latest possible end of a market of this type that contains an instant; '' is a market without a type. */
export function latestEnd(type: MarketType | '', time: number): number {
  return type === '' ? NO_END : time + MAX_WINDOW_MS[type]
}
