/** When a candle of a market is written open or closed, and when it must not be written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Feed, feedName } from '../../core/feed.ts'
import type { CandleInput } from '../../core/rows/candle.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { kalshiPlan } from '../../venues/kalshi/plan.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import { MarketCandleWriter } from './write-market-candles.ts'

const START_MS = Date.parse('2026-11-15T12:00:00Z')
const CANDLE_MS = 300_000
const MARKET: MarketInput = {
  marketId: 'KXBTC15M-X',
  source: 'predmkt_b',
  symbol: 'BTC',
  tokens: [],
  active: true,
  status: 'open',
}

const trade = (timeMs: number, price: string): TradeObservation => ({
  kind: 'trade',
  source: 'predmkt_b',
  symbol: 'BTC',
  instrument: MARKET.marketId,
  venueTimeMs: timeMs,
  receivedMs: timeMs,
  key: null,
  id: `t${timeMs}`,
  price,
  size: '1',
  side: 'buy',
})

function setUp() {
  const written: CandleInput[] = []
  const refused: string[] = []
  const feeds: string[] = []
  const candles = new MarketCandleWriter({
    plan: kalshiPlan,
    instruments: [MARKET.marketId],
    market: () => MARKET,
    writer: {
      put: (feed: Feed, rows: readonly unknown[]) => {
        feeds.push(feed.interval ?? '')
        if (feed.interval === '5m') written.push(...(rows as CandleInput[]))
      },
      refuse: (feed, timeMs) => void refused.push(`${feedName(feed)} ${timeMs - START_MS}`),
    },
  })
  const closed = () => written.splice(0).map((row) => [row.close, row.closed])
  return { candles, closed, refused, feeds }
}

test('a candle is written open when it changes, and once more half a minute after its end', () => {
  const { candles, closed } = setUp()
  candles.trade(trade(START_MS + 1_000, '0.4'))
  candles.show(START_MS + 2_000)
  assert.deepEqual(closed(), [['0.4', false]])
  candles.show(START_MS + CANDLE_MS + 29_999)
  assert.deepEqual(closed(), [])
  candles.show(START_MS + CANDLE_MS + 30_000)
  assert.deepEqual(closed(), [['0.4', true]])
  candles.show(START_MS + 2 * CANDLE_MS)
  assert.deepEqual(closed(), [])
})

test('a late trade writes its closed candle again', () => {
  const { candles, closed } = setUp()
  candles.trade(trade(START_MS + 1_000, '0.4'))
  candles.show(START_MS + 2 * CANDLE_MS)
  candles.trade(trade(START_MS + 2_000, '0.5'))
  candles.show(START_MS + 3 * CANDLE_MS)
  assert.deepEqual(closed(), [
    ['0.4', true],
    ['0.5', true],
  ])
})

test('a final candle is not written again; the longer ones that are not final are closed when they have ended', () => {
  const { candles, feeds } = setUp()
  const prices = { open: '0.4', high: '0.4', low: '0.4', close: '0.4' }
  const candle = { openTimeMs: START_MS, ...prices, volume: '1', basis: 'trade' as const, samples: 1 }
  candles.fix(MARKET.marketId, candle, true, { finalBeforeMs: START_MS + 3 * CANDLE_MS })
  candles.show(START_MS + 6 * CANDLE_MS)
  assert.deepEqual(feeds, [])
  candles.show(START_MS + 13 * CANDLE_MS)
  assert.deepEqual(feeds, ['1h'])
})

test('a candle with a trade that cannot be stored is refused, and not written when it ends either', () => {
  const { candles, closed, refused } = setUp()
  candles.trade(trade(START_MS + 1_000, '0.4'))
  candles.show(START_MS + 2_000)
  closed()
  candles.refuseAt(trade(START_MS + 3_000, '7'))
  assert.equal(refused.length, 5, 'a candle of every interval')
  candles.show(START_MS + CANDLE_MS + 30_000)
  assert.deepEqual(closed(), [])
  assert.ok(refused.filter((each) => each.includes('5m')).length > 1, JSON.stringify(refused))
})
