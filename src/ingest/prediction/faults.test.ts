/** Faults of the simulated prediction markets and the chain: stored rows stay true, and missing data is a gap. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareCatalogue, compareTrades, compareWindow } from '../../../test/predictions/compare.ts'
import { FEW_STRIKES, type RecordedOnce, recordOnce } from '../../../test/predictions/recording.ts'
import type { TrueMarket } from '../../../test/sandbox/prediction-truth.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { candleFeed } from '../shared/feeds.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T09:58:50Z')
const WINDOW_MS = Date.parse('2026-11-15T10:00:00Z')
const WINDOW_END_MS = WINDOW_MS + 5 * MINUTE_MS
const END_MS = WINDOW_END_MS + 3 * MINUTE_MS

let market: TrueMarket

const made: RecordedOnce = recordOnce(
  {
    startMs: START_MS,
    stepMs: 500,
    slotMs: 1_000,
    ...FEW_STRIKES,
    venues: ['polymarket', 'chainlink'],
    oracleBackMs: 10 * MINUTE_MS,
  },
  async ({ clock, sandbox }) => {
    await clock.runUntil(WINDOW_MS + 20_000)
    sandbox.faults.set({ kind: 'lost-resolved', venue: 'polymarket' })
    sandbox.faults.set({ kind: 'lying-provider', venue: 'ethereum', provider: 1, durationMs: MINUTE_MS })
    sandbox.faults.set({ kind: 'frozen-book', venue: 'polymarket', symbol: 'BTC', durationMs: MINUTE_MS })
    await clock.runUntil(WINDOW_MS + 100_000)
    sandbox.faults.set({ kind: 'drop', venue: 'polymarket', durationMs: 15_000 })
    sandbox.faults.set({ kind: 'crossed-book', venue: 'polymarket', symbol: 'BTC' })
    await clock.runUntil(END_MS)
    const [found] = sandbox.truth
      .markets('polymarket', WINDOW_END_MS, WINDOW_END_MS + 1)
      .filter(({ symbol, kind }) => symbol === 'BTC' && kind === '5m')
    assert.ok(found)
    market = found
  },
)

test('a winner that is not announced is requested', async () => {
  assert.deepEqual(await compareCatalogue(made.recording.store, market), [])
})

test('frozen, crossed and cut: each book outside the gaps is the one of its instant', async () => {
  const range = { fromMs: WINDOW_MS, toMs: WINDOW_END_MS }
  const { wrong, rows } = await compareWindow(made.recording.store, made.world.sandbox.truth, market, range)
  assert.deepEqual(wrong.slice(0, 5), [])
  assert.ok(rows > 50, `${rows} rows`)
  const feed = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '5m' } as const
  const { gaps } = await made.recording.store.coverage.read([feed], range.fromMs, range.toMs)
  const frozenMs = WINDOW_MS + 40_000
  assert.ok(
    gaps.some(({ from, to }) => from <= frozenMs && frozenMs < to),
    JSON.stringify(gaps),
  )
})

test('trades that the stream lost are found by the sweep', async () => {
  assert.deepEqual(
    (await compareTrades(made.recording.store, made.world.sandbox.truth, market)).slice(0, 5),
    [],
  )
})

test('a node that lies is not believed', async () => {
  const { text } = await made.recording.store.series.page({
    feeds: [candleFeed('oracle', 'BTC', '5m')],
    range: { from: WINDOW_MS, to: WINDOW_END_MS },
    order: 'asc',
    limit: 10,
    separator: '\n',
  })
  const candle = JSON.parse(text.split('\n')[0] ?? '') as CandleRow
  const prices = made.world.sandbox.truth
    .rounds('BTC', WINDOW_MS, WINDOW_END_MS)
    .map(({ answer }) => Number(answer) / 1e8)
  assert.equal(candle.high, Math.max(...prices))
  assert.equal(candle.low, Math.min(...prices))
})
