/** Candle lengths and sampling steps, finest first. `24h` is another spelling of `1d` for candles. */
export const INTERVAL_MS = {
  '500ms': 500,
  '1s': 1_000,
  '1m': 60_000,
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
  '24h': 86_400_000,
} as const

export type Interval = keyof typeof INTERVAL_MS

/** The candle lengths that are stored. */
export const CANDLE_INTERVALS = ['1s', '1m', '5m', '15m', '1h', '4h', '1d'] as const satisfies Interval[]
export type CandleInterval = (typeof CANDLE_INTERVALS)[number]

/** `24h` and `1d` are the same candles and are stored under one name. */
export function storedInterval(interval: Interval): Exclude<Interval, '24h'> {
  return interval === '24h' ? '1d' : interval
}

/** The start of the candle that contains an instant. All candles are aligned to the epoch in UTC. */
export function candleStart(timeMs: number, interval: Interval): number {
  const length = INTERVAL_MS[interval]
  return Math.floor(timeMs / length) * length
}
