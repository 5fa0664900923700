import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SeededRandom, seededRandom } from '../../../test/seeded-random.ts'
import { add, decimal, decimalText, ZERO } from '../../core/decimal.ts'
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import {
  buildMarketCandles,
  type MarketCandle,
  type MarketTrade,
  rollUpMarketCandles,
} from '../../core/market-candles.ts'
import type { Candle } from './candle.ts'
import { createRollUp } from './roll-up-candles.ts'

const MINUTE_MS = INTERVAL_MS['1m']
const FROM_MS = Date.UTC(2026, 6, 24)
const LENGTH_MS = 8 * INTERVAL_MS['1h']
const COARSE = ['5m', '15m', '1h', '4h'] as const

interface Fill {
  readonly timeMs: number
  readonly price: string
  readonly size: string
}

/** Some minutes are busy and most are empty; the price moves even while nothing is traded. */
function thinTrades(random: SeededRandom): Fill[] {
  const fills: Fill[] = []
  let units = random.int(150_000, 160_000)
  let timeMs = FROM_MS
  for (;;) {
    timeMs += random() < 0.3 ? random.int(0, 20_000) : random.int(30_000, 12 * MINUTE_MS)
    if (timeMs >= FROM_MS + LENGTH_MS) return fills
    units += random.int(-60, 60)
    fills.push({
      timeMs,
      price: decimalText({ units: BigInt(units), scale: 8 }),
      size: `0.${random.int(1, 999)}`,
    })
  }
}

/**
 * A candle computed directly from its trades. For a time without trades, the venue publishes a flat one at the last
 * price.
 */
function direct(fills: readonly Fill[], openMs: number, lengthMs: number, before: string): Candle {
  const own = fills.filter(({ timeMs }) => timeMs >= openMs && timeMs < openMs + lengthMs)
  const last = fills.findLast(({ timeMs }) => timeMs < openMs)?.price ?? before
  const prices = own.length === 0 ? [last] : own.map(({ price }) => price)
  const ordered = prices.toSorted((a, b) => Number(a) - Number(b))
  return {
    openMs,
    open: prices[0] ?? last,
    high: ordered.at(-1) ?? last,
    low: ordered[0] ?? last,
    close: prices.at(-1) ?? last,
    volume: own.reduce((sum, { size }) => add(sum, decimal(size)), ZERO),
    count: own.length,
    ...{ quote: null, buyVolume: null, buyQuote: null, buys: null, sells: null },
  }
}

const figures = (interval: CandleInterval, candle: Candle) =>
  [
    interval,
    candle.openMs,
    candle.open,
    candle.high,
    candle.low,
    candle.close,
    decimalText(candle.volume),
    candle.count,
  ].join(' ')

test('candles rolled up from minutes of a thin market are those of its trades, and flat only where there was no trade', (t) => {
  const random = seededRandom(t)
  for (let round = 0; round < 5; round++) {
    const fills = thinTrades(random)
    const before = decimalText({ units: BigInt(random.int(150_000, 160_000)), scale: 8 })
    const candlesOf = (interval: CandleInterval) =>
      Array.from({ length: LENGTH_MS / INTERVAL_MS[interval] }, (_, at) =>
        direct(fills, FROM_MS + at * INTERVAL_MS[interval], INTERVAL_MS[interval], before),
      )
    const minutes = candlesOf('1m')
    const flat = minutes.filter(({ count }) => count === 0).length
    assert.ok(flat > 0 && flat < minutes.length)
    const closing = createRollUp({ intervals: COARSE, fromMs: FROM_MS })
    const rolled: string[] = []
    for (let at = 0; at < minutes.length; ) {
      const known = minutes.slice(at, at + random.int(1, 7))
      at += known.length
      // Open candles follow the same rule as closed ones.
      const open = closing.open(known)
      for (const { interval, candle } of open) {
        const toMs = FROM_MS + at * MINUTE_MS
        const lengthMs = Math.min(INTERVAL_MS[interval], toMs - candle.openMs)
        assert.equal(
          figures(interval, candle),
          figures(interval, direct(fills, candle.openMs, lengthMs, before)),
        )
      }
      for (const { interval, candle } of closing.advance(known, FROM_MS + at * MINUTE_MS))
        rolled.push(figures(interval, candle))
    }
    const wanted = COARSE.flatMap((interval) =>
      candlesOf(interval).map((candle) => figures(interval, candle)),
    )
    assert.deepEqual(rolled.sort(), wanted.sort())
  }
})

test('a range that is not known spoils every candle that it touches, whichever is being built when it is told', () => {
  const minute = (at: number) => direct([], FROM_MS + at * MINUTE_MS, MINUTE_MS, '1')
  const minutes = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => minute(from + i))
  const openOf = ({ interval, candle }: { interval: string; candle: Candle }) =>
    `${interval} ${(candle.openMs - FROM_MS) / MINUTE_MS}`
  const rollUp = createRollUp({ intervals: ['5m', '15m'], fromMs: FROM_MS })
  rollUp.spoil(FROM_MS, FROM_MS + 17 * MINUTE_MS)
  assert.deepEqual(rollUp.advance([], FROM_MS + 17 * MINUTE_MS), [])
  assert.deepEqual(rollUp.open(minutes(17, 22)).map(openOf), ['5m 20'])
  assert.deepEqual(rollUp.advance(minutes(17, 50), FROM_MS + 50 * MINUTE_MS).map(openOf), [
    ...['5m 20', '5m 25', '5m 30', '5m 35', '5m 40', '5m 45', '15m 30'],
  ])
})

test('candles of a thin prediction market roll up to those of its trades', (t) => {
  const random = seededRandom(t)
  const trades: MarketTrade[] = thinTrades(random)
  const mids = Array.from({ length: 400 }, () => ({
    timeMs: FROM_MS + random.int(0, LENGTH_MS - 1),
    price: decimalText({ units: BigInt(random.int(150_000, 160_000)), scale: 8 }),
  }))
  const build = (interval: CandleInterval, withMids: boolean) =>
    buildMarketCandles({ interval, trades: trades, mids: withMids ? mids : [], volume: 'pieces' })
  const traded = (candles: MarketCandle[]) => candles.filter(({ basis }) => basis === 'trade')
  for (const interval of COARSE)
    assert.deepEqual(traded(rollUpMarketCandles(interval, build('1m', true))), build(interval, false))
})
