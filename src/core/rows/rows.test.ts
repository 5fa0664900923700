import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { decimalText, tryDecimal } from '../decimal.ts'
import type { Dataset, Feed } from '../feed.ts'
import { SOURCES, type Source } from '../source.ts'
import { formatTime } from '../time.ts'
import { type CandleInput, encodeCandle } from './candle.ts'
import { numberText } from './json-text.ts'
import { encodeMarket } from './market.ts'
import { RowError } from './row-error.ts'
import { type FeedRows, rowEncoder } from './row-kinds.ts'
import {
  CexaSnapshotRow,
  MarketRow,
  PerpdexSnapshotRow,
  PredmktASnapshotRow,
  PredmktBSnapshotRow,
  ROW_SCHEMAS,
} from './schemas.ts'

const T = Date.UTC(2026, 2, 14, 4)
const feed = <D extends Dataset>(dataset: D, source: Source, interval: Feed['interval'] = ''): Feed<D> => ({
  dataset,
  source,
  symbol: 'BTC',
  interval,
})
const book = {
  bids: [
    ['0.52', '100'],
    [0.5, 20],
  ],
  asks: [['0.540', 5]],
} as const
const market = { marketId: '0xabc', slug: 's', tokenId: '123', outcome: 'Up', question: 'Up "or" down?' }

/** One valid row of every shape. */
const VALID: FeedRows[] = [
  {
    feed: feed('candles', 'cexa', '1m'),
    rows: [
      { time: T, open: '1', high: '2.50', low: '0.5', close: 2, volume: '0.00', numTrades: 3, closed: true },
    ],
  },
  {
    feed: feed('candles', 'cexa_futures', '1h'),
    rows: [
      {
        time: T,
        open: 1,
        high: 2,
        low: 1,
        close: 2,
        volume: 5,
        numTrades: 3,
        takerBuyRatio: '0.5',
        fundingRate: '-0.0001',
        openInterest: 7,
        closed: false,
      },
    ],
  },
  {
    feed: feed('candles', 'perpdex', '1h'),
    rows: [{ time: T, open: 1, high: 2, low: 1, close: 2, volume: 5, fundingRate: null, closed: true }],
  },
  {
    feed: feed('candles', 'oracle', '5m'),
    rows: [{ time: T, open: 1, high: 2, low: 1, close: 2, closed: true }],
  },
  {
    feed: feed('candles', 'predmkt_a', '5m'),
    rows: [{ time: T, open: 0, high: 1, low: 0, close: '0.5', volume: 5, closed: true, market }],
  },
  {
    feed: feed('candles', 'predmkt_b', '5m'),
    rows: [
      {
        time: T,
        open: 0,
        high: 1,
        low: 0,
        close: '0.5',
        volume: 5,
        closed: true,
        market: { marketId: 'KX-1' },
      },
    ],
  },
  {
    feed: feed('trades', 'perpdex'),
    rows: [{ time: T + 1, seq: 1, tradeId: '9', price: 5, size: '0.1', side: 'buy' }],
  },
  {
    feed: feed('trades', 'predmkt_a'),
    rows: [
      {
        time: T,
        seq: 0,
        tradeId: '9',
        price: 1,
        size: 2,
        side: 'sell',
        marketId: '0xabc',
        tokenId: '5',
        outcome: 'Up',
      },
    ],
  },
  {
    feed: feed('flow', 'cexa', '5m'),
    rows: [
      {
        time: T,
        buyVolume: 2,
        sellVolume: '1',
        numBuys: 1,
        numSells: 1,
        vwapBuy: 10,
        vwapSell: 11,
        closed: true,
      },
      { time: T, buyVolume: 0, sellVolume: 0, numBuys: null, numSells: null, closed: true },
    ],
  },
  {
    feed: feed('open_interest', 'perpdex', '1h'),
    rows: [{ time: T, openInterest: '1', openInterestUsd: '2' }],
  },
  {
    feed: feed('open_interest', 'predmkt_b', '1h'),
    rows: [{ time: T, openInterest: '1', openInterestUsd: '1', marketId: 'KX-1' }],
  },
  {
    feed: feed('liquidations', 'cexa_futures'),
    rows: [{ time: T + 7, seq: 0, side: 'long', quantity: '0.3', price: '10', avgPrice: '0.1' }],
  },
  {
    feed: feed('funding', 'perpdex'),
    rows: [{ time: T + 3, fundingRate: '0.0000125', nextFundingTime: T + 3_600_000 }],
  },
  { feed: feed('ticker', 'cexa'), rows: [{ time: T, bidPrice: 1, bidSize: 0, askPrice: 2, askSize: 3 }] },
]
const SNAPSHOTS = [
  [
    PredmktASnapshotRow,
    feed('snapshots', 'predmkt_a', '1d'),
    {
      time: T + 500,
      marketId: '0x1',
      tokenUp: '1',
      tokenDown: '2',
      priceUp: '0.53',
      up: book,
      down: { bids: [], asks: [] },
    },
  ],
  [
    PredmktBSnapshotRow,
    feed('snapshots', 'predmkt_b', '1h'),
    { time: T, marketId: 'KX', yes: book, no: book, volume: 3 },
  ],
  [PerpdexSnapshotRow, feed('snapshots', 'perpdex'), { time: T, book: { bids: [[5, 1]], asks: [[6, 3]] } }],
] as const

