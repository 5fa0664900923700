/** Maps the shared wire types to observations. Pure functions: symbol and shape were checked before. */
import type { CandleInterval } from '../../core/interval.ts'
import type { Source } from '../../core/source.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { AggregateTradeObservation, BestBidAskObservation, CandleObservation } from '../observation.ts'
import type { AggregateTradeRowWire, BookTickerEventWire, KlineEventWire, KlineRowWire } from './wire.ts'

/** What a message is about and when it was received. */
export interface About {
  readonly source: Source
  readonly symbol: AssetSymbol
  readonly instrument: string
  readonly receivedMs: number
}

/** If the buyer was the maker, the seller was the aggressor. */
const aggressor = (buyerIsMaker: boolean) => (buyerIsMaker ? 'sell' : 'buy')

export function mapAggregateTrade(wire: AggregateTradeRowWire, about: About): AggregateTradeObservation {
  return {
    kind: 'aggregate_trade',
    source: about.source,
    symbol: about.symbol,
    instrument: about.instrument,
    venueTimeMs: wire.T,
    receivedMs: about.receivedMs,
    key: String(wire.a),
    id: wire.a,
    firstTradeId: wire.f,
    lastTradeId: wire.l,
    price: wire.p,
    size: wire.q,
    side: aggressor(wire.m),
  }
}

export function mapKlineEvent(
  wire: KlineEventWire,
  interval: CandleInterval,
  about: About,
): CandleObservation {
  const kline = wire.k
  return {
    kind: 'candle',
    ...about,
    venueTimeMs: wire.E,
    key: `${interval}:${kline.t}`,
    interval,
    openTimeMs: kline.t,
    closeTimeMs: kline.T,
    closed: kline.x,
    open: kline.o,
    high: kline.h,
    low: kline.l,
    close: kline.c,
    volume: kline.v,
    tradeCount: kline.n,
    quoteVolume: kline.q,
    takerBuyVolume: kline.V,
    takerBuyQuoteVolume: kline.Q,
  }
}

/** A REST row does not show whether it is still open, so the venue's clock decides. */
export function mapKlineRow(
  row: KlineRowWire,
  interval: CandleInterval,
  venueNowMs: number,
  about: About,
): CandleObservation {
  const [
    openTimeMs,
    open,
    high,
    low,
    close,
    volume,
    closeTimeMs,
    quoteVolume,
    tradeCount,
    buyBase,
    buyQuote,
  ] = row
  return {
    kind: 'candle',
    ...about,
    venueTimeMs: openTimeMs,
    key: `${interval}:${openTimeMs}`,
    interval,
    openTimeMs,
    closeTimeMs,
    closed: closeTimeMs < venueNowMs,
    open,
    high,
    low,
    close,
    volume,
    tradeCount,
    quoteVolume,
    takerBuyVolume: buyBase,
    takerBuyQuoteVolume: buyQuote,
  }
}

/** A spot quote has no time; it gets the receive time until the reader knows the venue's. */
export function mapBookTicker(wire: BookTickerEventWire, about: About): BestBidAskObservation {
  return {
    kind: 'best_bid_ask',
    ...about,
    venueTimeMs: wire.T ?? wire.E ?? about.receivedMs,
    key: String(wire.u),
    bid: [wire.b, wire.B],
    ask: [wire.a, wire.A],
    updateId: wire.u,
  }
}
