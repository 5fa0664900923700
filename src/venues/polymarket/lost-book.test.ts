/** How a lost book becomes live again, and which frames lose it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBook } from './book.ts'
import { TokenFeed } from './feed.ts'

const NOW = Date.UTC(2026, 3, 23, 16)
const TOKEN = '7'
const LEG = {
  ...{ marketId: '0x1', tokenId: TOKEN, outcome: 'Up', symbol: 'BTC' as const },
  ...{ startMs: NOW - 3_600_000, endMs: NOW + 3_600_000 },
}
const book = (timeMs: number, bid: string, ask: string) => ({
  ...{ event_type: 'book', market: '0x1', asset_id: TOKEN, timestamp: String(timeMs) },
  ...{ bids: [{ price: bid, size: '5' }], asks: [{ price: ask, size: '5' }] },
})
const bid = (price: string, size = '7') => ({ asset_id: TOKEN, price, size, side: 'BUY' as const })

function openFeed() {
  const repaired: string[] = []
  const repair = (tokenId: string) => void repaired.push(tokenId)
  const feed = new TokenFeed('BTC', { send() {}, repair, announced() {}, resolved() {} })
  feed.follow([LEG], NOW)
  const reader = feed.openReader()
  const read = (message: unknown, receivedMs: number) => reader.read(JSON.stringify(message), receivedMs)
  read(book(NOW, '0.4', '0.6'), NOW)
  return { feed, read, repaired }
}

test('a message that cannot be read costs the books, also where one of an unknown kind follows in its frame', () => {
  const { feed, read } = openFeed()
  const change = { event_type: 'price_change', market: '0x1', timestamp: String(NOW + 1) }
  const unreadable = { ...change, price_changes: [{ ...bid('0.3'), price: 'oops' }] }
  const outcome = read([unreadable, { event_type: 'brand_new' }], NOW + 1)
  assert.equal(outcome.kind === 'data' && outcome.refused, 'wrong_shape')
  assert.equal(feed.tokens.get(TOKEN)?.book.isLive, false)
})

test('a lost book is not replaced by an older one of the stream: it is requested', () => {
  const { feed, read, repaired } = openFeed()
  read(book(NOW + 5, '0.3', '0.6'), NOW + 5)
  feed.lose(TOKEN, 'crossed', NOW + 6)
  assert.equal(read(book(NOW + 2, '0.4', '0.6'), NOW + 10).kind, 'ignored')
  assert.equal(feed.tokens.get(TOKEN)?.book.isLive, false)
  assert.deepEqual(repaired, [TOKEN])
  read(book(NOW + 5, '0.3', '0.6'), NOW + 11)
  assert.equal(feed.tokens.get(TOKEN)?.book.isLive, true)
})

test('after changes that crossed a book none is taken that is older than they are', () => {
  const kept = new TokenBook(LEG)
  kept.replace(book(NOW, '0.4', '0.6'), 'stream', NOW)
  const [lost] = kept.change([bid('0.3'), bid('0.61')], NOW + 5, NOW + 5) ?? []
  assert.equal(lost?.kind === 'book_lost' && lost.reason, 'crossed')
  assert.equal(kept.repair(book(NOW + 3, '0.4', '0.7'), NOW + 10), undefined)
  assert.equal(kept.replace(book(NOW + 4, '0.4', '0.7'), 'stream', NOW + 11), null)
  assert.equal(kept.repair(book(NOW + 5, '0.61', '0.7'), NOW + 12)?.kind, 'book_snapshot')
})

test('after changes that cannot be read no book is taken that is older than they are, awaited or not', () => {
  for (const isAwaited of [true, false]) {
    const kept = new TokenBook(LEG)
    kept.replace(book(NOW, '0.4', '0.6'), 'stream', NOW)
    if (isAwaited) kept.lose('tick_size', NOW + 2)
    assert.equal(kept.change([bid('0.3', '12345678901')], NOW + 5, NOW + 5), undefined)
    kept.lose('damaged', NOW + 5)
    assert.equal(kept.repair(book(NOW + 3, '0.4', '0.6'), NOW + 10), undefined)
    assert.equal(kept.repair(book(NOW + 5, '0.4', '0.6'), NOW + 12)?.kind, 'book_snapshot')
  }
})

test('what a frame changes of the other tokens is kept if the changes of one cannot be read', () => {
  const { feed, read } = openFeed()
  feed.follow([LEG, { ...LEG, tokenId: '8', outcome: 'Down' }], NOW)
  read({ ...book(NOW, '0.4', '0.6'), asset_id: '8' }, NOW)
  const changes = [bid('0.3', '12345678901'), { ...bid('0.3'), asset_id: '8' }]
  read(
    { event_type: 'price_change', market: '0x1', timestamp: String(NOW + 5), price_changes: changes },
    NOW + 5,
  )
  const [repaired] = feed.repair({ ...book(NOW + 3, '0.4', '0.6'), asset_id: '8' }, NOW + 10)
  assert.equal(repaired, undefined)
})
