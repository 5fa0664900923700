/** Maps Kalshi's messages to observations. Prices are those of yes. */
import type { CandleInterval } from '../../core/interval.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { MICRO, orderPriceOf } from '../../core/micro.ts'
import type { MarketInput, VenueStatus } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { parseTime } from '../../core/time.ts'
import type {
  ContractCandleObservation,
  MarketLeg,
  MarketObservation,
  MarketTickerObservation,
  OpenInterestObservation,
  TakerSide,
  TradeObservation,
} from '../observation.ts'
import { marketTypeOf, type Series } from './series.ts'
import type { MarketWire, RestTradeWire, TradeFieldsWire } from './wire.ts'

export interface About {
  readonly source: 'predmkt_b'
  readonly symbol: AssetSymbol
  readonly instrument: string
  readonly receivedMs: number
}

export function aboutOf(symbol: AssetSymbol, ticker: string, receivedMs: number): About {
  return { source: 'predmkt_b', symbol, instrument: ticker, receivedMs }
}

/** A contract has one order book, expressed as that of yes. */
export function legOf(ticker: string): MarketLeg {
  return { marketId: ticker, tokenId: null, outcome: 'yes' }
}

/** The venue's time of the event, in whichever form the frame has it. */
export function venueTimeOf({ ts_ms: ms, ts }: { ts_ms?: unknown; ts?: unknown }): number | undefined {
  if (typeof ms === 'number') return ms
  if (typeof ts === 'number') return ts * 1_000
  return typeof ts === 'string' ? parseTime(ts) : undefined
}

/**
 * Like `venueTimeOf`, for data that changes within a second: if the venue sends only whole seconds, the receive time is
 * used as far as it lies in that second.
 */
export function venueInstantOf(
  msg: { ts_ms?: unknown; ts?: unknown },
  receivedMs: number,
): number | undefined {
  const timeMs = venueTimeOf(msg)
  if (timeMs === undefined || typeof msg.ts_ms === 'number' || typeof msg.ts !== 'number') return timeMs
  return Math.min(Math.max(receivedMs, timeMs), timeMs + 999)
}

function takerSide(wire: TradeFieldsWire): TakerSide | undefined {
  if (wire.taker_book_side != null) return wire.taker_book_side === 'bid' ? 'buy' : 'sell'
  const outcome = wire.taker_outcome_side ?? wire.taker_side
  return outcome == null ? undefined : outcome === 'yes' ? 'buy' : 'sell'
}

/** Undefined if the venue does not name the taker's side. */
export function mapTrade(wire: TradeFieldsWire, timeMs: number, about: About): TradeObservation | undefined {
  const side = takerSide(wire)
  if (side === undefined) return undefined
  return {
    kind: 'trade',
    ...about,
    venueTimeMs: timeMs,
    key: wire.trade_id,
    id: wire.trade_id,
    price: wire.yes_price_dollars,
    size: wire.count_fp,
    side,
    leg: legOf(about.instrument),
    ...(wire.is_block_trade === true ? { isBlock: true } : {}),
  }
}

export function mapRestTrade(wire: RestTradeWire, about: About): TradeObservation | undefined {
  const timeMs = parseTime(wire.created_time)
  const trade = timeMs === undefined ? undefined : mapTrade(wire, timeMs, about)
  return trade === undefined ? undefined : { ...trade, isSwept: true }
}

/** `0` and the empty string both mean that there has been no trade. */
function priceOrNull(text: string | null | undefined): string | null {
  if (text === null || text === undefined || text === '') return null
  return Number(text) === 0 ? null : text
}

export function mapTicker(
  wire: { price_dollars?: string | null; volume_fp?: string | null; open_interest_fp?: string | null },
  timeMs: number,
  about: About,
): MarketTickerObservation {
  return {
    kind: 'market_ticker',
    ...about,
    venueTimeMs: timeMs,
    key: null,
    lastPrice: priceOrNull(wire.price_dollars),
    volume: wire.volume_fp ?? null,
    openInterest: wire.open_interest_fp ?? null,
  }
}

/** A contract pays at most one dollar, so the number of open contracts is also their value in dollars. */
export function mapOpenInterest(openInterest: string, timeMs: number, about: About): OpenInterestObservation {
  return {
    kind: 'open_interest',
    ...about,
    venueTimeMs: timeMs,
    key: null,
    openInterest,
    valueUsd: openInterest,
  }
}

