import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  fixtureFiles,
  fixtureJson,
  type RecordedFrame,
  recordedFrames,
  withoutFixtures,
} from '../../../test/venues/fixtures.ts'
import { anyInstrument, countBy, eventOf, type Listed, outcomesOf } from '../../../test/venues/read-frame.ts'
import { schemaCoverage } from '../../../test/venues/schema-coverage.ts'
import { createSymbolMap } from '../adapter/symbol-map.ts'
import { mapAggregateTrade, mapKlineRow } from '../binance/mapper.ts'
import * as shared from '../binance/wire.ts'
import { binanceSpotDescription } from './describe.ts'
import { createSpotReader } from './mapper.ts'
import * as own from './wire.ts'

const WIRE = { ...shared, ...own }

const VENUE = 'binance-spot'
const skip = withoutFixtures(VENUE)
const STREAM_FILES = [
  'btcusdt-raw-book-sync-start-20240808.jsonl',
  'btcusdt-raw-combined-stream-midnight-20240809.jsonl',
  'live-frame-kline-1s-20230423.jsonl',
]
const REST_FILES = [
  'exchangeInfo-subset-20211012.json',
  'nautilus/http_spot_market_agg_trades.json',
  'nautilus/http_spot_market_depth.json',
  'nautilus/http_spot_market_exchange_info.json',
  'nautilus/http_spot_market_klines.json',
  'nautilus/http_spot_market_time.json',
  'nautilus/http_spot_market_trades.json',
]
/** Read as rows by golden.test.ts. */
const TABLES = [
  'btcusdt-klines-5m-20240808-20240809.csv',
  'btcusdt-trade-stream-20240808T235413Z-20240809T000504Z.csv',
]

function frames(): RecordedFrame[] {
  const single = { at: 'ws_spot_trade.json', msg: fixtureJson(VENUE, 'nautilus/ws_spot_trade.json') }
  return [...STREAM_FILES.flatMap((file) => recordedFrames(VENUE, file)), single]
}