const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } })

function check(schema: object, text: string): Record<string, unknown> {
  const row = JSON.parse(text)
  const validate = ajv.compile(schema)
  assert.ok(validate(row), `${text} ${JSON.stringify(validate.errors)}`)
  return row as Record<string, unknown>
}

test('every encoded row fits its schema and has exactly its fields, in their order', () => {
  for (const { feed, rows } of VALID) {
    const schema = ROW_SCHEMAS[feed.dataset] as unknown as { properties: object; required: string[] }
    for (const input of rows) {
      const row = check(schema, rowEncoder(feed)(input).text)
      const optional = Object.keys(schema.properties).filter((name) => !schema.required.includes(name))
      const shown = Object.keys(schema.properties).filter((name) => name in row || !optional.includes(name))
      assert.deepEqual(Object.keys(row), shown)
    }
  }
  for (const [schema, feed, input] of SNAPSHOTS) {
    const row = check(schema, rowEncoder(feed)(input).text)
    assert.deepEqual(
      Object.keys(row),
      Object.keys(schema.properties).filter((name) => schema.required.includes(name as never)),
    )
  }
})

test('every field of every schema has a description', () => {
  const schemas = [
    ...Object.values(ROW_SCHEMAS),
    PredmktASnapshotRow,
    PredmktBSnapshotRow,
    PerpdexSnapshotRow,
    CexaSnapshotRow,
    MarketRow,
  ]
  for (const schema of schemas) {
    if (!('properties' in schema)) continue
    for (const [name, field] of Object.entries(schema.properties)) {
      assert.ok('description' in field && String(field.description).length > 5, name)
    }
  }
})

test('a candle is written to the byte', () => {
  const text = encodeCandle(feed('candles', 'cexa_futures', '1m'), {
    time: T,
    open: '61234.10',
    high: '61240',
    low: '61230.0',
    close: 61235.5,
    volume: '12.3400',
    numTrades: 42,
    takerBuyRatio: 0.0000001,
    closed: true,
  }).text
  assert.equal(
    text,
    '{"timestamp":"2026-03-14T04:00:00.000Z","symbol":"BTC","source":"cexa_futures","interval":"1m","open":61234.1,"high":61240,"low":61230,"close":61235.5,"volume":12.34,"num_trades":42,"taker_buy_ratio":0.0000001,"funding_rate":null,"open_interest":null,"closed":true}',
  )
})

