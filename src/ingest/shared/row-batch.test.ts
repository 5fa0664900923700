import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RowError } from '../../core/rows/row-error.ts'
import { candleFeed, feedOf } from './feeds.ts'
import { RowBatch } from './row-batch.ts'

const trades = feedOf('trades', 'perpdex', 'BTC')
const funding = feedOf('funding', 'perpdex', 'BTC')
const refusal = (feed: typeof trades | typeof funding, index: number) => ({
  ...{ feed, index, error: new RowError('price', `row ${index}`) },
})

test('a batch is empty without rows and changes, and a row that was not made counts', () => {
  const batch = new RowBatch()
  assert.equal(batch.isEmpty, true)
  batch.refuse(trades, 1_000)
  assert.deepEqual([batch.isEmpty, batch.size, batch.acceptedRows()], [false, 1, []])
  const changed = new RowBatch()
  changed.changes.push({ feed: trades, beforeMs: 5 })
  assert.deepEqual([changed.isEmpty, changed.size], [false, 0])
})

test('refused rows are found by their places among the rows that were written, refusal after refusal', () => {
  const batch = new RowBatch()
  batch.put(trades, ['a', 'b', 'c', 'd', 'e', 'f'])
  batch.put(funding, ['g'])
  const rowsOf = (refused: ReturnType<typeof batch.markRefused>) => refused.map(({ row }) => row)
  assert.deepEqual(rowsOf(batch.markRefused([refusal(trades, 1), refusal(trades, 3)])), ['b', 'd'])
  assert.deepEqual(
    batch.acceptedRows().map(({ rows }) => rows as unknown),
    [['a', 'c', 'e', 'f'], ['g']],
  )
  assert.deepEqual(rowsOf(batch.markRefused([refusal(trades, 2), refusal(funding, 0)])), ['e', 'g'])
  assert.deepEqual(
    batch.acceptedRows().map(({ rows }) => rows as unknown),
    [['a', 'c', 'f']],
  )
})

test('a repeated write has one version of each row, and refusals still find their places', () => {
  const batch = new RowBatch()
  const candles = candleFeed('oracle', 'BTC', '1m')
  const [a, b, c, d, e] = [
    ...[
      { time: 1, closed: true },
      { time: 2, closed: false },
      { time: 1, closed: true },
    ],
    ...[
      { time: 1, closed: false },
      { time: 2, closed: false },
    ],
  ]
  batch.put(candles, [a, b, c, d, e])
  const rows = () => batch.acceptedRows().flatMap((each) => each.rows as unknown[])
  assert.deepEqual(rows(), [a, b, c, d, e])
  batch.leaveOutReplaced()
  assert.deepEqual(rows(), [c, e], 'an open row does not replace a closed one')
  const refusals = [{ feed: candles, index: 1, error: new RowError('close', 'bad') }]
  assert.equal(batch.markRefused(refusals)[0]?.row, e)
  assert.deepEqual(rows(), [a, b, c, d], 'a refused row replaces none')
})
