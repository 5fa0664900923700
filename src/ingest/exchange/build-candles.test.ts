import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvRows, recordedTrades, withoutFixtures } from '../../../test/venues/fixtures.ts'
import { type Decimal, decimal, decimalText, subtract } from '../../core/decimal.ts'
import { createCandleBuilder, type TradeFact } from './build-candles.ts'
import { flowOf } from './build-flow.ts'
import type { Candle } from './candle.ts'
import { createRollUp } from './roll-up-candles.ts'

const MINUTE_MS = 60_000
const FIVE_MS = 5 * MINUTE_MS
/** The first of the two recorded candles that are complete. */
const FIRST_MS = 1_723_161_300_000
const skip = withoutFixtures('binance-spot')
const about = { source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT' } as const
const TRADES = 'btcusdt-trade-stream-20240808T235413Z-20240809T000504Z.csv'
const KLINES = 'btcusdt-klines-5m-20240808-20240809.csv'
const plain = (text: string) => decimalText(decimal(text))

const trade = (timeMs: number, price: string, size: string, side: 'buy' | 'sell' = 'buy'): TradeFact => ({
  ...{ timeMs, price, size, side, fills: 1 },
})
const text = (candle: Candle | undefined) =>
  candle === undefined
    ? undefined
    : [
        candle.open,
        candle.high,
        candle.low,
        candle.close,
        decimalText(candle.volume),
        candle.count,
        candle.buys,
        candle.sells,
      ].join(' ')

function recordedFacts(): TradeFact[] {
  return recordedTrades('binance-spot', TRADES, about).map((row) =>
    trade(row.venueTimeMs, row.price, row.size, row.side),
  )
}

function figures(candle: Candle): string[] {
  const exact = [candle.volume, candle.quote, candle.buyVolume, candle.buyQuote].map((value) =>
    value === null ? 'unknown' : decimalText(value),
  )
  return [...[candle.open, candle.high, candle.low, candle.close].map(plain), ...exact, String(candle.count)]
}

test('recorded trades become the published klines, to the last digit, directly and rolled up from minutes', {
  skip,
}, () => {
  const minutes = createCandleBuilder({ lengthMs: MINUTE_MS })
  const direct = createCandleBuilder({ lengthMs: FIVE_MS })
  const facts = recordedFacts()
  for (const fact of facts) {
    assert.ok(minutes.add(fact))
    assert.ok(direct.add(fact))
  }
  const firstMs = FIRST_MS
  const rollUp = createRollUp({ intervals: ['5m'], fromMs: firstMs })
  minutes.take(firstMs)
  const rolled = rollUp.advance(minutes.take(firstMs + 2 * FIVE_MS), firstMs + 2 * FIVE_MS)
  const published = csvRows('binance-spot', KLINES).map((row) => Object.values(row))
  for (const [index, openMs] of [firstMs, firstMs + FIVE_MS].entries()) {
    const row = published.find((cells) => Number(cells[0]) === openMs) ?? []
    const [, open, high, low, close, volume, , quote, count, buyVolume, buyQuote] = row
    const wanted = [open, high, low, close, volume, quote, buyVolume, buyQuote].map((cell) =>
      plain(cell ?? ''),
    )
    const own = direct.at(openMs)
    assert.ok(own !== undefined)
    assert.deepEqual(figures(own), [...wanted, String(count)])
    const coarse = rolled[index]?.candle
    assert.ok(coarse !== undefined)
    assert.deepEqual(figures(coarse), figures(own))
  }
})

test('flow follows from the same trades: both sides as the published klines have them, to the last digit', {
  skip,
}, () => {
  const published = csvRows('binance-spot', KLINES).map((row) => Object.values(row))
  const facts = recordedFacts()
  for (const openMs of [FIRST_MS, FIRST_MS + FIVE_MS]) {
    const builder = createCandleBuilder({ lengthMs: FIVE_MS })
    const own = facts.filter(({ timeMs }) => timeMs >= openMs && timeMs < openMs + FIVE_MS)
    for (const fact of own) builder.add(fact)
    const candle = builder.at(openMs)
    assert.ok(candle !== undefined)
    const row = published.find((cells) => Number(cells[0]) === openMs) ?? []
    const [volume, quote, buyVolume, buyQuote] = [5, 7, 9, 10].map((at) => decimal(row[at] ?? ''))
    assert.ok(volume && quote && buyVolume && buyQuote)
    const sellVolume = subtract(volume, buyVolume)
    const buys = own.filter(({ side }) => side === 'buy').length
    assert.ok(buys > 0 && buys < own.length)
    assert.deepEqual(flowOf(candle, true), {
      time: openMs,
      buyVolume: decimalText(buyVolume),
      sellVolume: decimalText(sellVolume),
      numBuys: buys,
      numSells: own.length - buys,
      vwapBuy: quotient(buyQuote, buyVolume),
      vwapSell: quotient(subtract(quote, buyQuote), sellVolume),
      closed: true,
    })
  }
})

/** Eight decimals, rounded half up, by long division of integers; independent of the division under test. */
function quotient(a: Decimal, b: Decimal): string {
  const scale = 10n ** 8n
  const [above, below] = [a.units * 10n ** BigInt(b.scale) * scale, b.units * 10n ** BigInt(a.scale)]
  const units = above / below + (2n * (above % below) >= below ? 1n : 0n)
  const text = `${units / scale}.${String(units % scale).padStart(8, '0')}`
  return text.replace(/\.?0+$/, '')
}

test('a trade belongs to the candle of its time: late ones change open and close only where they are first or last', () => {
  const builder = createCandleBuilder({ lengthMs: 1_000 })
  builder.add(trade(5_200, '10', '1'))
  builder.add(trade(5_800, '12', '1'))
  builder.add(trade(6_100, '13', '1'))
  builder.add(trade(5_500, '9', '1', 'sell'))
  builder.add(trade(5_100, '11', '1'))
  assert.equal(text(builder.at(5_000)), '11 12 9 12 4 4 3 1')
  assert.deepEqual(builder.take(6_000).map(text), ['11 12 9 12 4 4 3 1'])
  assert.equal(builder.add(trade(5_900, '99', '1')), false, 'its candle was taken')
  assert.equal(text(builder.at(6_000)), '13 13 13 13 1 1 1 0')
})

test('a coarser candle leaves when its last minute is known, and never with a gap in it', () => {
  const candle = (minute: number, price: string): Candle => ({
    ...{
      openMs: minute * MINUTE_MS,
      open: price,
      high: price,
      low: price,
      close: price,
      volume: decimal('1'),
    },
    ...{ count: 1, quote: null, buyVolume: null, buyQuote: null, buys: null, sells: null },
  })
  const rollUp = createRollUp({ intervals: ['5m', '15m'], fromMs: 0 })
  assert.deepEqual(rollUp.advance([candle(0, '5'), candle(1, '7'), candle(3, '6')], 4 * MINUTE_MS), [])
  const closed = rollUp.advance([candle(4, '4')], 5 * MINUTE_MS)
  assert.deepEqual(
    closed.map(({ interval, candle: each }) => [
      interval,
      each.openMs,
      each.open,
      each.high,
      each.low,
      each.close,
      each.count,
    ]),
    [['5m', 0, '5', '7', '4', '4', 4]],
  )
  rollUp.spoil(6 * MINUTE_MS, 7 * MINUTE_MS)
  assert.deepEqual(
    rollUp.advance([candle(5, '1'), candle(8, '2')], 10 * MINUTE_MS),
    [],
    'a minute is missing',
  )
  const last = rollUp.advance([candle(10, '3')], 15 * MINUTE_MS)
  assert.deepEqual(
    last.map(({ interval }) => interval),
    ['5m'],
    'the 15m candle has the same gap',
  )
  assert.deepEqual(
    rollUp
      .open([candle(15, '8'), candle(16, '9')])
      .map(({ interval, candle: each }) => [interval, each.openMs, each.close]),
    [
      ['5m', 15 * MINUTE_MS, '9'],
      ['15m', 15 * MINUTE_MS, '9'],
    ],
  )
})

test('a roll-up that begins in the middle of a candle does not publish that candle', () => {
  const rollUp = createRollUp({ intervals: ['5m'], fromMs: 2 * MINUTE_MS })
  assert.deepEqual(rollUp.advance([], 5 * MINUTE_MS), [])
})

test('candles are taken in the order of their time, whatever the order in which they began', () => {
  const builder = createCandleBuilder({ lengthMs: MINUTE_MS })
  for (const minute of [5, 2, 9, 3, 7]) builder.add(trade(minute * MINUTE_MS, '1', '1'))
  const take = (minute: number) => builder.take(minute * MINUTE_MS).map(({ openMs }) => openMs / MINUTE_MS)
  assert.equal(builder.oldestMs, 2 * MINUTE_MS)
  assert.deepEqual([take(4), builder.oldestMs], [[2, 3], 5 * MINUTE_MS])
  builder.add(trade(4 * MINUTE_MS, '1', '1'))
  assert.deepEqual([take(6), take(20), builder.size], [[4, 5], [7, 9], 0])
})
