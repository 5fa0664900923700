/**
 * Markets of the venue's second protocol, whose legs are named by position ids, are recorded like any other; over real
 * sockets.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compareCatalogue,
  compareTrades,
  compareWindow,
  findMarket,
  readRows,
} from '../../../test/predictions/compare.ts'
import { type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { TrueMarket } from '../../../test/sandbox/prediction-truth.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { candleFeed } from '../shared/feeds.ts'

const START_MS = Date.parse('2026-11-15T10:03:30Z')
/** The running window uses the first protocol, windows that begin later the second. */
const V2_MS = Date.parse('2026-11-15T10:05:00Z')
const END_MS = Date.parse('2026-11-15T10:12:30Z')

let market: TrueMarket
let wire: { version?: string; positionIds?: string[]; clobTokenIds?: string } | undefined

const made: RecordedOnce = recordOnce(
  { startMs: START_MS, stepMs: 1_000, slotMs: 2_000, v2FromMs: V2_MS, venues: ['polymarket'] },
  async ({ clock, sandbox }) => {
    await clock.runUntil(END_MS)
    const found = sandbox.truth
      .markets('polymarket', V2_MS, END_MS)
      .find(({ symbol, kind, startMs }) => symbol === 'BTC' && kind === '5m' && startMs === V2_MS)
    assert.ok(found)
    market = found
    const ask = () => fetch(`${sandbox.polymarket.gammaUrl}/markets?slug=${market.name}&closed=true`)
    ;[wire] = (await (await ask().catch(ask)).json()) as (typeof wire)[]
  },
)

test('the venue names its legs by position ids alone, and the market is found by each of them, with its winner', async () => {
  assert.deepEqual([wire?.version, wire?.clobTokenIds], ['v2', undefined])
  assert.deepEqual(wire?.positionIds, market.tokens)
  const row = await findMarket(made.recording.store, market.tokens?.[1] ?? '')
  assert.deepEqual(
    row?.tokens.map(({ token_id }) => token_id),
    market.tokens,
  )
  assert.deepEqual(await compareCatalogue(made.recording.store, market), [])
})

test('its books are those of their instants, its trades those of the venue, and both legs have candles', async () => {
  const { store } = made.recording
  const range = { fromMs: V2_MS, toMs: market.endMs }
  const { wrong, rows } = await compareWindow(store, made.world.sandbox.truth, market, range)
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(rows > 100, `${rows} rows`)
  const window = { from: V2_MS, to: market.endMs }
  assert.deepEqual(await compareTrades(store, made.world.sandbox.truth, market), [])
  const candles = candleFeed('predmkt_a', 'BTC', '5m')
  for (const token of market.tokens ?? []) {
    const found = await readRows<CandleRow>(store, candles, [token], window)
    assert.deepEqual(
      found.map(({ token_id }) => token_id),
      [token],
    )
  }
})
