/** When the chain halts, the last answer is carried forward for a short while; then there is a gap, not a flat line. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import {
  HEARTBEAT_MS,
  type PredictionsRecording,
  type PredictionsWorld,
  startPredictionsRecording,
  startPredictionsWorld,
} from '../../../test/predictions/recording.ts'
import { answerText, buildOracleCandles } from '../../core/oracle-candles.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { candleFeed } from '../shared/feeds.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T10:00:10Z')
const HALT_MS = Date.parse('2026-11-15T10:03:30Z')
/** The candle of 10:05 has no answer, and the last answer before it is too old to be carried into it. */
const HALT_END_MS = Date.parse('2026-11-15T10:11:20Z')
const END_MS = Date.parse('2026-11-15T10:17:00Z')
const at = (text: string) => Date.parse(`2026-11-15T${text}:00Z`)

let world: PredictionsWorld<PacedClock>
let recording: PredictionsRecording

before(async () => {
  world = await startPredictionsWorld(pacedClock(START_MS, 1_000), { slotMs: 60_000 })
  const { clock, sandbox } = world
  recording = await startPredictionsRecording(world, {
    venues: ['chainlink'],
    symbols: ['BTC'],
    oracleBackMs: 10 * MINUTE_MS,
  })
  await clock.runUntil(HALT_MS)
  sandbox.faults.set({ kind: 'chain-halt', venue: 'ethereum', durationMs: HALT_END_MS - HALT_MS })
  await clock.runUntil(END_MS)
  await clock.during(recording.stop())
})

after(async () => {
  await recording?.close()
  await world?.close()
})

const candlesOf = (interval: '5m' | '15m') =>
  readRows<CandleRow>(recording.store, candleFeed('oracle', 'BTC', interval), [''], {
    from: at('10:00'),
    to: END_MS,
  })

test('candles are those of the rounds that exist: none of the halt, and none that carries an answer for too long', async () => {
  // The block that carries a round comes a moment after its answer.
  const updates = world.sandbox.truth
    .rounds('BTC', at('09:40'), END_MS)
    .map((round) => ({
      roundId: BigInt(round.id),
      updatedMs: round.updatedAtS * 1_000,
      price: answerText(BigInt(round.answer), 8),
    }))
    .filter(({ updatedMs }) => updatedMs < HALT_MS || updatedMs >= HALT_END_MS)
  for (const interval of ['5m', '15m'] as const) {
    const closed = (await candlesOf(interval)).filter((row) => row.closed)
    const expected = buildOracleCandles({
      interval,
      updates,
      fromMs: at('10:00'),
      toMs: at('10:15'),
      heartbeatMs: HEARTBEAT_MS,
    })
    assert.deepEqual(
      closed.map(({ timestamp, open, high, low, close }) => [timestamp, open, high, low, close]),
      expected.map((candle) => [
        new Date(candle.openTimeMs).toISOString(),
        ...[candle.open, candle.high, candle.low, candle.close].map(Number),
      ]),
    )
  }
  const starts = (await candlesOf('5m')).map((row) => row.timestamp.slice(11, 16))
  assert.ok(!starts.includes('10:05'), starts.join())
  assert.ok(starts.includes('10:00') && starts.includes('10:10'), starts.join())
})

test('the candle without an answer during the halt is a gap with its reason, and no other candle is', async () => {
  const { gaps } = await recording.store.coverage.read(
    [candleFeed('oracle', 'BTC', '5m')],
    at('10:00'),
    at('10:15'),
  )
  const isGap = (fromMs: number) => gaps.some((gap) => gap.from <= fromMs && gap.to >= fromMs + 5 * MINUTE_MS)
  assert.ok(isGap(at('10:05')), JSON.stringify(gaps))
  assert.ok(
    gaps.every((gap) => gap.reason === 'venue_down'),
    JSON.stringify(gaps),
  )
  assert.ok(!isGap(at('10:00')) && !isGap(at('10:10')))
})

test('after the halt the feed is healthy again', () => {
  const [status] = recording.supervisor.status()
  assert.equal(status?.detail.storeFailure, null)
  assert.ok((status?.lastEventMs ?? 0) > HALT_END_MS)
})
