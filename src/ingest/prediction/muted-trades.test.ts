/** If a symbol falls silent on a healthy socket, its trades are a gap, which is closed by REST requests. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { TradeRow } from '../../core/rows/schemas.ts'
import type { Gap } from '../../store/coverage.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'

const START_MS = Date.parse('2026-11-15T10:01:00Z')
const MUTE_MS = START_MS + 40_000
const MUTE_END_MS = MUTE_MS + 60_000
const TRADES = feedOf('trades', 'predmkt_a', 'BTC')

let gapsMeanwhile: Gap[] = []
let gapsAfter: Gap[] = []

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 200, slotMs: 1_000, venues: ['polymarket'] },
  async ({ clock, sandbox, recording }) => {
    await clock.runUntil(MUTE_MS)
    sandbox.faults.set({
      kind: 'mute',
      venue: 'polymarket',
      symbol: 'BTC',
      durationMs: MUTE_END_MS - MUTE_MS,
    })
    await clock.runUntil(MUTE_END_MS)
    gapsMeanwhile = (await recording.store.coverage.read([TRADES], START_MS + 20_000, MUTE_END_MS - 5_000))
      .gaps
    await clock.runUntil(MUTE_END_MS + 150_000)
    gapsAfter = (await recording.store.coverage.read([TRADES], START_MS + 20_000, MUTE_END_MS + 60_000)).gaps
  },
)

test('while the symbol is mute, the coverage of its trades has a gap from the first moment on', () => {
  const [first] = gapsMeanwhile
  assert.ok(first !== undefined && first.from <= MUTE_MS + 1_000, JSON.stringify(gapsMeanwhile))
  assert.ok(first.from >= MUTE_MS - 16_000 && gapsMeanwhile.at(-1)?.to === MUTE_END_MS - 5_000)
})

test('when every market that was traded meanwhile has sent its trades, the gap is closed: none is missing', async () => {
  assert.deepEqual(gapsAfter, [])
  const lacking: string[] = []
  let trades = 0
  for (const market of made.world.sandbox.truth.markets('polymarket', MUTE_MS, MUTE_END_MS + 86_400_000)) {
    if (market.symbol !== 'BTC' || market.startMs > MUTE_END_MS) continue
    const range = { from: MUTE_MS - 60_000, to: MUTE_END_MS + 60_000 }
    const rows = await readRows<TradeRow>(made.recording.store, TRADES, market.tokens ?? [], range)
    const stored = new Set(rows.map(({ trade_id: id }) => id.slice(0, id.indexOf('-'))))
    for (const { id } of made.world.sandbox.truth.trades(market.name, MUTE_MS - 5_000, MUTE_END_MS + 5_000) ??
      []) {
      trades += 1
      if (!stored.has(id)) lacking.push(`${market.name} ${id}`)
    }
  }
  assert.ok(trades > 10, `${trades} trades`)
  assert.deepEqual(lacking, [])
})

test('with the midpoints that the venue has kept, the candles of that time are whole too', async () => {
  for (const interval of ['5m', '1h', '1d'] as const) {
    const feed = candleFeed('predmkt_a', 'BTC', interval)
    const { gaps } = await made.recording.store.coverage.read([feed], MUTE_MS - 5_000, MUTE_END_MS + 5_000)
    assert.deepEqual(gaps, [], interval)
  }
})
