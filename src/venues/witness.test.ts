import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  AggregateTradeObservation,
  BestBidAskObservation,
  CandleObservation,
  ExchangeBookObservation,
  OpenInterestObservation,
} from './observation.ts'
import { isOutdated, knowsMore } from './witness.ts'

const base = {
  source: 'cexa',
  symbol: 'BTC',
  instrument: 'BTCUSDT',
  venueTimeMs: 1_000,
  receivedMs: 1_000,
  key: null,
} as const

test('a trade that never came is a fault; the last one known to both is a quiet market', () => {
  const last: AggregateTradeObservation = {
    ...base,
    kind: 'aggregate_trade',
    id: 7,
    firstTradeId: 1,
    lastTradeId: 1,
    price: '1',
    size: '1',
    side: 'buy',
  }
  assert.equal(knowsMore({ newestMs: 1_000, newestId: 7 }, last, 0), false)
  assert.equal(knowsMore({ newestMs: 1_000, newestId: 8 }, last, 0), true)
})

test('a candle is behind when the venue has a newer one, or the same one with more trades', () => {
  const last = { ...base, kind: 'candle', openTimeMs: 60_000, tradeCount: 5 } as CandleObservation
  assert.equal(knowsMore({ newestMs: 60_000, newestId: 5 }, last, 0), false)
  assert.equal(knowsMore({ newestMs: 60_000, newestId: 6 }, last, 0), true)
  assert.equal(knowsMore({ newestMs: 120_000, newestId: 0 }, last, 0), true)
  assert.equal(knowsMore({ newestMs: null, newestId: null }, last, 0), false)
})

test('a channel with times only is behind by more than the slack', () => {
  const last: OpenInterestObservation = { ...base, kind: 'open_interest', openInterest: '1', valueUsd: null }
  assert.equal(knowsMore({ newestMs: 6_000, newestId: null }, last, 5_000), false)
  assert.equal(knowsMore({ newestMs: 6_001, newestId: null }, last, 5_000), true)
})

test('a channel that never spoke is behind whatever the venue has', () => {
  assert.equal(knowsMore({ newestMs: 1, newestId: null }, undefined, 0), true)
  assert.equal(knowsMore({ newestMs: null, newestId: null }, undefined, 0), false)
})

test('an answer that is older than what the channel sent says nothing about its silence', () => {
  const quote = { ...base, kind: 'best_bid_ask', updateId: 7, bid: null, ask: null } as BestBidAskObservation
  assert.equal(isOutdated({ newestMs: null, newestId: 6 }, quote), true)
  assert.equal(isOutdated({ newestMs: null, newestId: 7 }, quote), false)
  const book = { ...base, kind: 'exchange_book', bids: [], asks: [] } as unknown as ExchangeBookObservation
  assert.equal(isOutdated({ newestMs: 999, newestId: null }, book), true)
  assert.equal(isOutdated({ newestMs: null, newestId: null }, book), true)
  assert.equal(isOutdated({ newestMs: 1_000, newestId: null }, book), false)
  assert.equal(isOutdated({ newestMs: 1, newestId: null }, undefined), false)
})
