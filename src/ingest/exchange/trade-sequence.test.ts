import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import { OUT_OF_ORDER_MS, TradeSequence } from './trade-sequence.ts'

const START_MS = 600_000
const timeOf = (id: number) => START_MS + id * 100

function trade(id: number): AggregateTradeObservation {
  return {
    ...{ kind: 'aggregate_trade', source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT', key: String(id), id },
    ...{ venueTimeMs: timeOf(id), receivedMs: timeOf(id), firstTradeId: id, lastTradeId: id },
    ...{ price: '1', size: '1', side: 'buy' },
  }
}

function startSequence() {
  const out: number[] = []
  const sequence = new TradeSequence(({ id }) => void out.push(id))
  assert.equal(sequence.start(START_MS, [trade(0), trade(1)], { id: 2 }), true)
  return { sequence, out }
}

test('it begins only with an unbroken run up to the first trade', () => {
  const out: number[] = []
  const sequence = new TradeSequence(({ id }) => void out.push(id))
  sequence.push(trade(4), 0)
  assert.equal(sequence.start(START_MS, [trade(1), trade(3)], { id: 4 }), false, 'one is missing inside')
  assert.equal(sequence.start(START_MS, [trade(1), trade(2)], { id: 4 }), false, 'one is missing at the end')
  assert.deepEqual([out, sequence.startMs], [[], undefined])
  assert.equal(sequence.start(START_MS, [trade(1), trade(2), trade(3), trade(4)], { id: 4 }), true)
  sequence.drain(0)
  assert.deepEqual([out, sequence.startMs, sequence.isWaiting], [[1, 2, 3, 4], START_MS, false])
})

test('later trades wait, repeats are dropped, and nothing is behind a number that an answer lacks', () => {
  const { sequence, out } = startSequence()
  for (const id of [2, 2, 6, 7]) sequence.push(trade(id), 0)
  assert.deepEqual([out, sequence.waiting], [[0, 1, 2], 2])
  assert.equal(sequence.append([trade(2), trade(3), trade(5)], 6), false)
  assert.deepEqual(out, [0, 1, 2, 3])
  assert.equal(sequence.append([trade(4), trade(5), trade(6)], 6), true)
  sequence.drain(0)
  assert.deepEqual([out, sequence.waiting], [[0, 1, 2, 3, 4, 5, 6, 7], 0])
})

test('a skipped gap begins at the last trade that is out and ends at the first that waits', () => {
  const { sequence, out } = startSequence()
  for (const id of [9, 8]) sequence.push(trade(id), 0)
  assert.deepEqual(sequence.skipGap(), { fromMs: timeOf(1), toMs: timeOf(8) })
  sequence.drain(0)
  assert.deepEqual([out, sequence.skipGap()], [[0, 1, 8, 9], undefined])
})

test('a trade proves the time before it, an answer the time it is for', () => {
  const { sequence } = startSequence()
  assert.equal(sequence.provenMs, timeOf(1) - OUT_OF_ORDER_MS)
  sequence.prove(timeOf(50))
  assert.equal(sequence.provenMs, timeOf(50))
  sequence.prove(timeOf(40))
  assert.equal(sequence.provenMs, timeOf(50))
})

test('where nothing is out yet, a skipped gap begins with the minute of the first trade that waits', () => {
  const sequence = new TradeSequence(() => {})
  sequence.push(trade(7), 0)
  assert.deepEqual(sequence.skipGap(), { fromMs: START_MS, toMs: timeOf(7) })
  assert.equal(sequence.startMs, timeOf(7))
})

test('a new numbering begins with its first trade, and what waited under the old one is dropped', () => {
  const { sequence, out } = startSequence()
  sequence.push(trade(9), 0)
  const next = { ...trade(0), id: -5 }
  assert.deepEqual(sequence.restartAt({ ...next, venueTimeMs: timeOf(4) }), {
    fromMs: timeOf(1),
    toMs: timeOf(4),
  })
  assert.deepEqual(
    sequence.restartAt(next),
    { fromMs: timeOf(0), toMs: timeOf(0) },
    'no range that ends first',
  )
  sequence.push(next, 0)
  assert.deepEqual([out, sequence.waiting], [[0, 1, -5], 0])
})
