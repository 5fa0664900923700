/** A REST book is taken only while the stream sends the changes after it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenFeed } from './feed.ts'

const wire = (timestamp: number) => ({
  event_type: 'book',
  market: '0x1',
  asset_id: '7',
  timestamp: String(timestamp),
  bids: [{ price: '0.4', size: '1' }],
  asks: [{ price: '0.6', size: '1' }],
})

test('between two sockets no REST book makes a book live', () => {
  const feed = new TokenFeed('BTC', { send() {}, repair() {}, announced() {}, resolved() {} })
  const leg = {
    marketId: '0x1',
    tokenId: '7',
    outcome: 'Up',
    symbol: 'BTC' as const,
    startMs: 0,
    endMs: 9e12,
  }
  feed.follow([leg], 0)
  feed.openReader().read(JSON.stringify(wire(1_000)), 1_000)
  assert.equal(feed.tokens.get('7')?.book.isLive, true)
  feed.lose('7', 'crossed', 1_500)
  assert.deepEqual(
    feed.repair(wire(1_400), 1_600).map(({ kind }) => kind),
    ['book_snapshot'],
    'the socket is open',
  )
  assert.equal(feed.disconnect(2_000).length, 1)
  assert.deepEqual(feed.repair(wire(2_400), 2_500), [])
})
