/** When the chain replaces its newest blocks, a round comes again under its number, with another time and price. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readRows } from '../../../test/predictions/compare.ts'
import { openOracleRecorder, oracleRound, START_MS } from '../../../test/predictions/oracle-recorder.ts'
import { steeredClock } from '../../../test/predictions/paced-clock.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import type { OracleRoundGoneObservation } from '../../venues/observation.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'

const round = (number: bigint, second: number, price: string) => oracleRound(6n, number, second, price)

test('a round of a block that is replaced changes its candle, though it is closed; it is final when no block can be replaced', async (t) => {
  const clock = steeredClock(START_MS)
  async function* history({ range }: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    // From a block that is replaced before the same round is received.
    yield { observations: [round(1n, 4, '150')], covered: range, missing: [] }
  }
  const { store, rows, feed, tracker, recorder } = await openOracleRecorder(t, clock, history)
  recorder.begins('oracle_rounds', START_MS + 4_000)
  await recorder.close(START_MS)
  const facts = async () => {
    await rows.flush()
    const [row] = await readRows<CandleRow>(store, feed, [''], { from: START_MS, to: START_MS + 300_000 })
    const [finality] = await store.series.finality([feed])
    return [row?.open, row?.high, row?.low, row?.close, row?.closed, finality?.before ?? 0]
  }
  for (const next of [round(1n, 5, '101'), round(2n, 280, '190'), round(3n, 305, '103')]) {
    await clock.moveTo(next.receivedMs)
    recorder.observe(next)
  }
  await clock.moveTo(START_MS + 400_000)
  recorder.observedTo('oracle_rounds', START_MS + 395_000, START_MS + 95_000)
  recorder.show(clock.now())
  tracker.coverTo(START_MS + 390_000)
  await recorder.close(START_MS + 400_000)
  assert.deepEqual(await facts(), [101, 190, 101, 190, true, 0])
  recorder.observe(round(2n, 284, '99'))
  assert.deepEqual(await facts(), [101, 101, 99, 99, true, 0])
  recorder.observedTo('oracle_rounds', START_MS + 695_000, START_MS + 395_000)
  await recorder.close(START_MS + 700_000)
  assert.deepEqual(await facts(), [101, 101, 99, 99, true, START_MS + 300_000])
})

test('a round that only the new blocks have goes into its candle, though that is closed', async (t) => {
  const clock = steeredClock(START_MS)
  async function* history({ range }: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    yield { observations: [], covered: range, missing: [] }
  }
  const { store, rows, feed, recorder } = await openOracleRecorder(t, clock, history)
  recorder.begins('oracle_rounds', START_MS + 4_000)
  await recorder.close(START_MS)
  const prices = async () => {
    await rows.flush()
    const [row] = await readRows<CandleRow>(store, feed, [''], { from: START_MS, to: START_MS + 300_000 })
    return [row?.open, row?.high, row?.low, row?.close, row?.closed]
  }
  recorder.observe(round(1n, 5, '101'))
  recorder.observe(round(2n, 302, '103'))
  await clock.moveTo(START_MS + 320_000)
  await recorder.close(START_MS + 320_000)
  assert.deepEqual(await prices(), [101, 101, 101, 101, true])
  // The blocks that replace the newest ones have an earlier round 2, and round 3 before the end of the candle.
  recorder.observe(round(2n, 290, '103'))
  recorder.observe(round(3n, 296, '99'))
  assert.deepEqual(await prices(), [101, 103, 99, 99, true])
})

test('while the nodes give no answer, closed candles that are not final are a gap; then they are requested again', async (t) => {
  const clock = steeredClock(START_MS)
  async function* history({ range }: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    yield { observations: [], covered: range, missing: [] }
  }
  const { store, rows, feed, tracker, recorder } = await openOracleRecorder(t, clock, history)
  recorder.begins('oracle_rounds', START_MS + 4_000)
  await recorder.close(START_MS)
  const observedTo = async () => {
    await rows.flush()
    const { observed } = await store.coverage.read([feed], START_MS, START_MS + 300_000)
    return observed.at(-1)?.to
  }
  recorder.observe(round(1n, 5, '101'))
  recorder.observe(round(2n, 302, '103'))
  await clock.moveTo(START_MS + 320_000)
  recorder.show(clock.now())
  tracker.coverTo(START_MS + 315_000)
  await recorder.close(START_MS + 320_000)
  recorder.gap('oracle_rounds', START_MS + 316_000, Number.POSITIVE_INFINITY)
  tracker.failed('oracle_rounds:BTC', START_MS + 316_000, 'venue_down')
  await clock.moveTo(START_MS + 370_000)
  recorder.show(clock.now())
  assert.equal(await observedTo(), START_MS + 300_000)
  await clock.moveTo(START_MS + 380_000)
  recorder.show(clock.now())
  assert.equal(await observedTo(), undefined)
  recorder.gap('oracle_rounds', Number.NEGATIVE_INFINITY, START_MS + 400_000)
  await clock.moveTo(START_MS + 400_000)
  await recorder.close(START_MS + 400_000)
  assert.equal(await observedTo(), START_MS + 300_000)
})

const gone = (number: bigint, isDisputed: boolean): OracleRoundGoneObservation => ({
  ...{ kind: 'oracle_round_gone', source: 'oracle', symbol: 'BTC', instrument: '', key: null },
  ...{ venueTimeMs: START_MS, receivedMs: START_MS, roundId: (6n << 64n) | number, isDisputed },
})

async function closeFirst(t: TestContext, history: Venue['history']) {
  const clock = steeredClock(START_MS)
  const opened = await openOracleRecorder(t, clock, history)
  const { store, rows, feed, tracker, recorder } = opened
  recorder.begins('oracle_rounds', START_MS + 4_000)
  await recorder.close(START_MS)
  for (const next of [round(1n, 240, '101'), round(2n, 290, '190'), round(3n, 302, '103')])
    recorder.observe(next)
  await clock.moveTo(START_MS + 320_000)
  recorder.show(clock.now())
  tracker.coverTo(START_MS + 315_000)
  await recorder.close(START_MS + 320_000)
  const facts = async () => {
    await rows.flush()
    const range = { from: START_MS, to: START_MS + 300_000 }
    const [row] = await readRows<CandleRow>(store, feed, [''], range)
    const { observed } = await store.coverage.read([feed], range.from, range.to)
    return [row?.high, row?.close, row?.closed, observed.at(-1)?.to === range.to]
  }
  assert.deepEqual(await facts(), [190, 190, true, true])
  return { clock, recorder, facts }
}

async function* answerAll({ range }: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
  yield { observations: [], covered: range, missing: [] }
}

test('rounds that are gone with their blocks leave their candle; given again, their numbers count again', async (t) => {
  const { recorder, facts } = await closeFirst(t, answerAll)
  recorder.observe(gone(2n, false))
  recorder.observe(gone(3n, false))
  assert.deepEqual(await facts(), [101, 101, true, true])
  recorder.observe(round(2n, 296, '99'))
  assert.deepEqual(await facts(), [101, 99, true, true])
})

test('while the nodes disagree on a round that was received, its time is a gap; then it counts as they have it', async (t) => {
  let isDisputed = true
  async function* history(request: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    if (!isDisputed || request.range.toMs < START_MS + 60_000)
      yield { observations: [round(2n, 291, '150')], covered: request.range, missing: [] }
  }
  const { clock, recorder, facts } = await closeFirst(t, history)
  recorder.observe(gone(2n, true))
  assert.deepEqual((await facts()).at(-1), false)
  await recorder.close(clock.now())
  assert.deepEqual((await facts()).at(-1), false)
  isDisputed = false
  await recorder.close(clock.now() + 30_000)
  assert.deepEqual(await facts(), [150, 150, true, true])
})

test('if the first round of a phase comes in another block, the end of the phase before is requested', async (t) => {
  let asked = 0
  async function* history(request: Parameters<Venue['history']>[0]): AsyncGenerator<HistoryPage> {
    const isAsked = request.range.toMs > START_MS + 300_000
    if (isAsked) asked++
    yield { observations: isAsked ? [round(4n, 303, '77')] : [], covered: request.range, missing: [] }
  }
  const { clock, recorder, facts } = await closeFirst(t, history)
  recorder.observe(oracleRound(7n, 1n, 303, '88'))
  await recorder.close(clock.now())
  assert.equal(asked, 1)
  recorder.observe(oracleRound(7n, 1n, 308, '88'))
  await recorder.close(clock.now())
  assert.equal(asked, 2)
  await facts()
})
