/** Candle lengths as the venues name them. Weeks start on Monday, months on the first, all in UTC. */
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const FIXED_MS = {
  '1s': SECOND,
  '1m': MINUTE,
  '3m': 3 * MINUTE,
  '5m': 5 * MINUTE,
  '15m': 15 * MINUTE,
  '30m': 30 * MINUTE,
  '1h': HOUR,
  '2h': 2 * HOUR,
  '4h': 4 * HOUR,
  '6h': 6 * HOUR,
  '8h': 8 * HOUR,
  '12h': 12 * HOUR,
  '1d': DAY,
  '3d': 3 * DAY,
  '1w': 7 * DAY,
} as const

export type CandleInterval = keyof typeof FIXED_MS | '1M'

/** The epoch was a Thursday; the first Monday is four days later. */
const WEEK_SHIFT_MS = 4 * DAY

export const CANDLE_INTERVALS = [
  ...(Object.keys(FIXED_MS) as (keyof typeof FIXED_MS)[]),
  '1M',
] as CandleInterval[]

export function parseCandleInterval(text: string): CandleInterval | undefined {
  return CANDLE_INTERVALS.find((interval) => interval === text)
}

/** The start of the candle that holds an instant. */
export function candleOpen(timeMs: number, interval: CandleInterval): number {
  if (interval === '1M') {
    const date = new Date(timeMs)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  }
  const shift = interval === '1w' ? WEEK_SHIFT_MS : 0
  return Math.floor((timeMs - shift) / FIXED_MS[interval]) * FIXED_MS[interval] + shift
}

/** The start of the candle `steps` after (or before) the one that opens at an instant. */
export function candleStep(openMs: number, interval: CandleInterval, steps: number): number {
  if (interval === '1M') {
    const date = new Date(openMs)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + steps, 1)
  }
  return openMs + steps * FIXED_MS[interval]
}

/** The opens of the candles whose close was passed in (from, to]. */
export function candlesClosed(interval: CandleInterval, fromMs: number, toMs: number): number[] {
  const opens: number[] = []
  let at = candleOpen(fromMs, interval)
  for (; candleStep(at, interval, 1) <= toMs; at = candleStep(at, interval, 1)) opens.push(at)
  return opens
}
