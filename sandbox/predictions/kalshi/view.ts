/** What the venue knows about a strike market at an instant, and how it writes it. */
import { createHash } from 'node:crypto'
import { SYMBOL_NAMES } from '../../../src/core/symbol.ts'
import { delayedMs, type Faults } from '../server/faults.ts'
import type { Life, Print } from '../world/life.ts'
import { decimalsOf, type StrikeEvent, type StrikeMarket, type StrikeSeries } from '../world/strikes.ts'
import type { PredictionWorld } from '../world/venue-world.ts'
import { contracts, dollars, iso, isoMicros } from './text.ts'

export interface Venue {
  readonly world: PredictionWorld
  readonly faults: Faults
  now(): number
}

export type Status = 'initialized' | 'active' | 'closed' | 'determined' | 'finalized'

const HOUR_MS = 3_600_000
/** The reference of a quarter hour is told shortly after its open. */
export const REFERENCE_AFTER_MS = 2_000
const DETERMINED_BEFORE_MS = 6_000
/** Share of the volume that stays open. */
const OPEN_SHARE = 0.6

export type EventHead = Omit<StrikeEvent, 'markets'>

export const settledMsOf = (venue: Venue, event: EventHead): number =>
  delayedMs(venue.faults, 'kalshi', event.series.symbol, event.settledMs)

export function statusOf(venue: Venue, event: EventHead): Status {
  const nowMs = venue.now()
  if (nowMs < event.openMs) return 'initialized'
  if (nowMs < event.closeMs) return 'active'
  const settledMs = settledMsOf(venue, event)
  if (nowMs < settledMs - DETERMINED_BEFORE_MS) return 'closed'
  return nowMs < settledMs ? 'determined' : 'finalized'
}

/** The last slot that has happened; undefined before the open. */
export function slotAt(life: Life, nowMs: number): number | undefined {
  const slot = Math.min(life.slotAt(nowMs), life.lastSlot)
  return slot < 0 ? undefined : slot
}

/** Contracts up to a slot, in hundredths. */
export function volumeUntil(
  life: Life,
  slot: number | undefined,
  sinceMs = Number.NEGATIVE_INFINITY,
): number {
  if (slot === undefined) return 0
  let sum = 0
  const count = life.printsUntil(slot)
  for (let i = 0; i < count; i++) {
    const print = life.prints[i] as Print
    if (print.timeMs >= sinceMs) sum += print.size
  }
  return sum
}

/** Whole contracts, in hundredths. */
export const openInterestOf = (volume: number): number => Math.floor((volume * OPEN_SHARE) / 100) * 100

export interface Top {
  readonly bid: number
  readonly ask: number
  readonly bidSize: number
  readonly askSize: number
}

const LEVELS = 1_001
const scratch = { bids: new Int32Array(LEVELS), asks: new Int32Array(LEVELS) }

export function topOf(life: Life, slot: number | undefined): Top {
  if (slot === undefined) return { bid: 0, ask: 1_000, bidSize: 0, askSize: 0 }
  life.fill(slot, scratch.bids, scratch.asks)
  const [bid, ask] = [life.bid(slot), life.ask(slot)]
  return { bid, ask, bidSize: scratch.bids[bid] ?? 0, askSize: scratch.asks[ask] ?? 0 }
}

