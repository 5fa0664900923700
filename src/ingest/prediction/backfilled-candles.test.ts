/** Bars of a time that nobody listened to: made of the venue's prints, or of the midpoints that it has kept. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { findMarket, readRows } from '../../../test/predictions/compare.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import {
  type PredictionsRecording,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../../test/predictions/recording.ts'
import type { CandleRow } from '../../core/rows/candle.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'

const at = (text: string) => Date.parse(`2026-11-15T${text}Z`)
const START_MS = at('10:03:00')
const MUTE_MS = at('10:04:10')
/** The bar that lies in the silence as a whole. */
const BAR_MS = at('10:05:00')
const MUTE_END_MS = at('10:10:40')
const END_MS = at('10:13:30')
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')
const BARS = candleFeed('predmkt_a', 'BTC', '5m')

let world: PredictionsWorld<PacedClock>
let recording: PredictionsRecording

before(async () => {
  world = await startPredictionsWorld(pacedClock(START_MS, 500), { slotMs: 10_000 })
  const { clock, sandbox } = world
  recording = await startPredictionsRecording(world, { venues: ['polymarket'], symbols: ['BTC'] })
  await clock.runUntil(MUTE_MS)
  const durationMs = MUTE_END_MS - MUTE_MS
  sandbox.faults.set({ kind: 'mute', venue: 'polymarket', symbol: 'BTC', durationMs })
  await clock.runUntil(END_MS)
  await clock.during(recording.stop())
})

after(async () => {
  await recording?.close()
  await world?.close()
})

test('prints and bars of the silence are whole', async () => {
  for (const feed of [TRADES, BARS, candleFeed('predmkt_a', 'BTC', '1h')]) {
    const { gaps } = await recording.store.coverage.read([feed], START_MS + 30_000, MUTE_END_MS + 30_000)
    assert.deepEqual(gaps, [], feed.dataset)
  }
})

test('a leg without prints in the silence has a bar of midpoints, and the bar has them all', async () => {
  const { truth, polymarket } = world.sandbox
  const range = { from: BAR_MS, to: BAR_MS + 1 }
  let compared = 0
  for (const market of truth.markets('polymarket', BAR_MS + 300_000, BAR_MS + 86_400_000)) {
    if (market.symbol !== 'BTC' || market.startMs > BAR_MS) continue
    assert.ok((await findMarket(recording.store, market.name)) !== undefined)
    const prints = truth.trades(market.name, BAR_MS, BAR_MS + 300_000) ?? []
    for (const token of market.tokens ?? []) {
      const [bar] = await readRows<CandleRow>(recording.store, BARS, [token], range)
      assert.ok(bar !== undefined, `${market.name} ${token}`)
      if (prints.some(({ instrument }) => instrument === token)) {
        assert.ok((bar.volume ?? 0) > 0)
        continue
      }
      const query = `token_id=${token}&start=${BAR_MS / 1_000}&end=${BAR_MS / 1_000 + 300}&bucket_seconds=60`
      const answer = await fetch(`${polymarket.dataUrl}/v2/prices-history?${query}`)
      const { data } = (await answer.json()) as { data: { price: number; resolution_seconds: number }[] }
      const prices = data.filter((row) => row.resolution_seconds > 0).map(({ price }) => price)
      assert.equal(prices.length, 5)
      assert.deepEqual(
        [bar.open, bar.high, bar.low, bar.close, bar.volume],
        [prices[0], Math.max(...prices), Math.min(...prices), prices.at(-1), 0],
        market.name,
      )
      compared += 1
    }
  }
  assert.ok(compared >= 1, `${compared} legs without prints`)
})
