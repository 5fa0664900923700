/** After a restart, nobody knows whether what earlier runs have stored is still on the chain until the nodes answer. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOracleRecorder, oracleRound, START_MS } from '../../../test/predictions/oracle-recorder.ts'
import { steeredClock } from '../../../test/predictions/paced-clock.ts'
import { observed } from '../../store/coverage.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'

const MINUTE_MS = 60_000

test('without an answer of the nodes for a minute, candles of earlier runs that are not final are a gap', async (t) => {
  const clock = steeredClock(START_MS)
  let answered: 'nothing' | 'a part' | 'all' = 'nothing'
  async function* history({ range }: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    if (answered === 'nothing') throw new Error('no node answers')
    yield {
      observations: [oracleRound(6n, 1n, -900, '101'), oracleRound(6n, 2n, -305, '102')],
      covered: { ...range, toMs: answered === 'a part' ? START_MS - 10 * MINUTE_MS : range.toMs },
      missing: [],
    }
  }
  const { store, rows, feed, recorder } = await openOracleRecorder(t, clock, history)
  const range = { from: START_MS - 20 * MINUTE_MS, to: START_MS - 10_000 }
  await store.write({
    coverage: [observed(feed, range.from, range.to)],
    finalize: [{ feed, before: START_MS - 15 * MINUTE_MS }],
  })
  const observedSpans = async () => {
    await rows.flush()
    const known = await store.coverage.read([feed], range.from, range.to)
    assert.ok(known.gaps.every(({ reason }) => reason === 'not_observed'))
    return known.observed.map(({ from, to }) => [from, to])
  }
  await assert.rejects(recorder.close(START_MS))
  recorder.show(START_MS + 49_000)
  assert.deepEqual(await observedSpans(), [[range.from, range.to]])
  answered = 'a part'
  await recorder.close(START_MS + 49_500)
  recorder.show(START_MS + 50_000)
  assert.deepEqual(await observedSpans(), [[range.from, START_MS - 10 * MINUTE_MS]])
  answered = 'all'
  await recorder.close(START_MS + 80_000)
  assert.deepEqual(await observedSpans(), [[range.from, range.to]])
})
