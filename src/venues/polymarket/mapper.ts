/** Maps Polymarket's messages to observations. */
import { decimal, decimalText } from '../../core/decimal.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { parseTime } from '../../core/time.ts'
import type {
  MarketLeg,
  MarketObservation,
  MidObservation,
  TradeObservation,
  TradesLostObservation,
} from '../observation.ts'
import type { HistoryRange } from '../venue.ts'
import type { HashedTerms } from './book-hash.ts'
import { type MeanConfig, readSettlement } from './settlement.ts'
import { readSlug, startOf } from './slug.ts'
import type { GammaMarketWire, LastTradeWire, TradeV2Wire } from './wire.ts'

export interface Leg extends MarketLeg {
  readonly tokenId: string
  readonly outcome: string
  readonly symbol: AssetSymbol
  readonly startMs: number
  readonly endMs: number
  /** Terms of the market that the hash of an order book covers besides the book. */
  readonly terms?: HashedTerms
}

export interface UpDownMarket {
  readonly market: MarketInput
  /** Up, then Down; empty until the order book knows the market. */
  readonly legs: readonly Leg[]
}

export interface About {
  readonly source: 'predmkt_a'
  readonly symbol: AssetSymbol
  readonly instrument: string
  readonly receivedMs: number
}

export function aboutOf(leg: Pick<Leg, 'symbol' | 'tokenId'>, receivedMs: number): About {
  return { source: 'predmkt_a', symbol: leg.symbol, instrument: leg.tokenId, receivedMs }
}

export const legOf = ({ marketId, tokenId, outcome }: Leg): MarketLeg => ({ marketId, tokenId, outcome })

/** Reads a list that may be JSON inside a string; undefined if it is neither. */
function readList(value: string | readonly string[] | null | undefined): readonly string[] | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value !== 'string') return value
  try {
    const parsed: unknown = JSON.parse(value)
    return Array.isArray(parsed) && parsed.every((each) => typeof each === 'string') ? parsed : undefined
  } catch {
    return undefined
  }
}

/** The venue's database writes a time as `2026-07-24 00:00:16+00`. */
export function readVenueTime(text: string | null | undefined): number | null {
  if (text === null || text === undefined || text === '') return null
  return parseTime(text.replace(' ', 'T').replace(/([+-]\d{2})$/, '$1:00')) ?? null
}

const ONE = /^1(\.0*)?$/
const NOTHING = /^0(\.0*)?$/

/** The venue has no field for the winner; a market has one if it is closed and its prices are exactly 1 and 0. */
function winnerOf(wire: GammaMarketWire, outcomes: readonly string[]): string | null {
  if (wire.closed !== true) return null
  if (wire.version === 'v2' && wire.resolutionStatus !== 'resolved') return null
  const prices = readList(wire.outcomePrices)
  if (prices?.length !== 2 || outcomes.length !== 2) return null
  const won = prices.findIndex((price) => ONE.test(price))
  return won >= 0 && NOTHING.test(prices[1 - won] ?? '') ? (outcomes[won] ?? null) : null
}

/** In the form that the venue's order book uses. */
function termsOf({ orderMinSize: size, orderPriceMinTickSize: tick, negRisk }: GammaMarketWire): HashedTerms {
  return {
    ...(size == null ? {} : { min_order_size: String(size) }),
    ...(tick == null ? {} : { tick_size: String(tick) }),
    ...(negRisk == null ? {} : { neg_risk: negRisk }),
  }
}

/** More than any market has; bounded because the record is written whenever the volume changes. */
const MAX_TAGS = 20
const MAX_TAG_CHARS = 64

function tagsOf(tags: readonly { label?: string | null }[] | null | undefined): string[] {
  const labels = (tags ?? []).slice(0, MAX_TAGS).flatMap(({ label }) => label ?? [])
  return labels.filter((label) => label !== '' && label.length <= MAX_TAG_CHARS)
}

