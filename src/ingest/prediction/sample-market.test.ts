/** Samples of a market are on the grid, once a minute if nothing changes, and never of a book in doubt. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { microLevels } from '../../../test/predictions/levels.ts'
import type { BookLostReason } from '../../venues/observation.ts'
import { MarketSampler } from './sample-market.ts'

const TOKEN = 'token'
const about = (timeMs: number) => ({
  source: 'predmkt_a' as const,
  symbol: 'BTC' as const,
  instrument: TOKEN,
  venueTimeMs: timeMs,
  receivedMs: timeMs,
  key: null,
  leg: { marketId: 'm', tokenId: TOKEN, outcome: 'Up' },
})

function setUp(
  isInWindow: (gridMs: number) => boolean = () => true,
  fromMs = 0,
  toMs = Number.POSITIVE_INFINITY,
) {
  const samples: [timeMs: number, bid: number | null][] = []
  let receivedToMs = 0
  const sampler = new MarketSampler({
    instruments: [TOKEN],
    fromMs,
    toMs: () => toMs,
    receivedToMs: () => receivedToMs,
    onSample(gridMs, isCarried) {
      const bid = sampler.book(TOKEN)?.best('bids') ?? null
      if (!isInWindow(gridMs)) return false
      if (!isCarried && samples.at(-1)?.[1] === bid) return false
      samples.push([gridMs, bid])
      return true
    },
  })
  const snapshot = (timeMs: number, price: string, via: 'stream' | 'poll' = 'stream') => {
    const bids = microLevels([[price, '1']])
    sampler.snapshot({
      kind: 'book_snapshot',
      ...about(timeMs),
      via,
      bids,
      asks: [],
    })
    receivedToMs = timeMs
  }
  const change = (timeMs: number, price: string, size: string) => {
    sampler.change({ kind: 'book_delta', ...about(timeMs), bids: microLevels([[price, size]]), asks: [] })
    receivedToMs = timeMs
  }
  const lost = (timeMs: number, sinceMs: number, reason: BookLostReason = 'hash_mismatch') =>
    sampler.lost({ kind: 'book_lost', ...about(timeMs), reason, sinceMs })
  return {
    ...{ sampler, samples, snapshot, change, lost },
    receive: (timeMs: number) => {
      receivedToMs = timeMs
    },
  }
}

test('an unchanged book is written a minute after its last row, to the millisecond, however late that is noticed', () => {
  const { sampler, samples, snapshot, receive } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  receive(75_900)
  sampler.tick(75_900)
  assert.deepEqual(
    samples.map(([timeMs]) => timeMs),
    [10_500, 70_500],
  )
})

test('a change that comes first does not take the place of the minute before it', () => {
  const { sampler, samples, snapshot, change, receive } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  receive(70_400)
  change(70_700, '0.5', '1')
  sampler.tick(72_000)
  assert.deepEqual(samples, [
    [10_500, 400_000],
    [70_500, 400_000],
    [71_000, 500_000],
  ])
})

test('a change that was undone before its point of the grid leaves the minute due', () => {
  const { sampler, samples, snapshot, change } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  change(70_200, '0.5', '1')
  change(70_300, '0.5', '0')
  change(70_700, '0.6', '1')
  sampler.tick(72_000)
  assert.deepEqual(samples, [
    [10_500, 400_000],
    [70_500, 400_000],
    [71_000, 600_000],
  ])
})

test('a pause that is no silence was observed: its minute is written with the change that ends it', () => {
  const { sampler, samples, snapshot, change, receive } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  receive(40_000)
  sampler.tick(85_000)
  change(85_700, '0.5', '1')
  sampler.tick(87_000)
  assert.deepEqual(samples, [
    [10_500, 400_000],
    [70_500, 400_000],
    [86_000, 500_000],
  ])
})

test('after a pause in sampling every minute of it is written', () => {
  const { sampler, samples, snapshot, receive } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  receive(199_000)
  sampler.tick(200_000)
  assert.deepEqual(
    samples.map(([timeMs]) => timeMs),
    [10_500, 70_500, 130_500, 190_500],
  )
})

test('after a pause over the beginning of the window its first sample is that of the beginning', () => {
  const { sampler, samples, snapshot, receive } = setUp((gridMs) => gridMs >= 600_000, 600_000)
  snapshot(10_100, '0.4')
  for (const nowMs of [11_600, 599_000]) {
    receive(nowMs)
    sampler.tick(nowMs)
  }
  receive(681_000)
  sampler.tick(681_000)
  assert.deepEqual(samples, [
    [600_000, 400_000],
    [660_000, 400_000],
  ])
})

test('a crossed book gives no samples, and reports since when', () => {
  const { sampler, samples, snapshot, change, receive } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  const asks = microLevels([['0.3', '1']])
  sampler.change({ kind: 'book_delta', ...about(12_100), bids: [], asks })
  receive(12_100)
  sampler.tick(14_000)
  assert.equal(sampler.crossedSinceMs, 12_500)
  change(20_100, '0.4', '0')
  sampler.tick(22_000)
  assert.equal(sampler.crossedSinceMs, undefined)
  assert.deepEqual(samples, [
    [10_500, 400_000],
    [20_500, null],
  ])
})

test('a book that was first received after the window gives no sample of the time before its last change', () => {
  const { sampler, samples, snapshot, lost } = setUp((gridMs) => gridMs <= 10_000)
  snapshot(9_700, '0.4')
  sampler.tick(12_000)
  lost(20_000, 9_700, 'ended')
  assert.deepEqual(samples, [[10_000, 400_000]])
  const other = setUp((gridMs) => gridMs < 10_000)
  other.snapshot(9_700, '0.4')
  other.sampler.tick(12_000)
  other.lost(20_000, 9_700, 'ended')
  assert.deepEqual(other.samples, [])
})

test('while nothing at all is received, an old book is not called unchanged', () => {
  const { sampler, samples, snapshot } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  sampler.tick(90_000)
  assert.equal(samples.length, 1)
})

test('changes that come late, one by one, are in one sample', () => {
  const { sampler, samples, snapshot } = setUp()
  snapshot(10_100, '0.4')
  sampler.tick(11_600)
  const late = (receivedMs: number, price: string) =>
    sampler.change({
      kind: 'book_delta',
      ...{ ...about(12_100), receivedMs },
      bids: microLevels([[price, '1']]),
      asks: [],
    })
  late(19_893, '0.5')
  sampler.tick(19_895)
  late(19_909, '0.6')
  sampler.tick(20_395)
  assert.deepEqual(samples, [
    [10_500, 400_000],
    [12_500, 600_000],
  ])
})

test('a lost book that turns out to have been wrong before is in doubt since then', () => {
  const { sampler, snapshot, change, lost } = setUp()
  snapshot(10_100, '0.4')
  change(12_200, '0.5', '1')
  sampler.tick(14_000)
  lost(14_100, 14_000, 'damaged')
  lost(14_100, 10_100)
  assert.equal(sampler.lostSinceMs, 10_100)
  snapshot(14_100, '0.6')
  assert.deepEqual(sampler.takeDoubts(), [{ fromMs: 10_100, toMs: 14_500 }])
})

test('a book that was in doubt over a point of the grid is reported, even if it is known again at once', () => {
  const { sampler, snapshot, change, lost } = setUp()
  snapshot(10_100, '0.4')
  change(12_200, '0.5', '1')
  sampler.tick(14_000)
  lost(14_100, 12_200)
  snapshot(14_100, '0.6')
  assert.deepEqual(sampler.takeDoubts(), [{ fromMs: 12_200, toMs: 14_500 }])
  assert.deepEqual(sampler.takeDoubts(), [])
  lost(15_100, 15_050, 'tick_size')
  snapshot(15_200, '0.6')
  assert.deepEqual(sampler.takeDoubts(), [], 'no point of the grid lies between')
})

test('a poll soon after the last row has a row of its own: the next one may come a minute later', () => {
  const { sampler, samples, snapshot, receive } = setUp()
  for (const timeMs of [10_100, 39_700, 84_800]) {
    snapshot(timeMs, '0.4', 'poll')
    receive(timeMs + 2_000)
    sampler.tick(timeMs + 3_000)
  }
  assert.deepEqual(
    samples.map(([timeMs]) => timeMs),
    [10_500, 40_000, 85_000],
  )
})

test('a book that is polled counts for the instants of its polls only', () => {
  const { sampler, samples, snapshot, receive } = setUp()
  snapshot(10_100, '0.4', 'poll')
  receive(70_900)
  sampler.tick(70_900)
  // The book is unchanged, but may have been different in between.
  snapshot(69_800, '0.4', 'poll')
  sampler.tick(71_900)
  snapshot(130_200, '0.5', 'poll')
  receive(132_000)
  sampler.tick(132_000)
  assert.deepEqual(samples, [
    [10_500, 400_000],
    [70_000, 400_000],
    [130_500, 500_000],
  ])
})

test('the last samples of a market that was followed to its end are taken when a later frame proves them', () => {
  const endMs = 70_000
  for (const [reason, expected] of [
    ['ended', [2_000, 62_000]],
    ['disconnected', [2_000]],
  ] as const) {
    const { sampler, samples, snapshot, lost, receive } = setUp(() => true, 0, endMs)
    snapshot(2_000, '0.41')
    sampler.tick(4_000)
    receive(50_000)
    sampler.tick(71_000)
    lost(75_000, 50_000, reason)
    sampler.tick(76_000)
    assert.deepEqual(
      samples.map(([timeMs]) => timeMs),
      [2_000],
      'nothing proves them yet',
    )
    receive(78_000)
    for (const nowMs of [79_000, 200_000]) sampler.tick(nowMs)
    assert.deepEqual(
      samples.map(([timeMs]) => timeMs),
      expected,
    )
    assert.equal(sampler.isLive, false)
  }
})

test('a market that is not followed any more before its end has no later samples', () => {
  const { sampler, samples, snapshot, lost, receive } = setUp(() => true, 0, 500_000)
  snapshot(2_000, '0.41')
  sampler.tick(4_000)
  lost(50_000, 50_000, 'ended')
  receive(78_000)
  sampler.tick(79_000)
  assert.deepEqual(
    samples.map(([timeMs]) => timeMs),
    [2_000],
  )
})
