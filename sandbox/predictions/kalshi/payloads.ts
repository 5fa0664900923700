/** The state of a strike market at an instant, and its JSON. */
import { hash } from 'node:crypto'
import { SYMBOL_NAMES } from '../../../src/core/symbol.ts'
import { delayedMs, type PredictionVenue } from '../venue.ts'
import type { Life, MarketTrade } from '../world/life.ts'
import { decimalsOf, type StrikeEvent, type StrikeMarket } from '../world/strikes.ts'

export type Status = 'initialized' | 'active' | 'inactive' | 'closed' | 'determined' | 'finalized'

const HOUR_MS = 3_600_000
/** The reference price of a quarter hour is published shortly after its open. */
const REFERENCE_AFTER_MS = 2_000
const DETERMINED_BEFORE_MS = 6_000
/** Share of the volume that stays open. */
const OPEN_SHARE = 0.6

const DOLLARS = Array.from({ length: 1_001 }, (_, i) => (i / 1_000).toFixed(4))
/** Thousandths of a dollar, with four decimals. */
export const dollars = (thousandths: number): string =>
  DOLLARS[thousandths] ?? (thousandths / 1_000).toFixed(4)
/** Hundredths of a contract, with two decimals. */
export function contracts(hundredths: number): string {
  const cents = Math.abs(hundredths) % 100
  const whole = (Math.abs(hundredths) - cents) / 100
  return `${hundredths < 0 ? '-' : ''}${whole}.${cents < 10 ? '0' : ''}${cents}`
}
export const iso = (timeMs: number): string => new Date(timeMs).toISOString().replace('.000Z', 'Z')
/** The last second that was formatted, because frames sent together usually fall into the same second. */
let written = { second: Number.NaN, text: '' }
const three = (value: number) => String(value).padStart(3, '0')
/** With microseconds, as in trades and deltas. */
export function isoMicros(timeMs: number): string {
  const second = Math.floor(timeMs / 1_000)
  if (second !== written.second)
    written = { second, text: new Date(second * 1_000).toISOString().slice(0, 20) }
  return `${written.text}${three(timeMs - second * 1_000)}${three((timeMs * 13) % 1_000)}Z`
}

export const settledMsOf = (venue: PredictionVenue, event: StrikeEvent): number =>
  delayedMs(venue.faults, 'kalshi', event.series.symbol, event.settledMs)

export function statusOf(venue: PredictionVenue, event: StrikeEvent): Status {
  const nowMs = venue.now()
  if (nowMs < event.openMs) return 'initialized'
  const { pause } = event
  if (pause !== undefined && nowMs >= pause.fromMs && nowMs < pause.toMs) return 'inactive'
  if (nowMs < event.closeMs) return 'active'
  const settledMs = settledMsOf(venue, event)
  if (nowMs < settledMs - DETERMINED_BEFORE_MS) return 'closed'
  return nowMs < settledMs ? 'determined' : 'finalized'
}

/** The close time that the venue currently lists. */
export const listedCloseMs = (venue: PredictionVenue, { first, closeMs }: StrikeEvent): number =>
  first !== undefined && venue.now() < first.untilMs ? first.closeMs : closeMs

/** The latest slot; undefined before the open. */
export function slotAt(life: Life, nowMs: number): number | undefined {
  const slot = Math.min(life.slotAt(nowMs), life.lastSlot)
  return slot < 0 ? undefined : slot
}

/** Contracts traded up to a slot, in hundredths. */
export const volumeUntil = (life: Life, slot: number | undefined): number =>
  slot === undefined ? 0 : life.volume(0, life.tradesUntil(slot))

/** A whole number of contracts, in hundredths. */
export const openInterestOf = (volume: number): number => Math.floor((volume * OPEN_SHARE) / 100) * 100

export interface Top {
  readonly bid: number
  readonly ask: number
  readonly bidSize: number
  readonly askSize: number
}

const EMPTY_TOP: Top = { bid: 0, ask: 1_000, bidSize: 0, askSize: 0 }
export function topOf(life: Life, slot: number | undefined): Top {
  if (slot === undefined) return EMPTY_TOP
  return {
    bid: life.bid(slot),
    ask: life.ask(slot),
    bidSize: life.bidSize(slot),
    askSize: life.askSize(slot),
  }
}

