import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildMarketCandles, type MarketTrade, rollUpMarketCandles } from '../../core/market-candles.ts'
import { MarketCandleBuilder } from './build-market-candles.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T10:00:00Z')
const trade = (minute: number, price: string, size = '10'): MarketTrade => ({
  timeMs: START_MS + minute * MINUTE_MS,
  price,
  size,
})
const TRADES = [trade(1, '0.4'), trade(3, '0.6'), trade(7, '0.3', '5'), trade(16, '0.9')]
const MIDS = [{ timeMs: START_MS + 11 * MINUTE_MS, price: '0.99' }]

test('candles rolled up from candles of 5m are those of the trades themselves', () => {
  const options = { trades: TRADES, mids: MIDS, volume: 'money' } as const
  const finer = buildMarketCandles({ ...options, interval: '5m' })
  for (const interval of ['15m', '1h'] as const)
    assert.deepEqual(rollUpMarketCandles(interval, finer), buildMarketCandles({ ...options, interval }))
})

test('a trade that comes late changes its candle and every candle above it, and only those are given again', () => {
  const candles = new MarketCandleBuilder('pieces')
  for (const each of TRADES) candles.trade(each)
  candles.take()
  assert.deepEqual(candles.take(), [])
  candles.trade(trade(2, '0.8', '1'))
  const taken = candles.take()
  assert.deepEqual(
    taken.map(({ interval }) => interval),
    ['5m', '15m', '1h', '4h', '1d'],
  )
  assert.equal(taken[0]?.candle.high, '0.8')
  assert.equal(taken[0]?.candle.volume, '21')
  assert.equal(taken[2]?.candle.volume, '36')
})

test('a stored candle is joined by trades that are found later; one of the venue holds them already', () => {
  const [stored] = buildMarketCandles({
    interval: '5m',
    trades: TRADES.slice(0, 2),
    mids: [],
    volume: 'money',
  })
  assert.ok(stored)
  for (const isWhole of [false, true]) {
    const candles = new MarketCandleBuilder('money')
    candles.fix(stored, isWhole)
    candles.trade(trade(2, '0.1', '10'))
    const candle = candles.at(START_MS, '5m')
    assert.equal(candle?.low, isWhole ? '0.4' : '0.1')
    assert.equal(candle?.volume, isWhole ? '10' : '11')
    assert.equal(candle?.open, '0.4')
  }
})

test('a stored candle that is final is given again only if a trade changes it', () => {
  const [stored] = buildMarketCandles({ interval: '5m', trades: TRADES, mids: [], volume: 'money' })
  assert.ok(stored)
  const candles = new MarketCandleBuilder('money')
  candles.fix({ ...stored, volume: '659.0724757333332' }, false, { finalBeforeMs: START_MS + 5 * MINUTE_MS })
  assert.deepEqual(candles.take(), [])
  candles.trade(trade(6, '0.5'))
  assert.deepEqual(
    candles.take().map(({ interval, candle }) => [interval, candle.openTimeMs - START_MS, candle.volume]),
    [
      ['5m', 5 * MINUTE_MS, '5'],
      ...['15m', '1h', '4h', '1d'].map((interval) => [
        interval,
        ...(interval === '4h' ? [-2 * 60 * MINUTE_MS] : interval === '1d' ? [-10 * 60 * MINUTE_MS] : [0]),
        '664.0724757333332',
      ]),
    ],
  )
  candles.trade(trade(2, '0.8'))
  assert.equal(candles.take()[0]?.candle.volume, '667.0724757333332')
})

test('midpoints that are requested later take their place in time', () => {
  const candles = new MarketCandleBuilder('money')
  candles.mid({ timeMs: 100_000, price: '0.5' })
  candles.mid({ timeMs: 110_000, price: '0.6' })
  for (const [timeMs, price] of [
    [10_000, '0.6'],
    [60_000, '0.3'],
    [70_000, '0.7'],
  ] as const)
    candles.mid({ timeMs, price })
  const [taken] = candles.take()
  assert.deepEqual(
    [taken?.candle.open, taken?.candle.high, taken?.candle.low, taken?.candle.close],
    ['0.6', '0.7', '0.3', '0.6'],
  )
})

test('trades in any order, taken in between, give the candles of all trades in order of time', () => {
  const minutes = [31, 2, 2.5, 47, 3, 31.5, 1, 64, 62, 5, 900, 64.5, 0, 301]
  const trades = minutes.map((minute, index) =>
    trade(minute, `0.${10 + ((index * 7) % 80)}`, `${index + 1}.50`),
  )
  const candles = new MarketCandleBuilder('money')
  for (const each of trades) {
    candles.trade(each)
    candles.take()
  }
  for (const interval of ['5m', '15m', '1h', '4h', '1d'] as const)
    for (const candle of buildMarketCandles({ interval, trades, mids: [], volume: 'money' }))
      assert.deepEqual(candles.at(candle.openTimeMs, interval), candle)
})

test('block trades of 5 minutes without a price are in the volume of the longer candles', () => {
  for (const minutes of [
    [1, 7],
    [7, 1],
  ]) {
    const [priced = 0, blocked = 0] = minutes
    const trades = [trade(priced, '0.4'), { ...trade(blocked, '0.9', '7'), isBlock: true }]
    const candles = new MarketCandleBuilder('pieces')
    for (const each of trades) {
      candles.trade(each)
      candles.take()
    }
    assert.equal(candles.at(START_MS + blocked * MINUTE_MS, '5m'), undefined)
    for (const interval of ['15m', '1h', '1d'] as const) {
      const [candle] = buildMarketCandles({ interval, trades, mids: [], volume: 'pieces' })
      assert.equal(candle?.volume, '17')
      assert.deepEqual(candles.at(START_MS, interval), candle)
    }
    candles.mid({ timeMs: START_MS + (blocked + 1) * MINUTE_MS, price: '0.5' })
    assert.equal(candles.at(START_MS + blocked * MINUTE_MS, '5m')?.volume, '7')
    assert.equal(candles.at(START_MS, '1h')?.volume, '17', 'counted once')
  }
})