const NOT_RECORDED = ['trade', 'depthUpdate'].map(
  (event): Listed => ({ holds: `"e":"${event}"`, outcome: 'ignored', why: 'a stream that no plan records' }),
)
const about = { source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT', receivedMs: 1 } as const

test('every recorded file is known to these tests', { skip }, () => {
  const known = [...STREAM_FILES, ...REST_FILES, ...TABLES, 'nautilus/ws_spot_trade.json']
  assert.deepEqual(fixtureFiles(VENUE), known.sort())
})

test('every recorded frame becomes an observation, or is of a stream that is not recorded', { skip }, () => {
  const streamed = frames().filter((frame) => frame.rest === undefined)
  const events = countBy(streamed, eventOf)
  assert.deepEqual(events, { bookTicker: 1_147, depthUpdate: 122, trade: 272, kline: 1 })
  for (const symbols of [anyInstrument, createSymbolMap(binanceSpotDescription.symbols)]) {
    const reader = createSpotReader(symbols)
    const { observations, unexpected, listedFrames } = outcomesOf(reader, streamed, NOT_RECORDED)
    assert.deepEqual(unexpected, [])
    assert.deepEqual(
      countBy(observations, ({ kind }) => kind),
      { best_bid_ask: events.bookTicker, candle: events.kline },
    )
    assert.deepEqual(listedFrames, { '"e":"trade"': events.trade, '"e":"depthUpdate"': events.depthUpdate })
  }
})

test('every recorded answer becomes observations', { skip }, () => {
  const answer = (name: string) => fixtureJson(VENUE, `nautilus/http_spot_market_${name}.json`)
  const trades = answer('agg_trades')
  assert.ok(WIRE.AggregateTradeRows.is(trades))
  assert.deepEqual(
    trades.slice(0, 1).map((row) => mapAggregateTrade(row, about)),
    [
      {
        kind: 'aggregate_trade',
        source: 'cexa',
        symbol: 'BTC',
        instrument: 'BTCUSDT',
        venueTimeMs: 1634944096633,
        receivedMs: 1,
        key: '966492862',
        id: 966492862,
        firstTradeId: 1111480471,
        lastTradeId: 1111480471,
        price: '60759.60000000',
        size: '0.00841000',
        side: 'buy',
      },
    ],
  )
  const klines = answer('klines')
  assert.ok(WIRE.KlineRows.is(klines))
  const candles = klines.map((row) => mapKlineRow(row, '1m', 1634943840000, about))
  assert.equal(candles[0]?.closed, true)
  assert.equal(candles[1]?.closed, false, 'a candle that the venue has not finished is not closed')
  assert.equal(candles[0]?.takerBuyQuoteVolume, '745719.41022840')
  const depth = answer('depth')
  assert.ok(WIRE.DepthReply.is(depth))
  assert.equal(depth.lastUpdateId, 14527958487)
  assert.ok(WIRE.ServerTimeReply.is(answer('time')))
  assert.ok(WIRE.ExchangeInfoReply.is(answer('exchange_info')))
  assert.ok(WIRE.ExchangeInfoReply.is(fixtureJson(VENUE, 'exchangeInfo-subset-20211012.json')))
  const recorded = frames().filter((frame) => frame.rest === 'depth')
  assert.equal(recorded.length, 1)
  assert.ok(recorded.every((frame) => WIRE.DepthReply.is(frame.msg)))
})

/** Kinds that no recording contains, from the examples in the documentation. */
const WRITTEN_FRAMES: unknown[] = [
  {
    stream: 'bnbbtc@aggTrade',
    data: {
      e: 'aggTrade',
      E: 1672515782136,
      s: 'BNBBTC',
      a: 12345,
      p: '0.001',
      q: '100',
      f: 100,
      l: 105,
      T: 1672515782136,
      m: true,
      M: true,
    },
  },
  { stream: '!serverShutdown', data: { e: 'serverShutdown', E: 1778000000000 } },
  { result: null, id: 1 },
  { code: 2, msg: 'Invalid request', id: 2 },
  { error: { code: 3, msg: 'Invalid JSON' }, id: 3 },
]

test('every branch of the wire types was taken by a recording, the rest by the documented examples', {
  skip,
}, () => {
  const recorded = [
    ...frames().map((frame) => frame.msg),
    ...REST_FILES.map((file) => fixtureJson(VENUE, file)),
  ]
  const coverages = Object.entries(WIRE).map(([name, type]) => ({ name, type, ...schemaCoverage(type) }))
  const feed = (values: unknown[]) => {
    for (const value of values) {
      const inner = WIRE.Envelope.is(value) ? [value, value.data] : [value]
      for (const part of inner) for (const each of coverages) if (each.type.is(part)) each.see(part)
    }
  }
  const unseen = () =>
    coverages.flatMap((each) => each.unseen().map((branch) => `${each.name}${branch}`)).sort()
  feed(recorded)
  assert.deepEqual(unseen(), [
    'BookTickerEvent.E present',
    'BookTickerEvent.T present',
    'ControlReply|0',
    'ControlReply|1',
    'ControlReply|2',
    'DepthReply.T present',
  ])
  feed(WRITTEN_FRAMES)
  assert.deepEqual(
    unseen().filter((branch) => branch.startsWith('ControlReply')),
    [],
    'the other branches belong to the futures and are taken there',
  )
  const used = coverages.filter((each) =>
    recorded.concat(WRITTEN_FRAMES).some((value) => isOrHolds(each.type, value)),
  )
  assert.deepEqual(used.map((each) => each.name).sort(), Object.keys(WIRE).sort(), 'no wire type is unused')
})

function isOrHolds(type: { is(value: unknown): boolean }, value: unknown): boolean {
  return type.is(value) || (WIRE.Envelope.is(value) && type.is(value.data))
}
