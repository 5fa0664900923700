/** In markets with few trades, a candle without a trade is built from the midpoints of its book; tested end to end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareCandles } from '../../../test/predictions/compare-candles.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'

const START_MS = Date.parse('2026-11-15T10:04:00Z')
const RECEIVED_MS = START_MS + 60_000
const END_MS = START_MS + 7.5 * 60_000

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 10_000, ...FEW_STRIKES, venues: ['polymarket', 'kalshi'] },
  async ({ clock }) => {
    await clock.runUntil(END_MS)
  },
)

for (const venue of ['polymarket', 'kalshi'] as const)
  test(`${venue}: candles without trades are those of the midpoints, the others those of the trades`, async () => {
    const { truth } = made.world.sandbox
    const markets = truth
      .markets(venue, RECEIVED_MS, END_MS + 26 * 3_600_000)
      .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs < END_MS)
    const wrong: string[] = []
    let [traded, quoted] = [0, 0]
    // There are many contracts, and checking every book takes a long time.
    for (const market of markets.filter((_, index) => venue === 'polymarket' || index % 2 === 0)) {
      const about = { interval: '5m', fromMs: RECEIVED_MS, toMs: END_MS, withMids: true } as const
      const found = await compareCandles(made.recording.store, truth, market, about)
      wrong.push(...found.wrong)
      traded += found.traded
      quoted += found.quoted
    }
    assert.deepEqual(wrong.slice(0, 10), [])
    assert.ok(traded > 0 && quoted > 1, `${traded} candles of trades, ${quoted} of midpoints`)
  })
