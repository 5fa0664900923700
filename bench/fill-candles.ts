import type { CandleInput } from '../src/core/rows/candle.ts'
import { systemClock } from '../src/kit/clock.ts'
import { observed } from '../src/store/coverage.ts'
import { openStores, parseStoreAddress } from '../src/store/open-stores.ts'

const MINUTE_MS = 60_000
export const CANDLES = 30_000

/** The same candle for the same number, each a little different from the one before. */
export function candleAt(index: number, time: number): CandleInput {
  const price = 60_000 + Math.round(Math.sin(index / 50) * 100_000) / 100
  return {
    time,
    open: price,
    high: price + 12.5,
    low: price - 11.75,
    close: price + 1.25,
    volume: (index % 977) + 0.125,
    numTrades: (index % 4_001) + 1,
    closed: true,
  }
}

/** Closed, observed and final one-minute candles that end a day ago. */
export async function fillCandles(folder: string): Promise<number> {
  const store = await openStores(parseStoreAddress(folder), systemClock).environment('test')
  const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1m' } as const
  const endMs = Math.floor(Date.now() / MINUTE_MS - 1_440) * MINUTE_MS
  const startMs = endMs - CANDLES * MINUTE_MS
  const rows = Array.from({ length: CANDLES }, (_, index) => candleAt(index, startMs + index * MINUTE_MS))
  for (let i = 0; i < rows.length; i += 5_000) {
    await store.write({ rows: [{ feed, rows: rows.slice(i, i + 5_000) }] })
  }
  await store.write({ coverage: [observed(feed, startMs, endMs)] })
  await store.write({ finalize: [{ feed: feed, before: endMs }] })
  await store.close()
  return startMs
}