export function tradeIdOf(market: StrikeMarket, print: Print): string {
  const hex = createHash('sha256').update(`${market.ticker}|${print.slot}`).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `b${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

/** The taker's side, in all the ways the venue says it. */
export const takerOf = (print: Print) =>
  print.isSell
    ? { taker_side: 'no', taker_outcome_side: 'no', taker_book_side: 'ask' }
    : { taker_side: 'yes', taker_outcome_side: 'yes', taker_book_side: 'bid' }

export function knowsStrike(venue: Venue, market: StrikeMarket): boolean {
  return market.event.series.kind !== '15M' || venue.now() >= market.event.openMs + REFERENCE_AFTER_MS
}

export function subTitleOf(venue: Venue, market: StrikeMarket): string {
  const decimals = decimalsOf(market.event.series.symbol)
  const text = (value: number | undefined) =>
    `$${(value ?? 0).toLocaleString('en-US', { maximumFractionDigits: decimals })}`
  if (!knowsStrike(venue, market)) return 'Target price: TBD'
  if (market.strikeType === 'greater_or_equal') return `Target price: ${text(market.floor)}`
  if (market.strikeType === 'greater') return `${text(market.floor)} or above`
  if (market.strikeType === 'less') return `${text(market.cap)} or below`
  return `${text(market.floor)} to ${text(market.cap)}`
}

export const titleOf = (event: EventHead): string =>
  event.series.kind === '15M'
    ? `${event.series.symbol} price up in next 15 mins?`
    : `${SYMBOL_NAMES[event.series.symbol]} price on ${iso(event.closeMs)}?`

export function marketJson(venue: Venue, market: StrikeMarket): Record<string, unknown> {
  const { event } = market
  const nowMs = venue.now()
  const status = statusOf(venue, event)
  const life = venue.world.lifeOfStrike(market)
  const slot = slotAt(life, nowMs)
  const isTrading = status === 'active'
  const top = isTrading ? topOf(life, slot) : { bid: 0, ask: 1_000, bidSize: 0, askSize: 0 }
  const volume = volumeUntil(life, slot)
  const count = slot === undefined ? 0 : life.printsUntil(slot)
  const last = life.prints[count - 1]?.price ?? 0
  const previous = life.prints[count - 2]?.price ?? 0
  const isKnown = status === 'determined' || status === 'finalized'
  const isYes = isKnown && venue.world.strikes.isYes(market)
  const strike = knowsStrike(venue, market)
  const subTitle = subTitleOf(venue, market)
  return {
    ticker: market.ticker,
    event_ticker: event.ticker,
    market_type: 'binary',
    title: titleOf(event),
    subtitle: subTitle,
    yes_sub_title: subTitle,
    no_sub_title: subTitle,
    created_time: iso(event.createdMs),
    updated_time: iso(Math.max(event.createdMs, slot === undefined ? 0 : life.timeOf(slot))),
    open_time: iso(event.openMs),
    close_time: iso(event.closeMs),
    expected_expiration_time: iso(event.closeMs + 300_000),
    expiration_time: iso(event.closeMs + 7 * 24 * HOUR_MS),
    latest_expiration_time: iso(event.closeMs + 7 * 24 * HOUR_MS),
    ...(status === 'finalized' ? { settlement_ts: iso(settledMsOf(venue, event)) } : {}),
    settlement_timer_seconds: 60,
    status,
    result: isKnown ? (isYes ? 'yes' : 'no') : '',
    ...(isKnown ? { settlement_value_dollars: isYes ? '1.0000' : '0.0000' } : {}),
    expiration_value: isKnown
      ? venue.world.strikes.settlement(event).toFixed(decimalsOf(event.series.symbol))
      : '',
    strike_type: market.strikeType,
    ...(strike && market.floor !== undefined ? { floor_strike: market.floor } : {}),
    ...(strike && market.cap !== undefined ? { cap_strike: market.cap } : {}),
    can_close_early: true,
    yes_bid_dollars: dollars(top.bid),
    yes_ask_dollars: dollars(top.ask),
    no_bid_dollars: dollars(1_000 - top.ask),
    no_ask_dollars: dollars(1_000 - top.bid),
    yes_bid_size_fp: contracts(top.bidSize),
    yes_ask_size_fp: contracts(top.askSize),
    last_price_dollars: dollars(last),
    previous_price_dollars: dollars(previous),
    previous_yes_bid_dollars: dollars(top.bid),
    previous_yes_ask_dollars: dollars(top.ask),
    volume_fp: contracts(volume),
    volume_24h_fp: contracts(volumeUntil(life, slot, nowMs - 24 * HOUR_MS)),
    open_interest_fp: contracts(openInterestOf(volume)),
    notional_value_dollars: '1.0000',
    liquidity_dollars: '0.0000',
    price_level_structure: 'linear_cent',
    price_ranges: [{ start: '0.0000', end: '1.0000', step: '0.0100' }],
    response_price_units: 'usd_cent',
    exchange_index: 2,
    rules_primary: `If the simple average of the sixty seconds of the index before ${iso(event.closeMs)} fits "${subTitle}", then the market resolves to Yes.`,
    rules_secondary: '',
  }
}

export function eventJson(event: EventHead): Record<string, unknown> {
  return {
    event_ticker: event.ticker,
    series_ticker: event.series.ticker,
    sub_title: iso(event.closeMs),
    title: titleOf(event),
    collateral_return_type: event.series.kind === 'range' ? 'MECNET' : '',
    mutually_exclusive: event.series.kind === 'range',
    category: 'Crypto',
    strike_date: iso(event.closeMs),
    strike_period: '',
    available_on_brokers: true,
    exchange_index: 2,
  }
}

export function seriesJson(series: StrikeSeries): Record<string, unknown> {
  return {
    ticker: series.ticker,
    title: `${SYMBOL_NAMES[series.symbol]} ${series.kind === '15M' ? 'up or down' : series.kind === 'D' ? 'price above' : 'price range'}`,
    frequency: series.kind === '15M' ? 'fifteen_min' : 'hourly',
    category: 'Crypto',
    tags: [series.symbol],
    settlement_sources: [{ name: 'CF Benchmarks', url: 'https://www.cfbenchmarks.com/' }],
    contract_url:
      'https://kalshi-public-docs.s3.us-east-1.amazonaws.com/regulatory/product-certifications/CRYPTO.pdf',
    contract_terms_url: 'https://kalshi-public-docs.s3.amazonaws.com/contract_terms/CRYPTO.pdf',
    fee_type: 'quadratic',
    fee_multiplier: 1,
    additional_prohibitions: null,
  }
}

export function tradeJson(market: StrikeMarket, print: Print): Record<string, unknown> {
  return {
    trade_id: tradeIdOf(market, print),
    ticker: market.ticker,
    count_fp: contracts(print.size),
    yes_price_dollars: dollars(print.price),
    no_price_dollars: dollars(1_000 - print.price),
    ...takerOf(print),
    created_time: isoMicros(print.timeMs),
    is_block_trade: false,
  }
}
