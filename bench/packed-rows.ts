/** Rows of two feeds of candles, of trades and of order books, as they are recorded. */
import type { Feed } from '../src/core/feed.ts'
import { seeded } from '../src/store/conformance/engine.ts'
import { observed } from '../src/store/coverage.ts'
import type { EnvironmentStore } from '../src/store/environment.ts'
import { candleAt } from './fill-candles.ts'

export const START_MS = Date.UTC(2026, 0, 1)
export const CANDLES: Feed<'candles'> = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' }
export const FUTURES: Feed<'candles'> = { ...CANDLES, source: 'cexa_futures' }
export const TRADES: Feed<'trades'> = { dataset: 'trades', source: 'perpdex', symbol: 'BTC', interval: '' }
export const BOOKS: Feed<'snapshots'> = { ...TRADES, dataset: 'snapshots' }
/** The milliseconds between two rows of a feed. */
export const ROW_MS = { candles: 1_000, trades: 300, snapshots: 500 } as const
const LEVELS = 20
const AT_ONCE = 5_000

export async function fillExchange(store: EnvironmentStore, count: number): Promise<void> {
  const random = seeded(11)
  const sizes = new Map<number, string>()
  /** A quarter of the levels has another size than a moment ago. */
  const level = (price: number): [string, string] => {
    const known = sizes.get(price)
    const size = known === undefined || random.below(4) === 0 ? (random.below(1e6) / 1e5).toFixed(5) : known
    sizes.set(price, size)
    return [price.toFixed(1), size]
  }
  let middle = 60_000
  const book = () => {
    if (random.below(3) === 0) middle += random.below(7) - 3
    const side = (sign: number) => Array.from({ length: LEVELS }, (_, i) => level(middle + sign * (i + 1)))
    return { bids: side(-1), asks: side(1) }
  }
  const range = <T>(from: number, each: (index: number) => T) =>
    Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) => each(from + i))
  for (let from = 0; from < count; from += AT_ONCE) {
    const candles = range(from, (index) => candleAt(index, START_MS + index * ROW_MS.candles))
    const trades = range(from, (index) => ({
      ...{ time: START_MS + index * ROW_MS.trades, seq: index, tradeId: String(1_000_000_000 + index * 7) },
      ...{
        price: (60_000 + Math.sin(index / 50) * 1_000).toFixed(2),
        size: String(((index % 977) + 1) / 64),
      },
      side: index % 3 === 0 ? ('buy' as const) : ('sell' as const),
    }))
    const snapshots = range(from, (index) => ({ time: START_MS + index * ROW_MS.snapshots, book: book() }))
    await store.write({ rows: [{ feed: CANDLES, rows: candles }] })
    await store.write({
      rows: [{ feed: FUTURES, rows: candles.map((row) => ({ ...row, takerBuyRatio: null })) }],
    })
    await store.write({ rows: [{ feed: TRADES, rows: trades }] })
    await store.write({ rows: [{ feed: BOOKS, rows: snapshots }] })
  }
  const feeds = [CANDLES, FUTURES, TRADES, BOOKS]
  const before = START_MS + count * ROW_MS.trades
  await store.write({ coverage: feeds.map((feed) => observed(feed, START_MS, START_MS + count * 1_000)) })
  await store.write({
    finalize: feeds.map((feed) => ({ feed, before: feed === TRADES ? before : START_MS + count * 500 })),
  })
}