test('snapshots derive top, middle, spread and imbalance from the book', () => {
  const [, source, input] = SNAPSHOTS[0]
  const encoded = rowEncoder(source)(input)
  const row = JSON.parse(encoded.text)
  assert.deepEqual(
    [row.best_bid, row.best_ask, row.mid_price, row.spread, row.imbalance, row.market_type, row.interval],
    [0.52, 0.54, 0.53, 0.02, 0.96, '24h', '500ms'],
  )
  assert.deepEqual(encoded.books, [
    { prices: [520_000, 500_000], sizes: [100_000_000, 20_000_000] },
    { prices: [540_000], sizes: [5_000_000] },
    { prices: [], sizes: [] },
    { prices: [], sizes: [] },
  ])
})

const candle = (changes: Partial<CandleInput>): CandleInput => ({
  time: T,
  open: 5,
  high: 6,
  low: 4,
  close: 5,
  volume: 1,
  closed: true,
  ...changes,
})

test('a wrong row is refused and the error names the field', () => {
  const spot = feed('candles', 'cexa', '1m')
  const predicted = feed('candles', 'predmkt_a', '1m')
  const cases: [string, FeedRows][] = [
    ['high', { feed: spot, rows: [candle({ high: 3 })] }],
    ['close', { feed: spot, rows: [candle({ close: 7 })] }],
    ['close', { feed: spot, rows: [candle({ close: '3.99' })] }],
    ['open', { feed: spot, rows: [candle({ open: 6.1 })] }],
    ['low', { feed: spot, rows: [candle({ low: 0 })] }],
    ['volume', { feed: spot, rows: [candle({ volume: -1 })] }],
    ['volume', { feed: spot, rows: [candle({ volume: null })] }],
    ['volume', { feed: feed('candles', 'oracle', '5m'), rows: [candle({})] }],
    ['num_trades', { feed: feed('candles', 'perpdex', '1m'), rows: [candle({ numTrades: 1 })] }],
    ['num_trades', { feed: spot, rows: [candle({ numTrades: 1.5 })] }],
    ['taker_buy_ratio', { feed: spot, rows: [candle({ takerBuyRatio: 0.5 })] }],
    [
      'taker_buy_ratio',
      { feed: feed('candles', 'cexa_futures', '1m'), rows: [candle({ takerBuyRatio: 1.01 })] },
    ],
    ['timestamp', { feed: spot, rows: [candle({ time: T + 1 })] }],
    ['timestamp', { feed: spot, rows: [candle({ time: Number.NaN })] }],
    ['open', { feed: spot, rows: [candle({ open: Number.NaN })] }],
    ['open', { feed: spot, rows: [candle({ open: 'Infinity' })] }],
    ['high', { feed: predicted, rows: [candle({ open: 0.5, close: 0.5, low: 0.5, high: 1.01, market })] }],
    ['market_id', { feed: predicted, rows: [candle({ open: 1, close: 1, low: 1, high: 1 })] }],
    ['market_id', { feed: spot, rows: [candle({ market })] }],
    ['interval', { feed: feed('candles', 'cexa'), rows: [candle({})] }],
    [
      'size',
      {
        feed: feed('trades', 'perpdex'),
        rows: [{ time: T, seq: 0, tradeId: '1', price: 1, size: '-2', side: 'buy' }],
      },
    ],
    [
      'seq',
      {
        feed: feed('trades', 'perpdex'),
        rows: [{ time: T, seq: -1, tradeId: '1', price: 1, size: 2, side: 'buy' }],
      },
    ],
    [
      'price',
      {
        feed: feed('trades', 'predmkt_b'),
        rows: [{ time: T, seq: 0, tradeId: '1', price: '1.2', size: 2, side: 'buy', marketId: 'K' }],
      },
    ],
    [
      'vwap_buy',
      { feed: feed('flow', 'cexa', '5m'), rows: [{ time: T, buyVolume: 1, sellVolume: 0, closed: true }] },
    ],
    [
      'vwap_sell',
      {
        feed: feed('flow', 'cexa', '5m'),
        rows: [{ time: T, buyVolume: 0, sellVolume: 0, vwapSell: 1, closed: true }],
      },
    ],
    [
      'bid_price',
      { feed: feed('ticker', 'cexa'), rows: [{ time: T, bidPrice: 3, bidSize: 1, askPrice: 2, askSize: 1 }] },
    ],
    [
      'timestamp',
      {
        feed: feed('ticker', 'cexa'),
        rows: [{ time: T + 500, bidPrice: 1, bidSize: 1, askPrice: 2, askSize: 1 }],
      },
    ],
    [
      'next_funding_time',
      { feed: feed('funding', 'perpdex'), rows: [{ time: T, fundingRate: 0, nextFundingTime: T }] },
    ],
    [
      'quantity',
      {
        feed: feed('liquidations', 'cexa_futures'),
        rows: [{ time: T, seq: 0, side: 'long', quantity: 0, price: 1, avgPrice: 1 }],
      },
    ],
    [
      'book.bids',
      {
        feed: feed('snapshots', 'perpdex'),
        rows: [
          {
            time: T,
            book: {
              bids: [
                [1, 1],
                [2, 1],
              ],
              asks: [],
            },
          },
        ],
      },
    ],
    [
      'book.asks',
      { feed: feed('snapshots', 'perpdex'), rows: [{ time: T, book: { bids: [], asks: [[1, -1]] } }] },
    ],
    [
      'book',
      { feed: feed('snapshots', 'perpdex'), rows: [{ time: T, book: { bids: [[3, 1]], asks: [[2, 1]] } }] },
    ],
    [
      'yes.bids',
      {
        feed: feed('snapshots', 'predmkt_b'),
        rows: [{ time: T, marketId: 'K', yes: { bids: [[1.5, 1]], asks: [] }, no: book }],
      },
    ],
    [
      'timestamp',
      { feed: feed('snapshots', 'perpdex'), rows: [{ time: T + 250, book: { bids: [], asks: [] } }] },
    ],
    ['source', { feed: feed('snapshots', 'cexa'), rows: [{ time: T, book: { bids: [], asks: [] } }] }],
  ]
  for (const [field, { feed, rows }] of cases) {
    assert.throws(
      () => rows.map((row) => rowEncoder(feed)(row)),
      (error: unknown) => error instanceof RowError && error.field === field,
      `${field} of ${JSON.stringify(rows)}`,
    )
  }
})