export function tradeIdOf(market: StrikeMarket, trade: MarketTrade): string {
  const hex = hash('sha256', `${market.ticker}|${trade.slot}`)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `b${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

/** The taker's side, in all the terms that the venue uses. */
export const takerOf = (trade: MarketTrade) =>
  trade.isSell
    ? { taker_side: 'no', taker_outcome_side: 'no', taker_book_side: 'ask' }
    : { taker_side: 'yes', taker_outcome_side: 'yes', taker_book_side: 'bid' }

const knowsStrike = (venue: PredictionVenue, market: StrikeMarket): boolean =>
  market.event.series.kind !== '15M' || venue.now() >= market.event.openMs + REFERENCE_AFTER_MS

/** Formats by decimals, because creating one is slow. */
const FORMATS = new Map<number, Intl.NumberFormat>()
function grouped(value: number, decimals: number): string {
  const format = FORMATS.get(decimals) ?? new Intl.NumberFormat('en-US', { maximumFractionDigits: decimals })
  FORMATS.set(decimals, format)
  return format.format(value)
}

const SUB_TITLES = new WeakMap<StrikeMarket, string>()

function subTitleOf(venue: PredictionVenue, market: StrikeMarket): string {
  if (!knowsStrike(venue, market)) return 'Target price: TBD'
  const known = SUB_TITLES.get(market) ?? strikeText(market)
  SUB_TITLES.set(market, known)
  return known
}

/** The name of a contract once its strike is known. */
export function strikeText(market: StrikeMarket): string {
  const decimals = decimalsOf(market.event.series.symbol)
  const text = (value: number | undefined) => `$${grouped(value ?? 0, decimals)}`
  if (market.strikeType === 'greater_or_equal') return `Target price: ${text(market.floor)}`
  if (market.strikeType === 'greater') return `${text(market.floor)} or above`
  if (market.strikeType === 'less') return `${text(market.cap)} or below`
  return `${text(market.floor)} to ${text(market.cap)}`
}

export const titleOf = (event: StrikeEvent): string =>
  event.series.kind === '15M'
    ? `${event.series.symbol} price up in next 15 mins?`
    : `${SYMBOL_NAMES[event.series.symbol]} price on ${iso(event.closeMs)}?`

/** The constant texts of an event, cached because contracts are listed by the hundred, again and again. */
const EVENT_TEXTS = new WeakMap<StrikeEvent, EventTexts>()
type EventTexts = ReturnType<typeof makeTexts>
const makeTexts = (event: StrikeEvent) => ({
  title: titleOf(event),
  created: iso(event.createdMs),
  opens: iso(event.openMs),
  closes: iso(event.closeMs),
  expected: iso(event.closeMs + 300_000),
  expires: iso(event.closeMs + 7 * 24 * HOUR_MS),
})

function textsOf(event: StrikeEvent): EventTexts {
  const texts = EVENT_TEXTS.get(event) ?? makeTexts(event)
  EVENT_TEXTS.set(event, texts)
  return texts
}

export function marketJson(venue: PredictionVenue, market: StrikeMarket): Record<string, unknown> {
  const { event } = market
  const nowMs = venue.now()
  const status = statusOf(venue, event)
  const life = venue.world.lifeOfStrike(market)
  const slot = slotAt(life, nowMs)
  const top = status === 'active' || status === 'inactive' ? topOf(life, slot) : EMPTY_TOP
  const count = slot === undefined ? 0 : life.tradesUntil(slot)
  const dayAgo = slot === undefined ? 0 : life.tradesUntil(life.slotAt(nowMs - 24 * HOUR_MS - 1))
  const volume = life.volume(0, count)
  const isKnown = status === 'determined' || status === 'finalized'
  const isYes = isKnown && venue.world.strikes.isYes(market)
  const strike = knowsStrike(venue, market)
  const subTitle = subTitleOf(venue, market)
  const texts = textsOf(event)
  return {
    ticker: market.ticker,
    event_ticker: event.ticker,
    market_type: 'binary',
    title: texts.title,
    subtitle: subTitle,
    yes_sub_title: subTitle,
    no_sub_title: subTitle,
    created_time: texts.created,
    updated_time: iso(Math.max(event.createdMs, slot === undefined ? 0 : life.timeOf(slot))),
    open_time: texts.opens,
    close_time: event.first === undefined ? texts.closes : iso(listedCloseMs(venue, event)),
    expected_expiration_time: texts.expected,
    expiration_time: texts.expires,
    latest_expiration_time: texts.expires,
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
    last_price_dollars: dollars(life.trade(count - 1)?.price ?? 0),
    previous_price_dollars: dollars(life.trade(count - 2)?.price ?? 0),
    previous_yes_bid_dollars: dollars(top.bid),
    previous_yes_ask_dollars: dollars(top.ask),
    volume_fp: contracts(volume),
    volume_24h_fp: contracts(life.volume(Math.min(dayAgo, count), count)),
    open_interest_fp: contracts(openInterestOf(volume)),
    notional_value_dollars: '1.0000',
    liquidity_dollars: '0.0000',
    price_level_structure: 'linear_cent',
    price_ranges: [{ start: '0.0000', end: '1.0000', step: '0.0100' }],
    response_price_units: 'usd_cent',
    exchange_index: 2,
    rules_primary: `If the simple average of the sixty seconds of the index before ${texts.closes} fits "${subTitle}", then the market resolves to Yes.`,
    rules_secondary: '',
  }
}

export const tradeJson = (market: StrikeMarket, trade: MarketTrade): Record<string, unknown> => ({
  trade_id: tradeIdOf(market, trade),
  ticker: market.ticker,
  count_fp: contracts(trade.size),
  yes_price_dollars: dollars(trade.price),
  no_price_dollars: dollars(1_000 - trade.price),
  ...takerOf(trade),
  created_time: isoMicros(trade.timeMs),
  is_block_trade: false,
})