const STATUSES: ReadonlyMap<string, VenueStatus> = new Map([
  ['initialized', 'open'],
  ['active', 'open'],
  ['inactive', 'open'],
  ['closed', 'closed'],
  ['determined', 'closed'],
  ['disputed', 'closed'],
  ['amended', 'closed'],
  ['finalized', 'resolved'],
  ['settled', 'resolved'],
])

/** Undefined for an unknown status or invalid times. */
export function mapMarket(wire: MarketWire, series: Series): MarketInput | undefined {
  const startTime = parseTime(wire.open_time) ?? Number.NaN
  const endTime = parseTime(wire.close_time) ?? Number.NaN
  const status = STATUSES.get(wire.status)
  if (status === undefined || !(endTime > startTime)) return undefined
  const isResolved = status === 'resolved'
  const result = wire.result ?? ''
  return {
    marketId: wire.ticker,
    source: 'predmkt_b',
    symbol: series.symbol,
    slug: wire.ticker.toLowerCase(),
    ticker: wire.ticker,
    conditionId: null,
    eventId: wire.event_ticker,
    question:
      [wire.title, wire.yes_sub_title].filter((part) => part != null && part !== '').join(' – ') || null,
    marketType: marketTypeOf(series.kind, startTime, endTime),
    startTime,
    endTime,
    active: wire.status === 'active',
    status,
    // A contract may also settle at a value in between; then neither side has won.
    winner: isResolved && (result === 'yes' || result === 'no') ? result : null,
    resolvedAt: isResolved ? timeOrNull(wire.settlement_ts) : null,
    tokens: [],
    createdAt: timeOrNull(wire.created_time),
    updatedAt: timeOrNull(wire.updated_time),
    // The venue tags series, not markets.
    tags: [],
    strike: wire.floor_strike ?? wire.cap_strike ?? null,
    // The strike of a quarter-hour contract is the mean price at its start; other strikes can be any price.
    referencePriceStart: series.kind === 'quarter_hour' ? (wire.floor_strike ?? null) : null,
    referencePriceEnd: numericOrNull(wire.expiration_value),
    volume: wire.volume_fp ?? null,
    liquidity: null,
    openInterest: wire.open_interest_fp ?? null,
  }
}

function timeOrNull(text: string | null | undefined): number | null {
  return (text == null ? undefined : parseTime(text)) ?? null
}

function numericOrNull(value: string | number | null | undefined): string | null {
  if (value === null || value === undefined || value === '') return null
  const text = String(value).replaceAll(',', '')
  return /^\d+(\.\d+)?$/.test(text) ? text : null
}

export function marketObservation(market: MarketInput, receivedMs: number): MarketObservation {
  return {
    kind: 'market',
    ...aboutOf(market.symbol, market.marketId, receivedMs),
    venueTimeMs: receivedMs,
    key: null,
    market,
  }
}

type Quotes = Record<string, string | null | undefined>
export interface CandleWire {
  readonly end_period_ts: number
  readonly price?: Quotes | null
  readonly yes_bid?: Quotes | null
  readonly yes_ask?: Quotes | null
}

/** The venue stamps a candle with its end. Field names depend on the tier. */
export function mapCandle(
  wire: CandleWire & Record<string, unknown>,
  tier: 'live' | 'historical',
  interval: CandleInterval,
  about: About,
): ContractCandleObservation {
  const suffix = tier === 'live' ? '_dollars' : ''
  const interest = tier === 'live' ? wire.open_interest_fp : wire.open_interest
  const read = (quotes: Quotes | null | undefined, name: string) => quotes?.[name + suffix] ?? null
  const [open, high, low, close] = ['open', 'high', 'low', 'close'].map((name) => read(wire.price, name))
  const endMs = wire.end_period_ts * 1_000
  return {
    kind: 'contract_candle',
    ...about,
    venueTimeMs: endMs,
    key: null,
    interval,
    openTimeMs: endMs - INTERVAL_MS[interval],
    price: open == null || high == null || low == null || close == null ? null : { open, high, low, close },
    previous: read(wire.price, 'previous'),
    yesBid: read(wire.yes_bid, 'close'),
    yesAsk: read(wire.yes_ask, 'close'),
    volume: String(wire[tier === 'live' ? 'volume_fp' : 'volume']),
    openInterest: typeof interest === 'string' ? interest : null,
  }
}

/** A bid for no at p is an ask for yes at 1 − p; undefined for text that is not a price. */
export function yesAskOfNoBid(price: string): number | undefined {
  const micro = orderPriceOf(price)
  return micro === undefined ? undefined : MICRO - micro
}
