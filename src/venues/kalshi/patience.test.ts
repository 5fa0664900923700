/** How long a socket may stay without an answer. Giving it up costs a slow venue more than it helps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { createDesk } from './feed.ts'

const TICKER = 'KXBTC-X'

function openDesk() {
  const cuts: string[] = []
  const desk = createDesk('BTC', { send: () => {}, cut: (reason) => cuts.push(reason) })
  return { desk, cuts }
}

test('every socket that is given up is followed by one with twice the patience, until a book comes', () => {
  const { desk, cuts } = openDesk()
  desk.follow([TICKER], 0)
  let nowMs = 0
  for (const times of [1, 2, 4, 8, 8]) {
    const before = cuts.length
    const reader = desk.openReader()
    desk.greeting(nowMs)
    desk.tend(nowMs + times * TIMES.hopelessMs - 1)
    assert.equal(cuts.length, before, `${times} times the patience`)
    nowMs += times * TIMES.hopelessMs + 1
    desk.tend(nowMs)
    assert.equal(cuts.length, before + 1, `${times} times the patience`)
    desk.disconnect(nowMs)
    assert.ok(reader)
  }
  const reader = desk.openReader()
  desk.greeting(nowMs)
  const msg = { market_ticker: TICKER, yes_dollars_fp: [], no_dollars_fp: [] }
  reader.read(JSON.stringify({ type: 'orderbook_snapshot', sid: 1, seq: 1, msg }), nowMs)
  desk.disconnect(nowMs)
  desk.openReader()
  desk.greeting(nowMs)
  const before = cuts.length
  desk.tend(nowMs + TIMES.hopelessMs + 1)
  assert.equal(cuts.length, before + 1, 'after a book the patience is the usual one')
})

test('time that is forgiven counts for no wait', () => {
  const { desk, cuts } = openDesk()
  desk.follow([TICKER], 0)
  desk.openReader()
  desk.greeting(0)
  desk.forgive(10 * TIMES.hopelessMs)
  desk.tend(10 * TIMES.hopelessMs)
  assert.deepEqual(cuts, [])
  desk.tend(11 * TIMES.hopelessMs + 1)
  assert.equal(cuts.length, 1)
})

test('a socket is expected to talk once something was subscribed on it, and not before', () => {
  const { desk } = openDesk()
  desk.openReader()
  assert.deepEqual(desk.greeting(0), [])
  assert.equal(desk.isSubscribed, false)
  desk.follow([TICKER], 1)
  assert.equal(desk.isSubscribed, true)
  desk.disconnect(2)
  desk.openReader()
  assert.equal(desk.isSubscribed, false)
  desk.greeting(3)
  assert.equal(desk.isSubscribed, true)
})
