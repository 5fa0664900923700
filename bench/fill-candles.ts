import type { CandleInput } from '../src/core/rows/candle.ts'
import { systemClock } from '../src/kit/clock.ts'
import { openSqliteEnvironment } from '../src/store/sqlite/environment.ts'

const MINUTE_MS = 60_000
export const CANDLES = 30_000

/** Closed, observed and final one-minute candles that end a day ago. */
export async function fillCandles(file: string): Promise<number> {
  const store = await openSqliteEnvironment({ file, clock: systemClock })
  const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1m' } as const
  const endMs = Math.floor(Date.now() / MINUTE_MS - 1_440) * MINUTE_MS
  const startMs = endMs - CANDLES * MINUTE_MS
  const rows: CandleInput[] = Array.from({ length: CANDLES }, (_, index) => {
    const price = 60_000 + Math.round(Math.sin(index / 50) * 100_000) / 100
    return {
      time: startMs + index * MINUTE_MS,
      open: price,
      high: price + 12.5,
      low: price - 11.75,
      close: price + 1.25,
      volume: (index % 977) + 0.125,
      numTrades: (index % 4_001) + 1,
      closed: true,
    }
  })
  for (let i = 0; i < rows.length; i += 5_000) {
    await store.series.append([{ feed, rows: rows.slice(i, i + 5_000) }])
  }
  await store.coverage.record(feed, startMs, endMs)
  await store.series.finalize(feed, endMs)
  await store.close()
  return startMs
}
