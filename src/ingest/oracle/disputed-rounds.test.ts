/** While nodes disagree on a past round, its range is a gap and no candle beyond it is closed. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { storesIn } from '../../../test/fakes/stores.ts'
import { readRows } from '../../../test/predictions/compare.ts'
import { pacedClock } from '../../../test/predictions/paced-clock.ts'
import { HEARTBEAT_MS, startPredictionsWorld } from '../../../test/predictions/recording.ts'
import { openVenue } from '../../app/open-venue.ts'
import { sandboxPredictions } from '../../app/sandbox-venues.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { createLogger } from '../../kit/log.ts'
import type { HistoryPage, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import { backfillOracle } from './backfill-oracle.ts'
import { recordOracle } from './record-oracle.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T10:01:00Z')
const LOST = { fromMs: Date.parse('2026-11-15T09:52:00Z'), toMs: Date.parse('2026-11-15T09:53:00Z') }
const FEED = candleFeed('oracle', 'BTC', '5m')

/** The venue's own pages, without the range that is in dispute at present. */
function doubting(venue: Venue, isDoubted: () => boolean): Venue {
  async function* history(...asked: Parameters<Venue['history']>): AsyncGenerator<HistoryPage> {
    for await (const page of venue.history(...asked)) {
      const { covered } = page
      if (!isDoubted() || covered === null) yield page
      else {
        const isLost = (timeMs: number) => timeMs >= LOST.fromMs && timeMs < LOST.toMs
        const observations = page.observations.filter(({ venueTimeMs }) => !isLost(venueTimeMs))
        yield { ...page, observations, covered: { fromMs: covered.fromMs, toMs: LOST.fromMs } }
        yield { observations: [], covered: { fromMs: LOST.toMs, toMs: covered.toMs }, missing: [] }
      }
    }
  }
  return { ...venue, history }
}

async function setUp(t: TestContext, isDoubted: () => boolean) {
  const { clock, sandbox, close } = await startPredictionsWorld(pacedClock(START_MS, 1_000), {
    slotMs: 60_000,
  })
  t.after(close)
  const setting = sandboxPredictions(sandbox).find(({ name }) => name === 'chainlink')
  assert.ok(setting)
  const store = await storesIn(':memory:', clock).environment('test')
  t.after(() => store.close())
  const parts = {
    venue: doubting(openVenue(setting, clock), isDoubted),
    heartbeatMs: HEARTBEAT_MS,
    store,
    clock,
    random: Math.random,
    log: createLogger({ level: 'silent' }),
    symbols: ['BTC'] as const,
  }
  return {
    ...parts,
    gaps: async (fromMs = START_MS - 10 * MINUTE_MS, toMs = START_MS - MINUTE_MS) =>
      (await store.coverage.read([FEED], fromMs, toMs)).gaps,
  }
}

async function startRecording(t: TestContext, isDoubted: () => boolean) {
  const parts = await setUp(t, isDoubted)
  const { clock } = parts
  const recorder = recordOracle({ ...parts, backMs: 15 * MINUTE_MS })
  const stop = new AbortController()
  const running = recorder.run(stop.signal)
  return {
    ...parts,
    stop: () => {
      stop.abort()
      return clock.during(running)
    },
  }
}

test('only what is covered is observed; once the nodes agree the range is requested again', async (t) => {
  let isDoubted = true
  const { clock, stop, gaps } = await startRecording(t, () => isDoubted)
  await clock.runUntil(START_MS + MINUTE_MS)
  const doubted = await gaps()
  isDoubted = false
  await clock.runUntil(START_MS + 2 * MINUTE_MS)
  const agreed = await gaps()
  await stop()
  assert.deepEqual(
    doubted.map(({ from, to }) => ({ fromMs: from, toMs: to })),
    [LOST],
  )
  assert.deepEqual(agreed, [])
})

test('a dispute that lasts is given up after twenty requests: it is a gap with its reason, and candles go on', async (t) => {
  const { clock, store, stop, gaps } = await startRecording(t, () => true)
  const closedBefore = async () => (await store.series.finality([FEED]))[0]?.before ?? 0
  await clock.runUntil(START_MS + 4 * MINUTE_MS)
  const waiting = await closedBefore()
  // Rounds of the last five minutes may be replaced with their blocks.
  await clock.runUntil(START_MS + 11 * MINUTE_MS)
  const given = await closedBefore()
  const left = await gaps()
  const later = await gaps(START_MS, START_MS + 8 * MINUTE_MS)
  await stop()
  assert.ok(
    waiting <= LOST.fromMs,
    `a candle over the dispute was closed: ${new Date(waiting).toISOString()}`,
  )
  assert.ok(given >= START_MS + 4 * MINUTE_MS, `candles stop at ${new Date(given).toISOString()}`)
  assert.deepEqual(
    left.map(({ from, to, reason }) => [from, to, reason]),
    [[LOST.fromMs, LOST.toMs, 'not_observed']],
  )
  assert.deepEqual(later, [])
})

test('a manual backfill writes no candle over a dispute: that range failed and stays missing, until the nodes agree', async (t) => {
  let isDoubted = true
  const parts = await setUp(t, () => isDoubted)
  const { clock, store, gaps } = parts
  const [fromMs, toMs] = [Date.parse('2026-11-15T09:15:00Z'), Date.parse('2026-11-15T10:00:00Z')]
  const starts = async (interval: '5m' | '15m') =>
    (
      await readRows<CandleRow>(store, candleFeed('oracle', 'BTC', interval), [''], {
        from: Date.parse('2026-11-15T09:30:00Z'),
        to: toMs,
      })
    ).map(({ timestamp }) => timestamp.slice(11, 16))
  const fill = () => clock.during(backfillOracle({ ...parts, fromMs, toMs, onProgress() {} }))
  await clock.runUntil(START_MS + 5 * MINUTE_MS)
  const first = await fill()
  const doubted = { gaps: await gaps(fromMs, toMs), five: await starts('5m'), quarters: await starts('15m') }
  const [finality] = await store.series.finality([FEED])
  isDoubted = false
  const second = await fill()
  assert.deepEqual([first.ranges, first.failed], [1, 1])
  assert.deepEqual(
    doubted.gaps.map(({ from, to }) => [from, to]),
    [[Date.parse('2026-11-15T09:50:00Z'), Date.parse('2026-11-15T09:55:00Z')]],
  )
  assert.deepEqual(doubted.five, ['09:30', '09:35', '09:40', '09:45', '09:55'])
  assert.deepEqual(doubted.quarters, ['09:30'])
  assert.equal(finality?.before, Date.parse('2026-11-15T09:45:00Z'))
  assert.equal(second.failed, 0)
  assert.deepEqual(await gaps(fromMs, toMs), [])
  assert.deepEqual(await starts('15m'), ['09:30', '09:45'])
})
