/**
 * Candles of a time that was not recorded are built from the venue's trades, or from the midpoints that it still has.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findMarket, readRows } from '../../../test/predictions/compare.ts'
import { type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'

const at = (text: string) => Date.parse(`2026-11-15T${text}Z`)
const START_MS = at('10:03:00')
const MUTE_MS = at('10:04:10')
/** The candle that lies entirely in the silence. */
const CANDLE_MS = at('10:05:00')
const MUTE_END_MS = at('10:10:40')
const END_MS = at('10:13:30')
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')
const CANDLES = candleFeed('predmkt_a', 'BTC', '5m')

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 10_000, venues: ['polymarket'] },
  async ({ clock, sandbox }) => {
    await clock.runUntil(MUTE_MS)
    const durationMs = MUTE_END_MS - MUTE_MS
    sandbox.faults.set({ kind: 'mute', venue: 'polymarket', symbol: 'BTC', durationMs })
    await clock.runUntil(END_MS)
  },
)

test('trades and candles of the silence are whole', async () => {
  for (const feed of [TRADES, CANDLES, candleFeed('predmkt_a', 'BTC', '1h')]) {
    const { gaps } = await made.recording.store.coverage.read([feed], START_MS + 30_000, MUTE_END_MS + 30_000)
    assert.deepEqual(gaps, [], feed.dataset)
  }
})

test('a leg without trades in the silence has a candle of midpoints, and the candle has them all', async () => {
  const { truth, polymarket } = made.world.sandbox
  const range = { from: CANDLE_MS, to: CANDLE_MS + 1 }
  let compared = 0
  for (const market of truth.markets('polymarket', CANDLE_MS + 300_000, CANDLE_MS + 86_400_000)) {
    if (market.symbol !== 'BTC' || market.startMs > CANDLE_MS) continue
    assert.ok((await findMarket(made.recording.store, market.name)) !== undefined)
    const trades = truth.trades(market.name, CANDLE_MS, CANDLE_MS + 300_000) ?? []
    for (const token of market.tokens ?? []) {
      const [candle] = await readRows<CandleRow>(made.recording.store, CANDLES, [token], range)
      assert.ok(candle !== undefined, `${market.name} ${token}`)
      if (trades.some(({ instrument }) => instrument === token)) {
        assert.ok((candle.volume ?? 0) > 0)
        continue
      }
      const query = `token_id=${token}&start=${CANDLE_MS / 1_000}&end=${CANDLE_MS / 1_000 + 300}&bucket_seconds=60`
      const answer = await fetch(`${polymarket.dataUrl}/v2/prices-history?${query}`)
      const { data } = (await answer.json()) as { data: { price: number; resolution_seconds: number }[] }
      const prices = data.filter((row) => row.resolution_seconds > 0).map(({ price }) => price)
      assert.equal(prices.length, 5)
      assert.deepEqual(
        [candle.open, candle.high, candle.low, candle.close, candle.volume],
        [prices[0], Math.max(...prices), Math.min(...prices), prices.at(-1), 0],
        market.name,
      )
      compared += 1
    }
  }
  assert.ok(compared >= 1, `${compared} legs without trades`)
})
