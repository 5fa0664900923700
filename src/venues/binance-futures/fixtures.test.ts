import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  csvRows,
  fixtureFiles,
  fixtureJson,
  type RecordedFrame,
  recordedFrames,
  recordedTrades,
  withoutFixtures,
} from '../../../test/venues/fixtures.ts'
import { anyInstrument, countBy, eventOf, type Listed, outcomesOf } from '../../../test/venues/read-frame.ts'
import { schemaCoverage } from '../../../test/venues/schema-coverage.ts'
import { decimal, decimalText } from '../../core/decimal.ts'
import { createSymbolMap } from '../adapter/symbol-map.ts'
import { mapKlineRow } from '../binance/mapper.ts'
import * as shared from '../binance/wire.ts'
import { binanceFuturesDescription } from './describe.ts'
import { createFuturesReader, mapFundingRows, mapOpenInterestRow } from './mapper.ts'
import * as own from './wire.ts'

const WIRE = { ...shared, ...own }

const VENUE = 'binance-futures'
const skip = withoutFixtures(VENUE)
const STREAM_FILES = [
  'btcusdt-raw-book-sync-start-20240808.jsonl',
  'cryptofeed-aggtrade-kline1m-depth-bookticker-20210722.jsonl',
  'live-frames-2022-2026.jsonl',
  'tardis-messages-2019-2021.jsonl',
]
const OTHER_FILES = [
  'btcusdt-funding-2020-excerpt.csv',
  'btcusdt-klines-1m-20240808T2350Z.csv',
  'btcusdt-trade-stream-20240808T235415Z-20240808T235959Z.csv',
  'ethusdt-trade-stream-20240808T235415Z-20240808T235959Z.csv',
  'exchangeInfo-subset-20210722.json',
  'live-rest-2026-07.json',
  'doc-samples/http_futures_market_funding_rate.json',
  'doc-samples/http_futures_market_open_interest.json',
  'doc-samples/http_futures_market_open_interest_historical.json',
  'doc-samples/http_futures_market_premium_index.json',
  'doc-samples/http_futures_market_taker_long_short_ratio.json',
]

/** Frames that do not become an observation, and why. */
const LISTED: Listed[] = [
  {
    holds: '"e":"aggTrade","E":1568693103463',
    outcome: 'refused',
    why: 'the recording was stripped of the aggregate id `a`, which is the identity of the trade',
  },
  {
    holds: '"generated":true',
    outcome: 'refused',
    why: 'made by another recorder out of a REST answer, without its time; no frame of the venue',
  },
  ...['trade', 'depthUpdate', 'markPriceUpdate'].map(
    (event): Listed => ({
      holds: `"e":"${event}"`,
      outcome: 'ignored',
      why: 'a stream that no plan records',
    }),
  ),
]
/** Answers that the adapter does not use. */
const UNUSED_ANSWERS = {
  'GET /futures/data/takerlongshortRatio (one row, timestamp elided at source)':
    'a buy/sell ratio; the taker-buy ratio comes from the klines',
  'GET /fapi/v2/ticker/price?symbol=BTCUSDT': 'last prices come from trades',
  'GET /fapi/v1/openInterest?symbol=BTCUSDT': 'only the five-minute samples are recorded',
  'GET /fapi/v1/ticker/bookTicker?symbol=BTCUSDT': 'best bid and ask come from the stream',
}

const frames = (): RecordedFrame[] => STREAM_FILES.flatMap((file) => recordedFrames(VENUE, file))
const about = { source: 'cexa_futures', symbol: 'BTC', instrument: 'BTCUSDT', receivedMs: 1 } as const
const liveAnswers = () => fixtureJson(VENUE, 'live-rest-2026-07.json') as Record<string, unknown>

test('every recorded file is known to these tests', { skip }, () => {
  assert.deepEqual(fixtureFiles(VENUE), [...STREAM_FILES, ...OTHER_FILES].sort())
})

