/** Marks the books, trades, candles and open interest of a symbol's prediction markets as final. */
import { type CandleInterval, candleStart } from '../../core/interval.ts'
import { MARKET_TYPES } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { SeriesStore } from '../../store/series.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { type PredictionPlan, snapshotFeed } from './market-feeds.ts'

export function finalizeMarkets(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  writer: RowWriter
  series: SeriesStore
  /** No book before this instant will turn out to be missing. */
  booksMs: number
  /** No trade before this instant will be found. */
  tradesMs: number
  /** Every candle before this instant is closed. */
  closedTo: (interval: CandleInterval) => number
}): void {
  const { plan, symbol, booksMs, tradesMs } = options
  for (const type of MARKET_TYPES) options.writer.final(snapshotFeed(plan, symbol, type), booksMs)
  options.writer.final(feedOf('trades', plan.source, symbol), tradesMs)
  for (const interval of COARSE_INTERVALS) {
    const beforeMs = candleStart(Math.min(tradesMs, options.closedTo(interval)), interval)
    options.writer.final(candleFeed(plan.source, symbol, interval), beforeMs)
    if (plan.hasOpenInterest)
      options.writer.final(feedOf('open_interest', plan.source, symbol, interval), booksMs)
  }
}
