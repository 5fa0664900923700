/** Markets that are hardly traded: a candle without a trade is that of its book's midpoints, end to end. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { compareCandles } from '../../../test/predictions/compare-candles.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import {
  FEW_STRIKES,
  type PredictionsRecording,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../../test/predictions/recording.ts'

const START_MS = Date.parse('2026-11-15T10:04:00Z')
const RECEIVED_MS = START_MS + 60_000
const END_MS = START_MS + 7.5 * 60_000

let world: PredictionsWorld<PacedClock>
let recording: PredictionsRecording

before(async () => {
  world = await startPredictionsWorld(pacedClock(START_MS, 1_000), { slotMs: 10_000, ...FEW_STRIKES })
  recording = await startPredictionsRecording(world, { venues: ['polymarket', 'kalshi'], symbols: ['BTC'] })
  await world.clock.runUntil(END_MS)
  await world.clock.during(recording.stop())
})

after(async () => {
  await recording?.close()
  await world?.close()
})

for (const venue of ['polymarket', 'kalshi'] as const)
  test(`${venue}: candles without trades are those of the midpoints, the others those of the trades`, async () => {
    const { truth } = world.sandbox
    const markets = truth
      .markets(venue, RECEIVED_MS, END_MS + 26 * 3_600_000)
      .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs < END_MS)
    const wrong: string[] = []
    let [traded, quoted] = [0, 0]
    // There are many contracts, and a look at every book takes long.
    for (const market of markets.filter((_, index) => venue === 'polymarket' || index % 2 === 0)) {
      const about = { interval: '5m', fromMs: RECEIVED_MS, toMs: END_MS, withMids: true } as const
      const found = await compareCandles(recording.store, truth, market, about)
      wrong.push(...found.wrong)
      traded += found.traded
      quoted += found.quoted
    }
    assert.deepEqual(wrong.slice(0, 10), [])
    assert.ok(traded > 0 && quoted > 1, `${traded} candles of trades, ${quoted} of midpoints`)
  })