test('every recorded frame becomes an observation, or is listed with the reason', { skip }, () => {
  const streamed = frames().filter((frame) => frame.rest === undefined)
  const events = countBy(streamed, eventOf)
  assert.deepEqual(events, {
    depthUpdate: 812,
    bookTicker: 1_053,
    trade: 117,
    kline: 67,
    aggTrade: 93,
    forceOrder: 4,
    markPriceUpdate: 3,
    openInterest: 1,
  })
  const { observations, unexpected, unused, listedFrames } = outcomesOf(
    createFuturesReader(anyInstrument),
    streamed,
    LISTED,
  )
  assert.deepEqual(unexpected, [])
  assert.deepEqual(unused, [], 'a listed frame that is read after all is taken off the list')
  assert.deepEqual(
    countBy(observations, ({ kind }) => kind),
    { best_bid_ask: events.bookTicker, candle: events.kline, aggregate_trade: 92, liquidation: 4 },
  )
  assert.deepEqual(listedFrames, {
    '"e":"depthUpdate"': events.depthUpdate,
    '"e":"trade"': events.trade,
    '"e":"markPriceUpdate"': events.markPriceUpdate,
    '"e":"aggTrade","E":1568693103463': 1,
    '"generated":true': 1,
  })
})

test('with the recorded symbols only ours pass, and foreign ones are ignored, not refused', { skip }, () => {
  const reader = createFuturesReader(createSymbolMap(binanceFuturesDescription.symbols))
  const text = (msg: unknown) => reader.read(JSON.stringify(msg), 1)
  const cryptofeed = recordedFrames(VENUE, 'cryptofeed-aggtrade-kline1m-depth-bookticker-20210722.jsonl')
  assert.ok(cryptofeed.every((frame) => text(frame.msg).kind === 'ignored'))
  const ilv = recordedFrames(VENUE, 'live-frames-2022-2026.jsonl').at(-1)
  assert.deepEqual(text(ilv?.msg), { kind: 'ignored', reason: 'symbol not recorded' })
})

test('every recorded answer becomes observations, or is listed with the reason', { skip }, () => {
  const answers = liveAnswers()
  const handled: Record<string, (value: unknown) => void> = {
    'GET /fapi/v1/premiumIndex?symbol=BTCUSDT': (value) => assert.ok(WIRE.PremiumIndexReply.is(value)),
    'GET /fapi/v1/fundingRate?symbol=BTCUSDT&limit=1': (value) => {
      assert.ok(WIRE.FundingRows.is(value))
      const [row] = mapFundingRows(value, about)
      assert.deepEqual(
        [row?.fundingTimeMs, row?.fundingRate, row?.nextFundingTimeMs, row?.markPrice],
        [1783296000000, '0.00007700', 1783324800000, '63625.51176812'],
      )
    },
    'GET /futures/data/openInterestHist?symbol=BTCUSDT (one row)': (value) => {
      const rows: unknown = [value]
      assert.ok(WIRE.OpenInterestRows.is(rows))
      assert.equal(rows.map((row) => mapOpenInterestRow(row, about))[0]?.valueUsd, '6653666199.09')
    },
    'GET /fapi/v1/klines?symbol=BTCUSDT&interval=1d&limit=1': (value) => {
      assert.ok(WIRE.KlineRows.is(value))
      const candle = value.map((row) => mapKlineRow(row, '1d', 1783307788007, about))[0]
      assert.equal(candle?.closed, false)
      assert.equal(candle?.takerBuyVolume, '9527.179')
    },
  }
  assert.deepEqual(
    Object.keys(answers).sort(),
    [...Object.keys(handled), ...Object.keys(UNUSED_ANSWERS)].sort(),
  )
  for (const [name, check] of Object.entries(handled)) check(answers[name])
  const [depth] = frames().filter((frame) => frame.rest === 'depth')
  assert.ok(WIRE.DepthReply.is(depth?.msg))
  assert.equal(depth.msg.T, 1723161256493)
})

test('documented examples that differ from live answers are read too', { skip }, () => {
  const sample = (name: string) => fixtureJson(VENUE, `doc-samples/http_futures_market_${name}.json`)
  const openInterest = sample('open_interest_historical')
  assert.ok(WIRE.OpenInterestRows.is(openInterest))
  assert.equal(openInterest.map((row) => mapOpenInterestRow(row, about))[0]?.venueTimeMs, 1583127900000)
  const funding = sample('funding_rate')
  assert.ok(WIRE.FundingRows.is(funding))
  assert.deepEqual(
    mapFundingRows(funding, about).map((row) => row.nextFundingTimeMs),
    [1570636800000, 1570665600000],
  )
  assert.ok(WIRE.PremiumIndexReply.is(sample('premium_index')))
})

