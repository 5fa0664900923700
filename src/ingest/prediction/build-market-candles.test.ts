import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildMarketCandles, type MarketTrade, rollUpMarketCandles } from '../../core/market-candles.ts'
import { createMarketCandleBuilder } from './build-market-candles.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T10:00:00Z')
const print = (minute: number, price: string, size = '10'): MarketTrade => ({
  timeMs: START_MS + minute * MINUTE_MS,
  price,
  size,
})
const PRINTS = [print(1, '0.4'), print(3, '0.6'), print(7, '0.3', '5'), print(16, '0.9')]
const MIDS = [{ timeMs: START_MS + 11 * MINUTE_MS, price: '0.99' }]

test('bars rolled up from bars of 5m are those of the prints themselves', () => {
  const options = { trades: PRINTS, mids: MIDS, volume: 'money' } as const
  const finer = buildMarketCandles({ ...options, interval: '5m' })
  for (const interval of ['15m', '1h'] as const)
    assert.deepEqual(rollUpMarketCandles(interval, finer), buildMarketCandles({ ...options, interval }))
})

test('a print that comes late changes its bar and every bar above it, and only those are given again', () => {
  const bars = createMarketCandleBuilder('pieces')
  for (const each of PRINTS) bars.print(each)
  bars.take()
  assert.deepEqual(bars.take(), [])
  bars.print(print(2, '0.8', '1'))
  const taken = bars.take()
  assert.deepEqual(
    taken.map(({ interval }) => interval),
    ['5m', '15m', '1h', '4h', '1d'],
  )
  assert.equal(taken[0]?.bar.high, '0.8')
  assert.equal(taken[0]?.bar.volume, '21')
  assert.equal(taken[2]?.bar.volume, '36')
})

test('a stored bar is joined by prints that are found later; one of the venue holds them already', () => {
  const [stored] = buildMarketCandles({
    interval: '5m',
    trades: PRINTS.slice(0, 2),
    mids: [],
    volume: 'money',
  })
  assert.ok(stored)
  for (const isWhole of [false, true]) {
    const bars = createMarketCandleBuilder('money')
    bars.fix(stored, isWhole)
    bars.print(print(2, '0.1', '10'))
    const bar = bars.at(START_MS, '5m')
    assert.equal(bar?.low, isWhole ? '0.4' : '0.1')
    assert.equal(bar?.volume, isWhole ? '10' : '11')
    assert.equal(bar?.open, '0.4')
  }
})

test('midpoints that are asked for later take their place in time', () => {
  const bars = createMarketCandleBuilder('money')
  bars.mid({ timeMs: 100_000, price: '0.5' })
  bars.mid({ timeMs: 110_000, price: '0.6' })
  for (const [timeMs, price] of [
    [10_000, '0.6'],
    [60_000, '0.3'],
    [70_000, '0.7'],
  ] as const)
    bars.mid({ timeMs, price })
  const [taken] = bars.take()
  assert.deepEqual(
    [taken?.bar.open, taken?.bar.high, taken?.bar.low, taken?.bar.close],
    ['0.6', '0.7', '0.3', '0.6'],
  )
})
