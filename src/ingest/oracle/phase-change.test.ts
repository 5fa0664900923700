/**
 * The contract behind a feed is replaced. The new one counts from 1, so no number shows what the old one answered last.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import {
  openOracleRecorder,
  oracleRound as round,
  START_MS,
} from '../../../test/predictions/oracle-recorder.ts'
import { steeredClock } from '../../../test/predictions/paced-clock.ts'
import type { OracleUpdate } from '../../core/oracle-candles.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'

/** All rounds are on the chain; the last two of the old phase are not received. */
const CHAIN = [
  round(6n, 40n, -20, '100'),
  round(6n, 41n, 5, '101'),
  round(6n, 42n, 30, '190'),
  round(6n, 43n, 55, '50'),
  round(7n, 1n, 80, '102'),
  round(7n, 2n, 105, '103'),
]

test('the last rounds of the old phase are requested, and the candle has them', async (t) => {
  const clock = steeredClock(START_MS)
  async function* history({ range }: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    const isInside = ({ updatedMs }: OracleUpdate) =>
      updatedMs >= range.fromMs && updatedMs < Math.min(range.toMs, clock.now() + 1)
    yield { observations: CHAIN.filter(isInside), covered: range, missing: [] }
  }
  const { store, rows, feed, tracker, recorder } = await openOracleRecorder(t, clock, history)
  recorder.begins('oracle_rounds', START_MS)
  await recorder.close(START_MS)
  for (const index of [1, 4, 5]) {
    const next = CHAIN[index]
    assert.ok(next)
    await clock.moveTo(next.receivedMs)
    recorder.observe(next)
  }
  await clock.moveTo(START_MS + 400_000)
  recorder.observedTo('oracle_rounds', START_MS + 395_000)
  recorder.show(clock.now())
  tracker.coverTo(START_MS + 390_000)
  await recorder.close(START_MS + 400_000)
  await rows.flush()
  const candles = await readRows<CandleRow>(store, feed, [''], { from: START_MS, to: START_MS + 300_000 })
  assert.deepEqual(
    candles.map(({ open, high, low, close, closed }) => [open, high, low, close, closed]),
    [[101, 190, 50, 103, true]],
  )
  const { gaps } = await store.coverage.read([feed], START_MS, START_MS + 300_000)
  assert.deepEqual(gaps, [])
})
