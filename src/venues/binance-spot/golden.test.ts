import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvRows, recordedTrades, withoutFixtures } from '../../../test/venues/fixtures.ts'
import { add, compare, type Decimal, decimal, decimalText, multiply, ZERO } from '../../core/decimal.ts'
import { candleStart } from '../../core/interval.ts'
import { mapKlineRow } from '../binance/mapper.ts'
import { KlineRows } from '../binance/wire.ts'
import type { CandleObservation, TradeObservation } from '../observation.ts'

const skip = withoutFixtures('binance-spot')
const about = { source: 'cexa', symbol: 'BTC', instrument: 'BTCUSDT' } as const
const TRADES = 'btcusdt-trade-stream-20240808T235413Z-20240809T000504Z.csv'
const KLINES = 'btcusdt-klines-5m-20240808-20240809.csv'

const sum = (values: Decimal[]) => values.reduce(add, ZERO)
const quote = (trade: TradeObservation) => multiply(decimal(trade.price), decimal(trade.size))
const plain = (text: string | null | undefined) => decimalText(decimal(text ?? ''))

function publishedKlines(): CandleObservation[] {
  const rows: unknown = csvRows('binance-spot', KLINES).map((row) => {
    const cells = Object.values(row)
    return cells.map((cell, index) => (index === 0 || index === 6 || index === 8 ? Number(cell) : cell))
  })
  assert.ok(KlineRows.is(rows))
  return rows.map((row) => mapKlineRow(row, '5m', Number.MAX_SAFE_INTEGER, { ...about, receivedMs: 0 }))
}

test('the recorded trades are whole: 19,904 of them, no id missing, none twice', { skip }, () => {
  const ids = recordedTrades('binance-spot', TRADES, about).map((trade) => Number(trade.id))
  assert.equal(ids.length, 19_904)
  assert.ok(ids.every((id, index) => index === 0 || id === (ids[index - 1] ?? 0) + 1))
})

test('the recorded trades add up to the published klines in all nine columns, to the last digit', {
  skip,
}, () => {
  const trades = recordedTrades('binance-spot', TRADES, about)
  const klines = publishedKlines()
  for (const openTimeMs of [1723161300000, 1723161600000]) {
    const candle = klines.find((kline) => kline.openTimeMs === openTimeMs)
    const own = trades.filter((trade) => candleStart(trade.venueTimeMs, '5m') === openTimeMs)
    const bought = own.filter((trade) => trade.side === 'buy')
    const byPrice = own.map((trade) => decimal(trade.price)).sort(compare)
    const built = {
      open: plain(own[0]?.price),
      high: decimalText(byPrice.at(-1) ?? ZERO),
      low: decimalText(byPrice[0] ?? ZERO),
      close: plain(own.at(-1)?.price),
      volume: decimalText(sum(own.map((trade) => decimal(trade.size)))),
      quoteVolume: decimalText(sum(own.map(quote))),
      tradeCount: own.length,
      takerBuyVolume: decimalText(sum(bought.map((trade) => decimal(trade.size)))),
      takerBuyQuoteVolume: decimalText(sum(bought.map(quote))),
    }
    assert.deepEqual(built, {
      open: plain(candle?.open),
      high: plain(candle?.high),
      low: plain(candle?.low),
      close: plain(candle?.close),
      volume: plain(candle?.volume),
      quoteVolume: plain(candle?.quoteVolume),
      tradeCount: candle?.tradeCount,
      takerBuyVolume: plain(candle?.takerBuyVolume),
      takerBuyQuoteVolume: plain(candle?.takerBuyQuoteVolume),
    })
  }
})