/** Undefined for a market that is not one of our Up/Down markets or has an unknown version. */
export function mapMarket(
  wire: GammaMarketWire,
  nowMs: number,
  event?: {
    id: string
    openInterest?: number | null
    cryptoMarketConfig?: MeanConfig
    tags?: readonly { label?: string | null }[] | null
  },
): UpDownMarket | undefined {
  const slug = readSlug(wire.slug)
  const outcomes = readList(wire.outcomes)
  if (slug === undefined || outcomes === undefined || outcomes.length !== 2) return undefined
  if (!outcomes.includes('Up') || !outcomes.includes('Down')) return undefined
  if (wire.version != null && wire.version !== '' && wire.version !== 'v1' && wire.version !== 'v2')
    return undefined
  const endTime = readVenueTime(wire.endDate)
  if (endTime === null) return undefined
  const startTime = readVenueTime(wire.eventStartTime) ?? slug.startMs ?? startOf(slug.marketType, endTime)
  if (endTime <= startTime) return undefined
  const ids = readList(wire.version === 'v2' ? wire.positionIds : wire.clobTokenIds) ?? []
  const marketId = wire.conditionId.toLowerCase()
  const named = ['Up', 'Down'].flatMap((outcome): Leg[] => {
    const tokenId = ids[outcomes.indexOf(outcome)]
    if (tokenId === undefined || tokenId === '') return []
    const window = { startMs: startTime, endMs: endTime }
    return [{ marketId, tokenId, outcome, symbol: slug.symbol, ...window, terms: termsOf(wire) }]
  })
  // A market with only one token is treated as having none.
  const legs = named.length === 2 ? named : []
  // A winner is never taken back, so an answer that names one before the end is not believed.
  const winner = nowMs < endTime ? null : winnerOf(wire, outcomes)
  const isClosed = wire.closed === true
  const isOver = isClosed || nowMs >= endTime
  const closedMs = readVenueTime(wire.closedTime)
  const parent = event ?? wire.events?.[0]
  return {
    legs,
    market: {
      marketId,
      source: 'predmkt_a',
      symbol: slug.symbol,
      slug: wire.slug,
      ticker: null,
      conditionId: marketId,
      eventId: parent?.id ?? null,
      question: wire.question || null,
      marketType: slug.marketType,
      startTime,
      endTime,
      active: !isClosed && wire.acceptingOrders !== false && nowMs < endTime,
      status: winner !== null ? 'resolved' : isOver ? 'closed' : 'open',
      winner,
      resolvedAt: winner === null ? null : closedMs,
      tokens: legs.map(({ tokenId, outcome }) => ({ tokenId, outcome })),
      createdAt: readVenueTime(wire.createdAt),
      updatedAt: readVenueTime(wire.updatedAt),
      tags: tagsOf(parent?.tags),
      strike: null,
      referencePriceStart: null,
      referencePriceEnd: null,
      settlement: readSettlement(wire.resolutionSource, parent?.cryptoMarketConfig),
      volume: wire.volumeNum ?? wire.volume ?? null,
      // The venue sends 0 after the close; the last figure before it counts.
      liquidity: isOver ? null : (wire.liquidityNum ?? null),
      openInterest: parent?.openInterest ?? null,
      aliases: [wire.id],
    },
  }
}

export function marketObservation(market: MarketInput, receivedMs: number): MarketObservation {
  return {
    kind: 'market',
    source: 'predmkt_a',
    symbol: market.symbol,
    instrument: market.marketId,
    venueTimeMs: receivedMs,
    receivedMs,
    key: null,
    market,
  }
}

/**
 * The venue does not identify trades. Our id is the same in every replay: transaction, token and position in the
 * transaction.
 */
export function tradeId(hash: string, tokenId: string, ordinal: number): string {
  return `${hash}-${tokenId.slice(-8)}-${ordinal}`
}

export function mapLastTrade(
  wire: LastTradeWire,
  id: string,
  leg: Leg,
  receivedMs: number,
): TradeObservation {
  return {
    kind: 'trade',
    ...aboutOf(leg, receivedMs),
    venueTimeMs: Number(wire.timestamp),
    key: id,
    id,
    price: wire.price,
    size: wire.size,
    side: wire.side === 'BUY' ? 'buy' : 'sell',
    leg: legOf(leg),
  }
}

/** The sweep has the time of the block, which may be some seconds from that of the stream. */
const SWEPT_APART_MS = 5_000

/** Trades of this time are left to the sweeps: until these have delivered them, they are missing. */
export function lostTrades(
  { symbol, tokenId }: Pick<Leg, 'symbol' | 'tokenId'>,
  { fromMs, toMs }: HistoryRange,
  receivedMs: number,
): TradesLostObservation {
  return {
    kind: 'trades_lost',
    ...aboutOf({ symbol, tokenId }, receivedMs),
    venueTimeMs: receivedMs,
    key: null,
    fromMs: fromMs - SWEPT_APART_MS,
    toMs: toMs + SWEPT_APART_MS,
  }
}

/** The block's time in whole seconds, where the stream would have sent milliseconds. */
export function mapSweptTrade(wire: TradeV2Wire, id: string, leg: Leg, receivedMs: number): TradeObservation {
  return {
    kind: 'trade',
    ...aboutOf(leg, receivedMs),
    venueTimeMs: wire.timestamp * 1_000,
    key: id,
    id,
    price: decimalText(decimal(wire.price)),
    size: decimalText(decimal(wire.size)),
    side: wire.side === 'BUY' ? 'buy' : 'sell',
    leg: legOf(leg),
    isSwept: true,
  }
}

export function mapMid(
  timeSeconds: number,
  price: string | number,
  leg: Leg,
  receivedMs: number,
): MidObservation {
  return {
    kind: 'mid',
    ...aboutOf(leg, receivedMs),
    venueTimeMs: timeSeconds * 1_000,
    key: null,
    price: decimalText(decimal(price)),
    leg: legOf(leg),
  }
}
