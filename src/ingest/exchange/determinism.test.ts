/** The same feed gives the same rows, in two recorders and in a backfill that requests the past again. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Range, readGaps, readRows } from '../../../test/ingest/compare.ts'
import {
  EXCHANGES,
  type Recording,
  type SandboxVenue,
  startRecording,
  startWorld,
  type World,
} from '../../../test/ingest/recording.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import { type Feed, feedName } from '../../core/feed.ts'
import { CANDLE_INTERVALS, INTERVAL_MS } from '../../core/interval.ts'
import { createLogger } from '../../kit/log.ts'
import { retracted } from '../../store/coverage.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { VENUES } from '../../venues/list.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import { backfillRange } from './backfill-exchange.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-11-10T00:57:40Z')
const PAST_MS = Date.parse('2026-11-09T00:00:00Z')
const HOUR_MS = Date.parse('2026-11-10T01:00:00Z')
const isFilling = ({ supervisor }: Recording) =>
  supervisor.status().some(({ detail }) => detail.backfill?.isFinished !== true)
const VENUE_NAMES: readonly SandboxVenue[] = ['spot', 'futures', 'perp']

let world: World<PacedClock>
let first: Recording
let second: Recording
let range = { fromMs: 0, toMs: 0 }

before(async () => {
  // The run spans a full hour, at which rates are settled.
  world = await startWorld(pacedClock(START_MS, 250))
  const { clock } = world
  first = await startRecording(world, { backfill: true, backfillFromMs: PAST_MS })
  await clock.runUntil(clock.now() + 13_000)
  second = await startRecording(world, { backfill: true, backfillFromMs: PAST_MS + DAY_MS })
  while ([first, second].some(isFilling)) await clock.runUntil(clock.now() + 1_000)
  const fromMs = Math.ceil((clock.now() + 15_000) / MINUTE_MS) * MINUTE_MS
  range = { fromMs, toMs: Math.max(fromMs, HOUR_MS) + 2 * MINUTE_MS }
  await clock.runUntil(range.toMs + 45_000)
  await clock.during(Promise.all([first.stop(), second.stop()]))
})

after(async () => {
  await first.close()
  await second.close()
  await world.close()
})

/** What both recorders have: the day of the start from its beginning, and the seconds and trades that both received. */
const COMMON: readonly { readonly feed: Feed; readonly isDay: boolean }[] = [
  ...(['cexa', 'cexa_futures', 'perpdex'] as const).flatMap((source) =>
    CANDLE_INTERVALS.map((interval) => ({
      feed: candleFeed(source, 'BTC', interval),
      isDay: interval !== '1s',
    })),
  ),
  ...COARSE_INTERVALS.map((interval) => ({ feed: feedOf('flow', 'cexa', 'BTC', interval), isDay: true })),
  { feed: feedOf('trades', 'perpdex', 'BTC'), isDay: false },
]
/** How many rows the simulated venue has for the comparison. */
function countOf({ dataset, source, interval }: Feed, { fromMs, toMs }: Range): number {
  const { truth } = world.sandbox
  const venue = VENUE_NAMES.find((name) => EXCHANGES[name].source === source) ?? 'spot'
  if (dataset === 'trades' || interval === '' || interval === '500ms')
    return truth.trades(venue, 'BTC', fromMs, toMs).length
  const isOver = ({ openMs }: { openMs: number }) => openMs + INTERVAL_MS[interval] <= toMs
  // The spot exchange also publishes seconds without trades.
  return truth
    .klines(venue, 'BTC', interval, fromMs, toMs)
    .filter((candle) => isOver(candle) && (candle.trades > 0 || venue === 'spot')).length
}

