import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOUBTED_FOR_MS } from '../doubted-time.ts'
import type { TradeObservation } from '../observation.ts'
import { areTooFew, countVolumes } from './counted-volume.ts'

const TICKER = 'KXBTC-26FEB1817-T82750'
const NOW_MS = 1_000_000

const trade = (id: string, size: string, venueTimeMs = NOW_MS): TradeObservation => ({
  ...({ kind: 'trade', source: 'predmkt_b', symbol: 'BTC', instrument: TICKER, side: 'buy' } as const),
  ...{ id, key: id, size, price: '0.42', venueTimeMs, receivedMs: venueTimeMs },
})

test('an empty answer does not make up a volume that has grown', () => {
  const counts = countVolumes()
  counts.listed(TICKER, 8_872.45, 0)
  counts.received(TICKER, [], 0)
  assert.equal(counts.isLacking(TICKER, 8_872.45, NOW_MS), false, 'what was traded before the first list')
  assert.equal(counts.isLacking(TICKER, 8_882.63, NOW_MS), true)
  counts.received(TICKER, [trade('a', '10.18')], 0)
  assert.equal(counts.isLacking(TICKER, 8_882.63, NOW_MS), false)
})

test('a trade that a later answer repeats is counted once', () => {
  const counts = countVolumes()
  counts.listed(TICKER, 100, 0)
  counts.received(TICKER, [trade('a', '10.00', 5_000)], 0)
  counts.received(TICKER, [trade('a', '10.00', 5_000)], 4_000)
  assert.equal(counts.isLacking(TICKER, 115, NOW_MS), true)
  counts.received(TICKER, [trade('b', '5.00', 8_000)], 6_000)
  assert.equal(counts.isLacking(TICKER, 115, NOW_MS), false)
})

test('trades that the first volume has make up for none that are missing', () => {
  const counts = countVolumes()
  counts.listed(TICKER, 100, 60_000)
  counts.received(TICKER, [trade('a', '10.00', 59_999), trade('b', '2.00', 60_000)], 0)
  assert.equal(counts.isLacking(TICKER, 102, NOW_MS), false)
  assert.equal(counts.isLacking(TICKER, 107, NOW_MS), true)
  counts.received(TICKER, [trade('c', '5.00', 70_000)], 0)
  assert.equal(counts.isLacking(TICKER, 107, NOW_MS), false)
})

test('an old volume lacks nothing, and one that its trades never make up is doubted for half an hour only', () => {
  const counts = countVolumes()
  assert.equal(counts.isLacking(TICKER, 100, NOW_MS), false, 'no list had its volume')
  counts.listed(TICKER, 100, 0)
  assert.equal(counts.isLacking(TICKER, 90, NOW_MS), false)
  assert.equal(counts.isLacking(TICKER, 120, NOW_MS), true)
  const answersMs = NOW_MS + 3 * DOUBTED_FOR_MS
  for (let afterMs = 0; afterMs < DOUBTED_FOR_MS - 120_000; afterMs += 60_000)
    assert.equal(
      counts.isLacking(TICKER, 120, answersMs + afterMs),
      true,
      'time without an answer counts little',
    )
  const lastMs = answersMs + DOUBTED_FOR_MS - 120_000
  assert.equal(counts.isLacking(TICKER, 120, lastMs), false)
  assert.equal(counts.isLacking(TICKER, 121, lastMs), true, 'the next trade is missed again')
})

test('a volume that was doubted for half an hour is believed while no larger part of it is missing', () => {
  const counts = countVolumes()
  counts.listed(TICKER, 0, 0)
  counts.received(TICKER, [trade('a', '90.00')], 0)
  let nowMs = NOW_MS
  for (; counts.isLacking(TICKER, 100, nowMs); nowMs += 60_000);
  assert.equal(nowMs, NOW_MS + DOUBTED_FOR_MS)
  counts.received(TICKER, [trade('b', '90.00')], 0)
  assert.equal(counts.isLacking(TICKER, 200, nowMs), false)
  assert.equal(counts.isLacking(TICKER, 230, nowMs), true)
})

test('where nothing at all is listed, a volume that grows is doubted again', () => {
  const counts = countVolumes()
  counts.listed(TICKER, 0, 0)
  let nowMs = NOW_MS
  for (; counts.isLacking(TICKER, 100, nowMs); nowMs += 60_000);
  assert.equal(counts.isLacking(TICKER, 100, nowMs), false)
  assert.equal(counts.isLacking(TICKER, 101, nowMs), true)
})

test('the whole list of a contract has its whole volume', () => {
  const trades = [trade('a', '0.10'), trade('b', '0.20')]
  assert.equal(areTooFew(trades, 0.3), false)
  assert.equal(areTooFew(trades, 0.31), true)
  assert.equal(areTooFew([], 0), false)
})
