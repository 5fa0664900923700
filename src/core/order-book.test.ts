import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MicroLevel, OrderBook } from './order-book.ts'

test('a book has the levels it was made of, in whichever order they are given', () => {
  const book = new OrderBook()
  const bids: MicroLevel[] = [
    [400, 7],
    [390, 2],
    [380, 5],
  ]
  const asks: MicroLevel[] = [
    [410, 1],
    [420, 9],
  ]
  book.replace(bids, asks)
  const mixed: MicroLevel[] = [
    [390, 2],
    [300, 0],
    [380, 5],
    [400, 7],
  ]
  for (const given of [bids, bids.toReversed(), mixed])
    for (const other of [asks, asks.toReversed()]) assert.ok(book.hasLevels({ bids: given, asks: other }))
  assert.ok(!book.hasLevels({ bids, asks: [] }))
  assert.ok(
    !book.hasLevels({
      bids: [
        [400, 7],
        [390, 3],
        [380, 5],
      ],
      asks,
    }),
  )
  assert.ok(
    !book.hasLevels({
      bids: [
        [400, 7],
        [391, 2],
        [380, 5],
      ],
      asks,
    }),
  )
  assert.ok(new OrderBook().hasLevels({ bids: [], asks: [] }))
})
