/** Messages that claim to be a day old, on a stream that sends as it happens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FrameOutcome } from '../live/frame.ts'
import { isPlausibleTime } from '../live/plausible.ts'
import { TokenFeed } from './feed.ts'

const NOW = Date.UTC(2026, 3, 23, 16)
const DAY_MS = 86_400_000
const TOKEN = '7'

function openFeed() {
  const feed = new TokenFeed('BTC', { send() {}, repair() {}, announced() {}, resolved() {} })
  const about = { marketId: '0x1', tokenId: TOKEN, outcome: 'Up', symbol: 'BTC' } as const
  feed.follow([{ ...about, startMs: NOW - DAY_MS, endMs: NOW + DAY_MS }], NOW)
  const protocol = feed.openReader()
  const read = (message: object, receivedMs: number) =>
    protocol.read(JSON.stringify({ market: '0x1', asset_id: TOKEN, ...message }), receivedMs, isPlausibleTime)
  const lostSince = (outcome: ReturnType<typeof read>) =>
    outcome.kind !== 'data'
      ? []
      : outcome.items.flatMap(({ observation }) =>
          observation.kind === 'book_lost' ? [[observation.reason, observation.sinceMs]] : [],
        )
  return { feed, read, lostSince }
}

const bookAt = (timeMs: number) => ({
  event_type: 'book',
  timestamp: String(timeMs),
  bids: [{ price: '0.4', size: '1' }],
  asks: [{ price: '0.6', size: '1' }],
})
const changeAt = (timeMs: number) => ({
  event_type: 'price_change',
  timestamp: String(timeMs),
  price_changes: [{ asset_id: TOKEN, price: '0.3', size: '5', side: 'BUY', hash: '' }],
})
const tradeAt = (timeMs: number) => ({
  ...{ event_type: 'last_trade_price', timestamp: String(timeMs), transaction_hash: '0xabc' },
  ...{ price: '0.5', size: '2', side: 'BUY', fee_rate_bps: '0' },
})

/** The time of the trades that are left to the sweeps. */
const leftOf = (outcome: FrameOutcome) =>
  outcome.kind !== 'data'
    ? []
    : outcome.items.map(({ channel, observation }) => {
        assert.equal(observation.kind, 'trades_lost')
        return [channel, observation.fromMs, observation.toMs]
      })

test('a change that is dated a day back costs its book from the last frame on, not a day of it', () => {
  const { read, lostSince } = openFeed()
  read(bookAt(NOW), NOW)
  const outcome = read(changeAt(NOW + 5_000 - DAY_MS), NOW + 5_000)
  assert.deepEqual(lostSince(outcome), [['damaged', NOW]])
  assert.equal(outcome.kind === 'data' && outcome.refused, 'implausible')
})

test('a book that is dated a day back costs no more than frames overtake each other', () => {
  const { read, lostSince } = openFeed()
  read(bookAt(NOW), NOW)
  const [[reason, sinceMs] = []] = lostSince(read(bookAt(NOW - DAY_MS), NOW + 5_000))
  assert.equal(reason, 'out_of_order')
  assert.ok(Number(sinceMs) >= NOW - 60_000 && Number(sinceMs) < NOW, String(sinceMs))
})

test('a change that was overtaken by seconds costs its book since then', () => {
  const { read, lostSince } = openFeed()
  read(bookAt(NOW), NOW)
  assert.deepEqual(lostSince(read(changeAt(NOW - 3_000), NOW + 1_000)), [['out_of_order', NOW - 3_000]])
})

test('a trade that is a minute late, or dated a day back, does not count as streamed: it is left to the sweeps', () => {
  const { feed, read } = openFeed()
  read(bookAt(NOW), NOW)
  read(tradeAt(NOW - DAY_MS), NOW + 1_000)
  const outcome = read(tradeAt(NOW - 60_000), NOW + 1_000)
  assert.deepEqual(leftOf(outcome), [['trades:BTC', NOW - 65_000, NOW - 55_000]])
  assert.equal(feed.hasStreamed('0xabc', TOKEN), false)
  read(tradeAt(NOW + 1_000), NOW + 1_000)
  assert.equal(feed.hasStreamed('0xabc', TOKEN), true)
})

for (const transaction_hash of [null, undefined, ''])
  test(`a trade with the transaction ${transaction_hash} is left to the sweeps, and a gap until then`, () => {
    const { read } = openFeed()
    read(bookAt(NOW), NOW)
    const outcome = read({ ...tradeAt(NOW + 1_000), transaction_hash }, NOW + 1_000)
    assert.deepEqual(leftOf(outcome), [['trades:BTC', NOW - 4_000, NOW + 6_000]])
  })
