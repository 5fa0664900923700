import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReceivedBooks } from './received-books.ts'

test('the first frame after a pause proves nothing about other markets until theirs had time to come', () => {
  const books = new ReceivedBooks()
  books.received(10_000)
  books.received(10_900)
  assert.equal(books.toMs(11_000), 10_900, 'frames keep coming')
  books.received(20_000)
  books.received(20_010)
  assert.equal(books.toMs(20_100), 10_900)
  assert.equal(books.lastMs, 20_010)
  assert.equal(books.toMs(20_250), 20_010)
})