test('numbers are written in their shortest exact form', () => {
  for (const value of [
    '0',
    '-0',
    '10',
    '0.10',
    '1e-7',
    '1e21',
    '007.50',
    '-3.00',
    '123456789.123456789012345',
  ]) {
    const exact = tryDecimal(value)
    assert.equal(numberText('x', value), exact && decimalText(exact), value)
  }
  assert.equal(numberText('x', 1e-7), '0.0000001')
  assert.equal(numberText('x', 1e21), '1000000000000000000000')
  assert.equal(numberText('x', -0), '0')
  for (const value of ['', 'NaN', '1,5', ' 1', Number.POSITIVE_INFINITY]) {
    assert.throws(() => numberText('x', value), RowError)
  }
})

test('times are written as JavaScript writes them', () => {
  for (let t = 0; t < 4e12; t += 86_399_999 * 997 + 123)
    assert.equal(formatTime(t), new Date(t).toISOString())
})

test('a market has all names that it can be found by', () => {
  for (const source of SOURCES.slice(2, 5)) {
    const encoded = encodeMarket({
      marketId: '0x1',
      conditionId: '0x1',
      source,
      symbol: 'BTC',
      slug: 'a-b',
      active: true,
      status: 'open',
      tokens: [{ tokenId: '77', outcome: 'Up' }],
      aliases: ['512'],
      strike: '100.0',
    })
    assert.deepEqual(encoded.identifiers, ['0x1', 'a-b', '77', '512'])
    const row = check(MarketRow, encoded.text)
    assert.deepEqual(Object.keys(row), Object.keys(MarketRow.properties))
  }
})
