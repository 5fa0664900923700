import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import type { Feed } from '../core/feed.ts'
import { SOURCES } from '../core/source.ts'
import { type Gap, type GapReason, gap as gapChange, observed } from '../store/coverage.ts'
import { createSourceCoverage, datasetsOf, type FeedDay, stripOf } from './source-coverage.ts'

const HALF_HOUR = 1_800_000
const HOUR = 2 * HALF_HOUR
const FROM = Date.UTC(2026, 5, 10)
const NOW = FROM + 24 * HOUR

/** A gap between two half hours of the strip, both counted from its start. */
const gap = (from: number, to: number, reason: GapReason = 'not_observed'): Gap => ({
  from: FROM + from * HALF_HOUR,
  to: FROM + to * HALF_HOUR,
  source: 'cexa',
  reason,
})
/** One feed that was first observed at this half hour of the strip. */
const day = (start: number, ...gaps: Gap[]): FeedDay => ({
  observed: { fromMs: FROM + start * HALF_HOUR, toMs: NOW },
  gaps,
})
const NEVER: FeedDay = { observed: undefined, gaps: [gap(0, 48)] }

test('a day without gaps is 48 half hours that were observed in full', () => {
  assert.deepEqual(stripOf([day(-100)], FROM), new Array(48).fill(1))
})

test('a gap lowers the share of exactly the half hours it lies in', () => {
  const parts = stripOf([day(-1, gap(10.25, 12.5), gap(20, 20.05, 'venue_down'))], FROM)
  const changed = parts.flatMap((share, index) => (share === 1 ? [] : [[index, share]]))
  assert.deepEqual(changed, [
    [10, 0.25],
    [11, 0],
    [12, 0.5],
    [20, 0.95],
  ])
})

test('gaps of several feeds that overlap are counted once', () => {
  const feeds = [day(-1, gap(3.2, 3.5)), day(-1, gap(3, 3.4)), day(-1, gap(3.3, 3.35))]
  assert.equal(stripOf(feeds, FROM)[3], 0.5)
})

test('before the first record nothing is a gap, whatever was noted there', () => {
  const parts = stripOf([day(5.5, gap(0, 2, 'before_start'), gap(2, 5.5, 'venue_down'), gap(6, 6.5))], FROM)
  assert.deepEqual(parts.slice(0, 8), [null, null, null, null, null, 1, 0.5, 1])
})

test('a feed that was never recorded is grey alone and does not colour the others', () => {
  assert.deepEqual(stripOf([NEVER], FROM), new Array(48).fill(null))
  assert.deepEqual(stripOf([], FROM), new Array(48).fill(null))
  assert.deepEqual(stripOf([NEVER, day(-1)], FROM), new Array(48).fill(1))
})

test('what a venue does not provide is grey', () => {
  assert.deepEqual(stripOf([day(-1, gap(7, 8, 'not_provided'))], FROM).slice(6, 9), [1, null, 1])
})

test('every source has its datasets, candles of a second apart from the longer ones', () => {
  const names = (source: (typeof SOURCES)[number]) =>
    datasetsOf(source).map(({ dataset, interval }) => [dataset, interval].filter((part) => part).join(' '))
  assert.deepEqual(names('perpdex').slice(0, 2), ['candles 1s', 'candles 1m'])
  assert.ok(names('perpdex').includes('snapshots'))
  assert.deepEqual(names('oracle'), ['candles 5m'])
  assert.ok(names('predmkt_b').includes('snapshots') && names('predmkt_b').includes('open_interest 5m'))
  for (const source of SOURCES) assert.ok(datasetsOf(source).length > 0, source)
})

test('each dataset has the time since when and until when it was observed; one that never was has none', async () => {
  const clock = manualClock(NOW)
  const store = await storesIn(':memory:', clock).environment('test')
  const feed = (
    dataset: Feed['dataset'],
    interval: Feed['interval'],
    symbol: Feed['symbol'] = 'BTC',
  ): Feed => ({
    dataset,
    interval,
    source: 'perpdex',
    symbol,
  })
  // Candles reach back many days; books were recorded for an hour, those of one symbol for half an hour.
  await store.write({ coverage: [observed(feed('candles', '1m'), NOW - 40 * 24 * HOUR, NOW - 2 * HOUR)] })
  await store.write({ coverage: [observed(feed('snapshots', ''), NOW - HOUR, NOW)] })
  await store.write({ coverage: [observed(feed('snapshots', '', 'ETH'), NOW - HALF_HOUR, NOW - 60_000)] })
  // No trade was ever received, but the venue is known to have been down.
  await store.write({ coverage: [gapChange(feed('trades', ''), NOW - HOUR, NOW, 'venue_down')] })
  const datasets = await createSourceCoverage({ coverage: store.coverage, clock })('perpdex')
  const found = (name: string, interval: string | null = null) =>
    datasets.find((one) => one.dataset === name && (interval === null || one.interval === interval))
  const candles = found('candles', '1m')
  assert.deepEqual([candles?.fromMs, candles?.toMs], [NOW - 40 * 24 * HOUR, NOW - 2 * HOUR])
  assert.deepEqual(candles?.strip.slice(-6), [1, 1, 0.05, 0, 0, 0])
  const books = found('snapshots')
  assert.deepEqual([books?.fromMs, books?.toMs], [NOW - HOUR, NOW])
  assert.deepEqual([...new Set(books?.strip.slice(0, 45))], [null])
  const trades = found('trades')
  assert.deepEqual([trades?.fromMs, trades?.toMs, new Set(trades?.strip)], [null, null, new Set([null])])
  await store.close()
})
