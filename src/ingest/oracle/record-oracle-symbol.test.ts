/** What counts as observed before the past is known, where a run resumes, and when a dispute is given up. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/predictions/compare.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import { chainlinkDescription } from '../../venues/chainlink/describe.ts'
import type { OracleRoundObservation } from '../../venues/observation.ts'
import type { HistoryPage, HistoryRange, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import { OracleSymbolRecorder } from './record-oracle-symbol.ts'

const START_MS = Date.parse('2026-11-15T10:00:00Z')
const CHANNEL = 'oracle_rounds:BTC'
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const INTERVALS = ['5m', '15m'] as const

function roundAt(updatedMs: number): OracleRoundObservation {
  const roundId = BigInt(updatedMs / MINUTE_MS)
  return {
    ...{ kind: 'oracle_round', source: 'oracle', symbol: 'BTC', instrument: '', key: String(roundId) },
    ...{
      venueTimeMs: updatedMs,
      receivedMs: updatedMs,
      updatedMs,
      roundId,
      price: String(1n + (roundId % 997n)),
    },
  }
}

/** One round per minute. */
function roundsOf({ fromMs, toMs }: HistoryRange): OracleRoundObservation[] {
  const rounds: OracleRoundObservation[] = []
  for (let at = Math.ceil(fromMs / MINUTE_MS) * MINUTE_MS; at < toMs; at += MINUTE_MS)
    rounds.push(roundAt(at))
  return rounds
}

function pagesOf({ fromMs, toMs }: HistoryRange): HistoryPage[] {
  const pages: HistoryPage[] = []
  for (let at = fromMs; at < toMs; at += DAY_MS) {
    const covered = { fromMs: at, toMs: Math.min(at + DAY_MS, toMs) }
    pages.push({ observations: roundsOf(covered), covered, missing: [] })
  }
  return pages
}

async function openRecorder(
  t: TestContext,
  startMs: number,
  history: (range: HistoryRange) => HistoryPage[],
  finalBefore: Partial<Record<(typeof INTERVALS)[number], number>> = {},
) {
  const clock = manualClock(startMs)
  const store = await storesIn(':memory:', clock).environment('test')
  const rows = createRowWriter({ store, random: () => 0.5, clock, log: createLogger({ level: 'silent' }) })
  t.after(async () => {
    await rows.close()
    await store.close()
  })
  for (const interval of INTERVALS)
    rows.final(candleFeed('oracle', 'BTC', interval), finalBefore[interval] ?? 0)
  await rows.flush()
  const feeds = INTERVALS.map((interval) => ({
    feed: candleFeed('oracle', 'BTC', interval),
    channels: [CHANNEL],
  }))
  const tracker = createCoverageTracker({ feeds, coverage: store.coverage, writer: rows })
  const venue: Pick<Venue, 'describe' | 'history'> = {
    describe: chainlinkDescription,
    async *history({ range }) {
      yield* history(range)
    },
  }
  const recorder = new OracleSymbolRecorder({
    ...{ venue, symbol: 'BTC', heartbeatMs: MINUTE_MS, store, rows, tracker, clock },
    signal: new AbortController().signal,
  })
  return { clock, store, rows, recorder }
}

for (const [about, startMs, finalBefore] of [
  ['more than 31 days off', START_MS + 7 * MINUTE_MS + 13_000, START_MS - 40 * DAY_MS],
  ['a run that closed candles off their grid', START_MS + 7 * MINUTE_MS, START_MS - DAY_MS + 6 * MINUTE_MS],
] as const)
  test(`after ${about} candles begin on their grid, and none is closed before its end`, async (t) => {
    const { clock, store, rows, recorder } = await openRecorder(t, startMs, pagesOf, {
      '5m': finalBefore,
      '15m': finalBefore,
    })
    clock.set(startMs + MINUTE_MS)
    recorder.begins('oracle_rounds', startMs)
    recorder.observedTo('oracle_rounds', clock.now(), clock.now())
    for (const round of roundsOf({ fromMs: startMs, toMs: clock.now() })) recorder.observe(round)
    await recorder.close(clock.now())
    await rows.flush()
    const range = { from: START_MS - 60 * MINUTE_MS, to: clock.now() }
    for (const [interval, minutes, closedToMs] of [
      ['5m', 5, START_MS + 5 * MINUTE_MS],
      ['15m', 15, START_MS],
    ] as const) {
      const feed = candleFeed('oracle', 'BTC', interval)
      assert.equal((await store.series.finality([feed]))[0]?.before, closedToMs)
      const { gaps } = await store.coverage.read([feed], range.from, closedToMs)
      assert.deepEqual(gaps, [])
      for (const row of await readRows<CandleRow>(store, feed, [''], range)) {
        const openMs = Date.parse(row.timestamp)
        assert.equal(row.closed, openMs < closedToMs)
        const prices = roundsOf({ fromMs: openMs, toMs: openMs + minutes * MINUTE_MS })
        assert.deepEqual(
          [row.open, row.close],
          [prices[0], prices.at(-1)].map((each) => Number(each?.price)),
        )
      }
    }
  })