test('settled funding is keyed by its hour, whatever the jitter of its stamp', { skip }, () => {
  const rows = csvRows(VENUE, 'btcusdt-funding-2020-excerpt.csv').map((row) => ({
    symbol: 'BTCUSDT',
    fundingTime: Date.parse((row.fundingTime ?? '').replace(' ', 'T')),
    // The author of the table wrote small rates with an exponent; the venue does not.
    fundingRate: decimalText(decimal(row.fundingRate ?? '')),
  }))
  assert.ok(WIRE.FundingRows.is(rows))
  assert.ok(rows.some((row) => row.fundingTime % 1_000 !== 0))
  for (const row of mapFundingRows(rows, about)) assert.equal(row.fundingTimeMs % (8 * 3_600_000), 0)
})

test('the recorded futures trades are whole and read as trades', { skip }, () => {
  const file = 'ethusdt-trade-stream-20240808T235415Z-20240808T235959Z.csv'
  const where = { source: 'cexa_futures', symbol: 'ETH', instrument: 'ETHUSDT' } as const
  const ids = recordedTrades(VENUE, file, where).map((trade) => Number(trade.id))
  assert.equal(ids.length, 14_076)
  assert.ok(ids.every((id, index) => index === 0 || id === (ids[index - 1] ?? 0) + 1))
})

/** Examples from the documentation for what no recording contains. */
const WRITTEN: unknown[] = [
  { e: 'forceOrder', E: 1, st: 2, o: { s: 'BTCUSD_PERP', S: 'BUY', q: '1', p: '1', ap: '1', z: '1', T: 1 } },
  [{ symbol: 'BTCUSDT', fundingTime: 1, fundingRate: '0.1', markPrice: '', rateType: 'Regular' }],
  { symbol: 'X', markPrice: '1', indexPrice: '1', lastFundingRate: '', nextFundingTime: 0, time: 1 },
]

test('every branch of the futures wire types was taken', { skip }, () => {
  const folder = 'doc-samples/http_futures_market_'
  const documented = ['funding_rate', 'open_interest_historical'].map((name) =>
    fixtureJson(VENUE, `${folder}${name}.json`),
  )
  const answers = Object.values(liveAnswers()).flatMap((value) => [value, [value]])
  const seen = [...frames().map((frame) => frame.msg), ...answers, ...documented]
  const own = ['ForceOrderEvent', 'PremiumIndexReply', 'FundingRows', 'OpenInterestRows']
  const shared = ['BookTickerEvent', 'DepthReply', 'KlineEvent', 'AggregateTradeEvent', 'KlineRows']
  // The other types are the same for both products and are covered by the recordings of the spot market.
  assert.deepEqual(
    Object.keys(WIRE).filter((name) => ![...own, ...shared].includes(name)),
    ['AggregateTradeRows', 'ControlReply', 'Envelope', 'ServerTimeReply', 'ShutdownEvent'],
  )
  const coverages = Object.entries(WIRE)
    .filter(([name]) => own.includes(name) || shared.includes(name))
    .map(([name, type]) => ({ name, type, ...schemaCoverage(type) }))
  const feed = (values: unknown[]) => {
    for (const value of values) {
      const part = WIRE.Envelope.is(value) ? value.data : value
      for (const each of coverages) if (each.type.is(part)) each.see(part)
    }
  }
  const unseen = () =>
    coverages.flatMap((each) => each.unseen().map((branch) => `${each.name}${branch}`)).sort()
  feed(seen)
  assert.deepEqual(unseen(), [
    'BookTickerEvent.E absent',
    'BookTickerEvent.T absent',
    'ForceOrderEvent.st present',
    'FundingRows[].markPrice|1',
    'FundingRows[].rateType present',
    'PremiumIndexReply.lastFundingRate|1',
  ])
  feed(WRITTEN)
  assert.deepEqual(
    unseen().filter((branch) => own.some((name) => branch.startsWith(name))),
    [],
    'what is left is spot’s side of a shared type',
  )
})
