/** A book that is lost and then proven wrong is in doubt since its last proof, for whatever reason it was lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FrameOutcome } from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import { TokenFeed } from './feed.ts'

const about = { market: '0x1', asset_id: '7' }
const wire = (timestamp: number, hash: string, bids: readonly [string, string][]) => ({
  ...{ event_type: 'book', ...about, timestamp: String(timestamp), hash },
  bids: bids.map(([price, size]) => ({ price, size })),
  asks: [{ price: '0.6', size: '1' }],
})
/** A change of the size at the best bid, which says nothing about the levels below. */
const change = (timestamp: number, hash: string, size: string) => ({
  event_type: 'price_change',
  market: about.market,
  timestamp: String(timestamp),
  price_changes: [{ asset_id: '7', price: '0.4', size, side: 'BUY', hash, best_bid: '0.4', best_ask: '0.6' }],
})
const lossesIn = (observations: readonly DataObservation[]) =>
  observations.flatMap((each) => (each.kind === 'book_lost' ? [[each.reason, each.sinceMs]] : []))
const observationsOf = (outcome: FrameOutcome | undefined) =>
  outcome?.kind === 'data' ? outcome.items.map(({ observation }) => observation) : []

/** A followed token whose book has two bids; a frame at 2000 that removes 0.3 was not received. */
function follow() {
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
  const reader = feed.openReader()
  const read = (message: unknown, receivedMs: number) =>
    observationsOf(reader.read(typeof message === 'string' ? message : JSON.stringify(message), receivedMs))
  read(
    wire(1_000, 'a', [
      ['0.4', '1'],
      ['0.3', '1'],
    ]),
    1_000,
  )
  read(change(3_000, 'c', '2'), 3_000)
  return { feed, read }
}

function setUp() {
  const { feed, read } = follow()
  assert.deepEqual(lossesIn(read('{"event_type":', 3_100)), [['damaged', 3_000]])
  return { feed, read }
}

const TRUE_BIDS = [['0.4', '2']] as const satisfies [string, string][]

test('the book that the stream sends after a loss proves the one before it wrong', () => {
  const { read, feed } = setUp()
  assert.deepEqual(lossesIn(read(wire(3_000, 'c', TRUE_BIDS), 3_200)), [['hash_mismatch', 1_000]])
  assert.equal(feed.tokens.get('7')?.book.isLive, true)
})

test('the book that is requested after a loss does so, too', () => {
  const { feed } = setUp()
  const observations = feed.repair(wire(3_000, 'c', TRUE_BIDS), 3_200)
  assert.deepEqual(
    observations.map(({ kind }) => kind),
    ['book_lost', 'book_snapshot'],
  )
  assert.deepEqual(lossesIn(observations), [['hash_mismatch', 1_000]])
})

test('a book of another state proves nothing about the one that was lost', () => {
  const { read } = setUp()
  assert.deepEqual(lossesIn(read(wire(3_150, 'd', TRUE_BIDS), 3_200)), [])
})

test('nor does one whose last frame could not be applied', () => {
  const { read } = setUp()
  read(wire(4_000, 'd', TRUE_BIDS), 4_000)
  const crossing = {
    ...change(5_000, 'd', '1'),
    price_changes: [
      { asset_id: '7', price: '0.6', size: '1', side: 'BUY', hash: 'd', best_bid: '0.6', best_ask: '0.6' },
    ],
  }
  assert.deepEqual(lossesIn(read(crossing, 5_000)), [['crossed', 4_000]])
  assert.deepEqual(lossesIn(read(wire(4_000, 'd', TRUE_BIDS), 5_100)), [])
})

test('a requested book that is some frames old is compared with the state that it is of', () => {
  for (const isRight of [false, true]) {
    const { feed, read } = follow()
    read(change(3_010, 'd', '3'), 3_010)
    read(change(3_020, 'e', '4'), 3_020)
    const { book } = feed.tokens.get('7') ?? assert.fail()
    const bids: [string, string][] = isRight ? [['0.3', '1'], ...TRUE_BIDS] : [...TRUE_BIDS]
    const lost = book.disprove(wire(3_000, 'c', bids), 3_050)
    assert.deepEqual(
      [lost?.reason, lost?.sinceMs],
      isRight ? [undefined, undefined] : ['hash_mismatch', 1_000],
    )
    // What was proven at 3000 is not in doubt when the next comparison fails.
    if (isRight) assert.equal(book.disprove(wire(3_020, 'e', []), 3_060)?.sinceMs, 3_000)
  }
})
