import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RowError } from '../../core/rows/row-error.ts'
import { feedOf } from './feeds.ts'
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