test('two recorders store the same trades, closed candles, flow and funding', async (t) => {
  for (const { feed, isDay } of COMMON) {
    const lengthMs = feed.interval === '' || feed.interval === '500ms' ? 1 : INTERVAL_MS[feed.interval]
    const common = isDay ? { fromMs: PAST_MS + DAY_MS, toMs: range.toMs } : range
    const gaps = [
      ...(await readGaps(first.store, feed, common)),
      ...(await readGaps(second.store, feed, common)),
    ]
    assert.deepEqual(gaps, [], feedName(feed))
    // A period that is not over at the end of the range is not closed. Flow rows have no such field, so their end
    // decides.
    const isOver = (timeMs: number) => timeMs + lengthMs <= common.toMs
    const compared = async (recording: Recording) =>
      (await readRows(recording.store, feed, common)).filter((row) => isOver(Date.parse(row.timestamp)))
    const rows = await compared(first)
    assert.deepEqual(await compared(second), rows, feedName(feed))
    if (feed.dataset === 'candles')
      assert.ok(
        rows.every((row) => row.closed === true),
        feedName(feed),
      )
    const real = countOf(feed, common)
    t.diagnostic(`${feedName(feed)}: ${rows.length} of ${real} rows`)
    assert.equal(rows.length, real, feedName(feed))
  }
  const lastDay = { fromMs: PAST_MS, toMs: range.toMs }
  for (const [venue, source] of [
    ['futures', 'cexa_futures'],
    ['perp', 'perpdex'],
  ] as const) {
    const feed = feedOf('funding', source, 'BTC')
    const rows = await readRows(first.store, feed, lastDay)
    assert.deepEqual(await readRows(second.store, feed, lastDay), rows)
    const settled = world.sandbox.truth.funding(venue, 'BTC', lastDay.fromMs, lastDay.toMs)
    assert.deepEqual(
      rows.map((row) => [Date.parse(row.timestamp), row.funding_rate]),
      settled.map(({ dueMs, rate }) => [dueMs, rate]),
    )
  }
})

test('a candle carries the last settled rate and the last observed open interest', async () => {
  for (const source of ['cexa_futures', 'perpdex'] as const) {
    const rates = await readRows(first.store, feedOf('funding', source, 'BTC'), {
      fromMs: 0,
      toMs: range.toMs,
    })
    const candles = await readRows(first.store, candleFeed(source, 'BTC', '1m'), {
      fromMs: START_MS - DAY_MS,
      toMs: range.toMs,
    })
    assert.ok(candles.length > 1_000)
    for (const candle of candles) {
      const closeMs = Date.parse(candle.timestamp) + MINUTE_MS
      const settled = rates.filter((rate) => Date.parse(rate.timestamp) < closeMs).at(-1)
      assert.equal(candle.funding_rate, settled?.funding_rate ?? null, candle.timestamp)
    }
  }
  const interest = await readRows(first.store, feedOf('open_interest', 'cexa_futures', 'BTC', '5m'), {
    fromMs: 0,
    toMs: range.toMs,
  })
  for (const candle of await readRows(first.store, candleFeed('cexa_futures', 'BTC', '5m'), range)) {
    const closeMs = Date.parse(candle.timestamp) + 5 * MINUTE_MS
    if (candle.closed !== true) continue
    const sample = interest.find((row) => Date.parse(row.timestamp) === closeMs)
    assert.equal(candle.open_interest, sample?.open_interest)
  }
})

test('requesting the past again changes no byte, even when all of it is requested', async () => {
  const { store } = first
  const start = await dump(store)
  assert.ok(start.size > 20)
  assert.deepEqual(await fillAgain(store), [0, 0, 0])
  for (const { feed } of await store.series.feeds({})) {
    if (!(feed.dataset === 'flow' && feed.interval === '1m'))
      await store.write({ coverage: [retracted(feed, 0, START_MS)] })
  }
  const ranges = await fillAgain(store)
  assert.ok(
    ranges.every((count) => count > 0),
    ranges.join(),
  )
  const again = await dump(store)
  for (const [name, text] of start) assert.equal(again.get(name), text, name)
  const feeds = (await store.series.feeds({})).map(({ feed }) => feed)
  assert.deepEqual(
    await store.series.revisions({ feeds, range: { from: 0, to: Number.MAX_SAFE_INTEGER }, limit: 5 }),
    [],
  )
})

async function fillAgain(store: EnvironmentStore): Promise<number[]> {
  const counts: number[] = []
  for (const name of VENUE_NAMES) {
    const exchange = EXCHANGES[name]
    const { plan } = VENUES[exchange.name]
    const { clock, sandbox } = world
    const hosts = { rest: sandbox[name].restUrl, stream: sandbox[name].wsUrl }
    const filled = backfillRange({
      plan,
      venue: VENUES[exchange.name].create({ clock, hosts }),
      store,
      symbols: ['BTC'],
      fromMs: PAST_MS,
      toMs: START_MS,
      clock,
      random: Math.random,
      log: createLogger({ level: 'silent' }),
      onProgress: () => {},
    })
    const summary = await clock.during(filled)
    assert.equal(summary.failed, 0)
    counts.push(summary.ranges)
  }
  return counts
}

async function dump(store: EnvironmentStore): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  for (const { feed } of await store.series.feeds({})) {
    const rows = await readRows(store, feed, { fromMs: 0, toMs: START_MS })
    texts.set(feedName(feed), rows.map((row) => JSON.stringify(row)).join('\n'))
  }
  return texts
}
