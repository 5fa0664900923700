/** How long a socket may go without an answer. Giving up sockets costs a slow venue more than it helps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { createContractFeed } from './feed.ts'

const TICKER = 'KXBTC-X'

function openDesk() {
  const cuts: string[] = []
  const cut = (reason: string) => cuts.push(reason)
  const feed = createContractFeed('BTC', { send: () => {}, cut, lostTrades: () => {}, lostFigures: () => {} })
  return { feed, cuts }
}

test('every socket that is given up is followed by one with twice the patience, until a book comes', () => {
  const { feed, cuts } = openDesk()
  feed.follow([TICKER], 0)
  let nowMs = 0
  for (const times of [1, 2, 4, 8, 8]) {
    const before = cuts.length
    const reader = feed.openReader()
    feed.greeting(nowMs)
    feed.tend(nowMs + times * TIMES.hopelessMs - 1)
    assert.equal(cuts.length, before, `${times} times the patience`)
    nowMs += times * TIMES.hopelessMs + 1
    feed.tend(nowMs)
    assert.equal(cuts.length, before + 1, `${times} times the patience`)
    feed.disconnect(nowMs)
    assert.ok(reader)
  }
  const reader = feed.openReader()
  feed.greeting(nowMs)
  const msg = { market_ticker: TICKER, yes_dollars_fp: [], no_dollars_fp: [] }
  reader.read(JSON.stringify({ type: 'orderbook_snapshot', sid: 1, seq: 1, msg }), nowMs)
  feed.disconnect(nowMs)
  feed.openReader()
  feed.greeting(nowMs)
  const before = cuts.length
  feed.tend(nowMs + TIMES.hopelessMs + 1)
  assert.equal(cuts.length, before + 1, 'after a book the patience is the usual one')
})

test('time that is forgiven counts for no wait', () => {
  const { feed, cuts } = openDesk()
  feed.follow([TICKER], 0)
  feed.openReader()
  feed.greeting(0)
  feed.forgive(10 * TIMES.hopelessMs)
  feed.tend(10 * TIMES.hopelessMs)
  assert.deepEqual(cuts, [])
  feed.tend(11 * TIMES.hopelessMs + 1)
  assert.equal(cuts.length, 1)
})

test('a socket is expected to talk once something was subscribed on it, and not before', () => {
  const { feed } = openDesk()
  feed.openReader()
  assert.deepEqual(feed.greeting(0), [])
  assert.equal(feed.isSubscribed, false)
  feed.follow([TICKER], 1)
  assert.equal(feed.isSubscribed, true)
  feed.disconnect(2)
  feed.openReader()
  assert.equal(feed.isSubscribed, false)
  feed.greeting(3)
  assert.equal(feed.isSubscribed, true)
})
