import { composeUpDown } from '../../src/core/market-snapshot.ts'
import { OrderBook } from '../../src/core/order-book.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'

const SIDE_LEVELS = 50
const ROWS_AT_ONCE = 100
const GRID_MS = 500

/** Snapshots of one prediction market, half a second apart up to `endMs`, with books of a hundred levels. */
export async function fillDeepBooks(store: EnvironmentStore, count: number, endMs: number): Promise<void> {
  const feed = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' } as const
  const last = Math.floor(endMs / GRID_MS)
  const side = (row: number, from: number, step: number) =>
    Array.from({ length: SIDE_LEVELS }, (_, level): [number, number] => [
      from + level * step,
      123_450_000 + ((row * 37 + level * 101) % 9_973) * 10_000,
    ])
  for (let begin = 0; begin < count; begin += ROWS_AT_ONCE) {
    const rows = Array.from({ length: Math.min(ROWS_AT_ONCE, count - begin) }, (_, index) => {
      const row = begin + index
      const up = new OrderBook()
      const down = new OrderBook()
      up.replace(side(row, 500_000, -7_000), side(row, 507_000, 7_000))
      down.replace(side(row + 1, 493_000, -7_000), side(row + 1, 500_000, 7_000))
      return composeUpDown((last - count + row) * GRID_MS, {
        marketId: 'deep',
        slug: 'deep',
        question: 'How deep?',
        tokenUp: 'up',
        tokenDown: 'down',
        up,
        down,
        lastUp: '0.5',
        lastDown: '0.5',
        referencePrice: '60000',
      })
    })
    await store.write({ rows: [{ feed, rows }] })
  }
}
