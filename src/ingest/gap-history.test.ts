import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { DAY_MS } from '../core/time.ts'
import { type Coverage, type CoverageStore, gap, observed } from '../store/coverage.ts'
import { createGapHistory, HISTORY_DAYS } from './gap-history.ts'
import { datasetsOf } from './source-coverage.ts'

const HOUR = 3_600_000
const TODAY = Date.UTC(2026, 5, 10)
const NOW = TODAY + 12 * HOUR
const UNDER_WAY_MS = 90_000
/** The datasets of exchange A's spot market; `FEEDS` lists their feeds in the same order. */
const DATASETS = datasetsOf('cexa')
const FEEDS = DATASETS.flatMap(({ feeds }) => feeds)
const [FIRST, SECOND] = FEEDS

test('gaps of all feeds of a source are joined by day; nothing before the first record is one', async () => {
  assert.ok(FIRST && SECOND)
  const clock = manualClock(NOW)
  const store = await storesIn(':memory:').environment('test')
  const begin = TODAY - 4 * DAY_MS + 6 * HOUR
  const at = (day: number, hour: number) => TODAY - day * DAY_MS + hour * HOUR
  await store.write({
    coverage: [
      ...FEEDS.map((feed) => observed(feed, begin, at(2, 10))),
      gap(FIRST, at(10, 0), begin, 'venue_down'),
      gap(FIRST, at(2, 10), at(2, 12), 'venue_down'),
      gap(SECOND, at(2, 11), at(2, 13), 'not_observed'),
      observed(FIRST, at(2, 12), NOW),
      observed(SECOND, at(2, 13), at(2, 23)),
      observed(SECOND, at(1, 1), NOW),
      ...FEEDS.slice(2).map((feed) => observed(feed, at(2, 10), NOW)),
    ],
  })
  const history = createGapHistory({ coverage: store.coverage, clock })
  const [gaps] = await history(['cexa'])
  assert.ok(gaps)
  assert.equal(gaps.days.length, HISTORY_DAYS)
  assert.deepEqual(gaps.days.slice(-6), [
    null,
    { missedMs: 0, lengthMs: 18 * HOUR },
    { missedMs: 0, lengthMs: DAY_MS },
    { missedMs: 4 * HOUR, lengthMs: DAY_MS },
    { missedMs: HOUR, lengthMs: DAY_MS },
    { missedMs: 0, lengthMs: 12 * HOUR - UNDER_WAY_MS },
  ])
  const missed = gaps.datasets.map(({ missedMs }) => missedMs / HOUR)
  const places = [FIRST, SECOND].map((feed) => DATASETS.findIndex(({ feeds }) => feeds.includes(feed)))
  const expected =
    places[0] === places[1] ? { [places[0] ?? 0]: 5 } : { [places[0] ?? 0]: 2, [places[1] ?? 0]: 4 }
  assert.deepEqual(
    Object.fromEntries(missed.flatMap((hours, i) => (hours > 0 ? [[i, hours]] : []))),
    expected,
  )

  await store.write({ coverage: [observed(SECOND, at(2, 10), at(1, 1))] })
  const closed = async () =>
    (await history(['cexa']))[0]?.days.slice(-3).map((day) => (day?.missedMs ?? 0) / HOUR)
  assert.deepEqual(await closed(), [4, 0, 0], 'a closed day is read again after some hours')
  clock.advance(7 * HOUR)
  await store.write({ coverage: FEEDS.map((feed) => observed(feed, NOW, NOW + 7 * HOUR)) })
  assert.deepEqual(await closed(), [2, 0, 0])
  await store.close()
})

test('a feed that was recorded before the first day and never since is a gap on every day', async () => {
  const clock = manualClock(NOW)
  const store = await storesIn(':memory:').environment('test')
  const from = TODAY - 200 * DAY_MS
  await store.write({ coverage: FEEDS.map((feed) => observed(feed, from, from + HOUR)) })
  const [gaps] = await createGapHistory({ coverage: store.coverage, clock })(['cexa'])
  assert.deepEqual(
    gaps?.days.map((day) => day?.missedMs === day?.lengthMs && (day?.lengthMs ?? 0) > 0),
    new Array(HISTORY_DAYS).fill(true),
  )
  const [never] = await createGapHistory({ coverage: store.coverage, clock })(['perpdex'])
  assert.deepEqual(never?.days, new Array(HISTORY_DAYS).fill(null))
  await store.close()
})

test('only the last two days are read again within some hours, and never two feeds at once', async () => {
  const clock = manualClock(NOW)
  let reads: { from: number; to: number }[] = []
  let running = 0
  const coverage: CoverageStore = {
    async read(feeds, from, to): Promise<Coverage> {
      assert.equal(feeds.length, 1)
      assert.equal(running++, 0)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      reads.push({ from, to })
      return { complete: true, observed: [{ from, to }], gaps: [] }
    },
  }
  const history = createGapHistory({ coverage, clock })
  await history(['cexa'])
  assert.ok(reads.every(({ from, to }) => to - from <= DAY_MS))
  reads = []
  clock.advance(2 * HOUR)
  await history(['cexa'])
  assert.equal(reads.length, 2 * FEEDS.length)
  assert.deepEqual(new Set(reads.map(({ from }) => from)), new Set([TODAY - DAY_MS, TODAY]))
})
