import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { storesIn } from '../../../test/fakes/stores.ts'
import { createLogger } from '../../kit/log.ts'
import { candleFeed, feedOf } from './feeds.ts'
import { createCoverageTracker } from './track-coverage.ts'
import { createRowWriter } from './write-rows.ts'

const trades = feedOf('trades', 'perpdex', 'BTC')
const candles = candleFeed('perpdex', 'BTC', '1m')
const liquidations = feedOf('liquidations', 'cexa_futures', 'BTC')

async function setUp() {
  const clock = manualClock(0)
  const store = await storesIn(':memory:', clock).environment('test')
  const writer = createRowWriter({
    store,
    random: Math.random,
    clock,
    log: createLogger({ level: 'silent' }),
  })
  const tracker = createCoverageTracker({
    feeds: [
      { feed: trades, channels: ['trades:BTC'] },
      { feed: candles, channels: ['candles:BTC:1m'] },
      { feed: liquidations, channels: ['liquidations:BTC', 'candles:BTC:1m'] },
    ],
    coverage: store.coverage,
    writer,
  })
  const gaps = async (
    feed: typeof trades | typeof candles | typeof liquidations,
    fromMs: number,
    toMs: number,
  ) => {
    await writer.flush()
    const found = await store.coverage.read([feed], fromMs, toMs)
    return found.gaps.map(({ from, to, reason }) => [from, to, reason])
  }
  const close = async () => {
    await writer.close()
    await store.close()
  }
  return { tracker, gaps, close }
}

test('what was recorded after the last data of a channel is retracted and becomes a gap until data arrives again', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 1_000)
  tracker.coverTo(20_000)
  assert.deepEqual(await gaps(trades, 1_000, 20_000), [])
  tracker.failed('trades:BTC', 12_345, 'not_observed')
  tracker.coverTo(25_000)
  assert.deepEqual(await gaps(trades, 1_000, 25_000), [[12_345, 25_000, 'not_observed']])
  tracker.up('trades:BTC', 26_000)
  tracker.coverTo(30_000)
  assert.deepEqual(await gaps(trades, 1_000, 30_000), [[12_345, 26_000, 'not_observed']])
  await close()
})

test('nothing is left unrecorded between the last coverage and a failure that came later', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 1_000)
  tracker.coverTo(10_000)
  tracker.failed('trades:BTC', 10_700, 'venue_down')
  tracker.up('trades:BTC', 11_500)
  tracker.coverTo(12_000)
  assert.deepEqual(await gaps(trades, 1_000, 12_000), [[10_700, 11_500, 'venue_down']])
  await close()
})

test("the venue's own answer closes a gap and is never taken back", async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('candles:BTC:1m', 0)
  tracker.coverTo(100_000)
  tracker.confirm(candles, 0, 60_000)
  tracker.failed('candles:BTC:1m', 30_000, 'not_observed')
  tracker.coverTo(110_000)
  assert.deepEqual(await gaps(candles, 0, 110_000), [[60_000, 110_000, 'not_observed']])
  tracker.confirm(candles, 60_000, 120_000)
  tracker.up('candles:BTC:1m', 125_000)
  tracker.coverTo(130_000)
  assert.deepEqual(await gaps(candles, 0, 130_000), [[120_000, 125_000, 'not_observed']])
  await close()
})

test('a channel that may be silent is up and down with its neighbour', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('liquidations:BTC', 0)
  tracker.coverTo(5_000)
  assert.deepEqual(await gaps(liquidations, 0, 5_000), [[0, 5_000, 'not_observed']])
  tracker.up('candles:BTC:1m', 5_000)
  tracker.coverTo(20_000)
  tracker.failed('candles:BTC:1m', 9_000, 'not_observed')
  tracker.up('candles:BTC:1m', 15_000)
  tracker.coverTo(20_000)
  assert.deepEqual(await gaps(liquidations, 5_000, 20_000), [[9_000, 15_000, 'not_observed']])
  await close()
})

test('a frame that could not be read leaves a gap of its moment where it cannot be requested again', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 0)
  tracker.coverTo(20_000)
  tracker.doubt('trades:BTC', 18_000, 19_001)
  tracker.coverTo(30_000)
  assert.deepEqual(await gaps(trades, 0, 30_000), [[18_000, 19_001, 'not_observed']])
  await close()
})

test('such a moment is no wider where the time before it has not been recorded yet', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 0)
  tracker.coverTo(16_000)
  tracker.doubt('trades:BTC', 18_000, 19_001)
  tracker.coverTo(17_000)
  tracker.doubt('trades:BTC', 18_500, 19_501)
  tracker.coverTo(19_200)
  tracker.coverTo(30_000)
  assert.deepEqual(await gaps(trades, 0, 30_000), [[18_000, 19_501, 'not_observed']])
  tracker.doubt('trades:BTC', 31_000, 32_001)
  tracker.failed('trades:BTC', 33_000, 'venue_down')
  tracker.up('trades:BTC', 34_000)
  tracker.coverTo(40_000)
  assert.deepEqual(await gaps(trades, 20_000, 40_000), [
    [31_000, 32_001, 'not_observed'],
    [33_000, 34_000, 'venue_down'],
  ])
  await close()
})

