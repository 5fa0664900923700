/** Maps Hyperliquid's wire types to observations. */
import { decimal, decimalText, multiply } from '../../core/decimal.ts'
import type { CandleInterval } from '../../core/interval.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { dated } from '../adapter/dated.ts'
import type {
  CandleObservation,
  ExchangeBookObservation,
  FundingObservation,
  Level,
  OpenInterestObservation,
  TradeObservation,
} from '../observation.ts'
import { floorTo } from '../rest/history-range.ts'
import type { BookWire, CandleWire, ContextWire, FundingRowWire, LevelWire, TradeWire } from './wire.ts'

const HOUR_MS = 3_600_000

export interface About {
  readonly source: 'perpdex'
  readonly symbol: AssetSymbol
  readonly instrument: string
  readonly receivedMs: number
}

/** In the first weeks of the venue, funding was settled every eight hours. */
const fundingHours = dated(8, { from: '2023-06-08T00:00:00Z', use: 1 })

export function mapTrade(wire: TradeWire, about: About): TradeObservation {
  return {
    kind: 'trade',
    source: about.source,
    symbol: about.symbol,
    instrument: about.instrument,
    venueTimeMs: wire.time,
    receivedMs: about.receivedMs,
    key: `${wire.time}:${wire.tid}`,
    id: String(wire.tid),
    price: wire.px,
    size: wire.sz,
    side: wire.side === 'B' ? 'buy' : 'sell',
  }
}

function levelOf(wire: LevelWire): Level {
  return [wire.px, wire.sz, wire.n]
}

export function mapBook(wire: BookWire, about: About): ExchangeBookObservation {
  return {
    kind: 'exchange_book',
    ...about,
    venueTimeMs: wire.time,
    key: String(wire.time),
    bids: wire.levels[0].map(levelOf),
    asks: wire.levels[1].map(levelOf),
  }
}

/**
 * The venue does not mark a candle as closed; a REST row counts as closed once the venue's clock has passed its end.
 */
export function mapCandle(
  wire: CandleWire,
  interval: CandleInterval,
  venueNowMs: number | null,
  about: About,
): CandleObservation {
  return {
    kind: 'candle',
    ...about,
    venueTimeMs: venueNowMs === null ? about.receivedMs : wire.t,
    key: `${interval}:${wire.t}`,
    interval,
    openTimeMs: wire.t,
    closeTimeMs: wire.T,
    closed: venueNowMs !== null && wire.T < venueNowMs,
    open: wire.o,
    high: wire.h,
    low: wire.l,
    close: wire.c,
    volume: wire.v,
    tradeCount: wire.n,
    quoteVolume: null,
    takerBuyVolume: null,
    takerBuyQuoteVolume: null,
  }
}

/** A context carries no time, so it gets the receive time. */
export function mapOpenInterest(wire: ContextWire, about: About): OpenInterestObservation {
  const { openInterest, markPx } = wire.ctx
  return {
    kind: 'open_interest',
    ...about,
    venueTimeMs: about.receivedMs,
    key: null,
    openInterest,
    valueUsd: decimalText(multiply(decimal(openInterest), decimal(markPx))),
  }
}

export function mapFunding(wire: FundingRowWire, about: About): FundingObservation {
  const fundingTimeMs = floorTo(wire.time, HOUR_MS)
  return {
    kind: 'funding',
    ...about,
    venueTimeMs: wire.time,
    key: String(fundingTimeMs),
    fundingTimeMs,
    fundingRate: wire.fundingRate,
    nextFundingTimeMs: fundingTimeMs + fundingHours(fundingTimeMs) * HOUR_MS,
    markPrice: null,
    premium: wire.premium,
  }
}