test('a gap that only waited for a newer round is not given up with the first dispute in it', async (t) => {
  const disputed = { fromMs: START_MS - 8 * MINUTE_MS, toMs: START_MS - 6 * MINUTE_MS }
  const answers: Record<string, (range: HistoryRange) => HistoryPage[]> = {
    // The nodes have no round after the dispute; the next round will settle what is newer than their newest one.
    waiting: (range) => [
      { observations: [], covered: { fromMs: range.fromMs, toMs: disputed.fromMs }, missing: [] },
    ],
    disputed: (range) => [
      { observations: [], covered: { fromMs: range.fromMs, toMs: disputed.fromMs }, missing: [] },
      { observations: [], covered: { fromMs: disputed.toMs, toMs: range.toMs }, missing: [] },
    ],
    agreed: pagesOf,
  }
  let state = 'waiting'
  const before = { '5m': START_MS - 10 * MINUTE_MS, '15m': START_MS - 15 * MINUTE_MS }
  const { clock, store, rows, recorder } = await openRecorder(
    t,
    START_MS,
    (range) => answers[state]?.(range) ?? [],
    before,
  )
  const request = async (times: number) => {
    for (let i = 0; i < times; i++) {
      clock.set(clock.now() + 16_000)
      await recorder.close(clock.now())
    }
    await rows.flush()
    const { gaps } = await store.coverage.read(
      [candleFeed('oracle', 'BTC', '5m')],
      disputed.fromMs,
      disputed.toMs,
    )
    return gaps.length
  }
  await request(30)
  state = 'disputed'
  assert.equal(await request(1), 1)
  state = 'agreed'
  assert.equal(await request(1), 0)
})

test('a gap that ends where two phases overlap is given up like any dispute, and candles go on', async (t) => {
  const overlapMs = START_MS - 2 * MINUTE_MS
  const before = { '5m': START_MS - 10 * MINUTE_MS, '15m': START_MS - 15 * MINUTE_MS }
  const { clock, store, rows, recorder } = await openRecorder(
    t,
    START_MS,
    // The first round that certainly belongs to the new phase lies after the end of the gap.
    ({ fromMs, toMs }) => [
      ...pagesOf({ fromMs, toMs: Math.min(toMs, overlapMs) }),
      { observations: [], covered: null, missing: [] },
    ],
    before,
  )
  recorder.begins('oracle_rounds', START_MS)
  const feed = candleFeed('oracle', 'BTC', '5m')
  const request = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const fromMs = clock.now()
      clock.set(fromMs + 16_000)
      for (const round of roundsOf({ fromMs, toMs: clock.now() })) recorder.observe(round)
      recorder.observedTo('oracle_rounds', clock.now(), clock.now())
      await recorder.close(clock.now())
    }
    await rows.flush()
    return (await store.series.finality([feed]))[0]?.before
  }
  assert.equal(await request(10), START_MS - 5 * MINUTE_MS)
  assert.equal(await request(20), START_MS + 5 * MINUTE_MS)
  const { gaps } = await store.coverage.read([feed], before['5m'], START_MS)
  assert.deepEqual(
    gaps.map(({ from, to, reason }) => [from, to, reason]),
    [[overlapMs, START_MS, 'not_observed']],
  )
})

test('nothing is claimed while no candle is shown; a connection lost meanwhile is requested from the start on', async (t) => {
  const clock = manualClock(START_MS)
  const store = await storesIn(':memory:', clock).environment('test')
  const { coverage } = store
  const log = createLogger({ level: 'silent' })
  const rows = createRowWriter({ store, random: () => 0.5, clock, log })
  t.after(async () => {
    await rows.close()
    await store.close()
  })
  const feed = candleFeed('oracle', 'BTC', '5m')
  const tracker = createCoverageTracker({ feeds: [{ feed, channels: [CHANNEL] }], coverage, writer: rows })
  const requested: HistoryRange[] = []
  const venue: Pick<Venue, 'describe' | 'history'> = {
    describe: chainlinkDescription,
    async *history({ range }) {
      requested.push({ ...range, fromMs: range.fromMs - START_MS, toMs: range.toMs - START_MS })
      yield { observations: [], covered: range, missing: [] }
    },
  }
  const recorder = new OracleSymbolRecorder({
    ...{ venue, symbol: 'BTC', heartbeatMs: 1_000, store, rows, tracker, clock },
    ...{ signal: new AbortController().signal, backMs: 0 },
  })
  const tick = async (ms: number) => {
    clock.set(START_MS + ms)
    recorder.show(clock.now())
    tracker.coverTo(clock.now())
    await rows.flush()
    const { observed } = await coverage.read([feed], START_MS, clock.now() + 1)
    return observed.map(({ from, to }) => [from - START_MS, to - START_MS])
  }
  tracker.up(CHANNEL, START_MS)
  recorder.begins('oracle_rounds', START_MS)
  assert.deepEqual(await tick(5_000), [])
  recorder.gap('oracle_rounds', START_MS + 6_000, Number.POSITIVE_INFINITY)
  tracker.failed(CHANNEL, START_MS + 6_000, 'venue_down')
  recorder.gap('oracle_rounds', Number.NEGATIVE_INFINITY, START_MS + 9_000)
  tracker.up(CHANNEL, START_MS + 9_000)
  assert.deepEqual(await tick(10_000), [])
  await recorder.close(clock.now())
  assert.equal(requested[0]?.toMs, 9_001)
  assert.deepEqual(await tick(20_000), [[0, 20_000]])
})