test('a lost range keeps its reason beside a gap that is open, and the gap goes on behind it', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 0)
  tracker.coverTo(10_000)
  tracker.failed('trades:BTC', 8_000, 'not_observed')
  tracker.coverTo(12_000)
  tracker.lost(trades, 10_000, 15_000, 'venue_down')
  tracker.coverTo(18_000)
  tracker.up('trades:BTC', 20_000)
  tracker.coverTo(30_000)
  assert.deepEqual(await gaps(trades, 0, 30_000), [
    [8_000, 10_000, 'not_observed'],
    [10_000, 15_000, 'venue_down'],
    [15_000, 20_000, 'not_observed'],
  ])
  await close()
})

test('a lost range keeps its reason when a failure is found that began before it', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 0)
  tracker.coverTo(10_000)
  tracker.lost(trades, 4_000, 6_000, 'venue_down')
  tracker.failed('trades:BTC', 3_000, 'not_observed')
  tracker.coverTo(12_000)
  tracker.up('trades:BTC', 14_000)
  tracker.coverTo(20_000)
  assert.deepEqual(await gaps(trades, 0, 20_000), [
    [3_000, 4_000, 'not_observed'],
    [4_000, 6_000, 'venue_down'],
    [6_000, 14_000, 'not_observed'],
  ])
  await close()
})

test('a range that turned out to be missing stays one when its time is recorded', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 0)
  tracker.coverTo(10_000)
  tracker.doubt('trades:BTC', 14_000, 15_000)
  tracker.lost(trades, 9_000, 12_000, 'not_observed')
  tracker.coverTo(11_000)
  tracker.coverTo(20_000)
  assert.deepEqual(await gaps(trades, 0, 20_000), [
    [9_000, 12_000, 'not_observed'],
    [14_000, 15_000, 'not_observed'],
  ])
  tracker.confirm(trades, 0, 20_000)
  assert.deepEqual(await gaps(trades, 0, 20_000), [])
  await close()
})

test('no coverage goes beyond what is proven, and a failure later on does not catch it up', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 1_000)
  tracker.limit(trades, 8_000)
  tracker.coverTo(20_000)
  assert.deepEqual(await gaps(trades, 1_000, 20_000), [[8_000, 20_000, 'not_observed']])
  tracker.limit(trades, 15_000)
  tracker.failed('trades:BTC', 18_000, 'venue_down')
  tracker.up('trades:BTC', 25_000)
  tracker.limit(trades, 40_000)
  tracker.coverTo(30_000)
  assert.deepEqual(await gaps(trades, 1_000, 30_000), [
    [15_000, 18_000, 'not_observed'],
    [18_000, 25_000, 'venue_down'],
  ])
  await close()
})

test('what could not be proven is a gap, and one that is known keeps its reason', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 0)
  tracker.coverTo(10_000)
  tracker.failed('trades:BTC', 8_000, 'venue_down')
  tracker.up('trades:BTC', 9_000)
  tracker.coverTo(12_000)
  tracker.unproven(trades, 7_000, 20_000)
  tracker.coverTo(25_000)
  assert.deepEqual(await gaps(trades, 0, 25_000), [
    [7_000, 8_000, 'not_observed'],
    [8_000, 9_000, 'venue_down'],
    [9_000, 20_000, 'not_observed'],
  ])
  await close()
})

test('a polled channel is observed up to its last answer, and a failure begins there', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('trades:BTC', 1_000)
  tracker.limitChannel('trades:BTC', 5_000)
  tracker.coverTo(60_000)
  assert.deepEqual(await gaps(trades, 1_000, 60_000), [[5_000, 60_000, 'not_observed']])
  tracker.limitChannel('trades:BTC', 60_000)
  tracker.coverTo(100_000)
  assert.deepEqual(await gaps(trades, 1_000, 60_000), [])
  tracker.failed('trades:BTC', 90_000, 'venue_down')
  tracker.coverTo(120_000)
  assert.deepEqual(await gaps(trades, 1_000, 120_000), [[60_000, 120_000, 'venue_down']])
  await close()
})

test('a feed of several channels is observed up to the one that is furthest behind', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.up('liquidations:BTC', 0)
  tracker.up('candles:BTC:1m', 0)
  tracker.limitChannel('liquidations:BTC', 5_000)
  tracker.limitChannel('candles:BTC:1m', 8_000)
  tracker.coverTo(10_000)
  assert.deepEqual(await gaps(liquidations, 0, 10_000), [[5_000, 10_000, 'not_observed']])
  tracker.limitChannel('liquidations:BTC', 9_000)
  tracker.coverTo(10_000)
  assert.deepEqual(await gaps(liquidations, 0, 10_000), [[8_000, 10_000, 'not_observed']])
  await close()
})

test('where the clock of the venue is ahead of ours, a channel that fails soon has observed that much less', async () => {
  const { tracker, gaps, close } = await setUp()
  tracker.coverTo(500, 300)
  tracker.up('trades:BTC', 1_000)
  tracker.failed('trades:BTC', 1_800, 'venue_down')
  tracker.coverTo(2_000, 300)
  assert.deepEqual(await gaps(trades, 1_000, 2_000), [
    [1_000, 1_300, 'before_start'],
    [1_800, 2_000, 'venue_down'],
  ])
  await close()
})
