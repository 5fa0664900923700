import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BestBidAskObservation } from '../../venues/observation.ts'
import { TickerSampler } from './sample-ticker.ts'

const quote = (venueTimeMs: number, receivedMs: number, updateId: number): BestBidAskObservation => ({
  kind: 'best_bid_ask',
  source: 'cexa_futures',
  symbol: 'BTC',
  instrument: 'BTCUSDT',
  key: null,
  venueTimeMs,
  receivedMs,
  updateId,
  bid: [String(updateId), '1'],
  ask: [String(updateId + 1), '1'],
})

const times = (rows: readonly { time: number; bidPrice: unknown }[]) =>
  rows.map(({ time, bidPrice }) => [time, bidPrice])

test('the row of a second is its newest quote by number, and an overtaken one corrects it', () => {
  const sampler = new TickerSampler()
  sampler.received(quote(1_100, 1_150, 1))
  sampler.received(quote(1_900, 1_950, 3))
  sampler.received(quote(1_500, 1_960, 2))
  sampler.received(quote(2_100, 2_150, 5))
  assert.deepEqual(times(sampler.take(3_000)), [[1_000, '3']])
  sampler.received(quote(1_950, 3_100, 4))
  sampler.received(quote(1_600, 3_100, 2))
  assert.deepEqual(times(sampler.take(9_000)), [[1_000, '4']])
})

test('a second is not over before a quote of a later one, because the connection may have stalled', () => {
  const sampler = new TickerSampler()
  sampler.received(quote(1_100, 1_150, 1))
  assert.deepEqual(times(sampler.take(4_000)), [])
  assert.equal(sampler.waitingMs, 1_000, 'nothing from here on may be claimed')
  // Everything of the stall arrives at once.
  for (const [n, timeMs] of [1_900, 2_500, 3_900, 4_400].entries())
    sampler.received(quote(timeMs, 4_450, n + 2))
  assert.deepEqual(times(sampler.take(5_600)), [
    [1_000, '2'],
    [2_000, '3'],
    [3_000, '4'],
  ])
})

test('a quiet market: the newest second waits for minutes, and has its row with the next quote', () => {
  const sampler = new TickerSampler()
  sampler.received(quote(1_100, 1_150, 1))
  assert.deepEqual(times(sampler.take(300_000)), [])
  assert.equal(sampler.waitingMs, 1_000)
  sampler.received(quote(301_200, 301_250, 2))
  assert.deepEqual(times(sampler.take(303_000)), [[1_000, '1']])
  assert.equal(sampler.waitingMs, 301_000)
})

test('a second whose quotes all come late has its row when they come', () => {
  const sampler = new TickerSampler()
  sampler.received(quote(1_100, 1_150, 1))
  sampler.received(quote(4_100, 4_150, 9))
  assert.deepEqual(times(sampler.take(6_000)), [[1_000, '1']])
  sampler.received(quote(2_500, 14_500, 4))
  assert.deepEqual(times(sampler.take(30_000)), [[2_000, '4']])
})

test('a quote that is older than a silence may last is no row any more', () => {
  const sampler = new TickerSampler()
  sampler.received(quote(70_100, 70_150, 9))
  sampler.received(quote(71_100, 71_150, 10))
  sampler.take(75_000)
  sampler.received(quote(10_500, 75_500, 4))
  assert.deepEqual(times(sampler.take(190_000)), [])
  sampler.received(quote(30_500, 75_500, 4))
  assert.deepEqual(
    times(sampler.take(190_000)),
    [[30_000, '4']],
    'within the minute after which its time is final',
  )
})

test('with a lost connection the seconds before it are over, and the second that it fell into waits', () => {
  const sampler = new TickerSampler()
  assert.equal(sampler.waitingMs, Number.POSITIVE_INFINITY)
  for (const [n, timeMs] of [1_900, 2_900, 3_900, 4_200].entries())
    sampler.received(quote(timeMs, timeMs + 50, n + 1))
  assert.deepEqual(times(sampler.take(3_500)), [[1_000, '1']])
  assert.equal(sampler.waitingMs, 2_000, 'nothing from here on may be claimed')
  assert.deepEqual(times(sampler.cut(4_201)), [
    [2_000, '2'],
    [3_000, '3'],
  ])
  assert.equal(sampler.waitingMs, 4_000)
})
