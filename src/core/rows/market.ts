import type { SettlementPrice } from '../settlement.ts'
import type { Source } from '../source.ts'
import type { AssetSymbol } from '../symbol.ts'
import { amountText, type Numeric, numberText, orNull, stringText, timeText } from './json-text.ts'
import { checkKey, fitsKey } from './key-text.ts'
import { RowError } from './row-error.ts'

export const MARKET_TYPES = ['5m', '15m', '1h', '4h', '24h'] as const
export type MarketType = (typeof MARKET_TYPES)[number]
export const MARKET_STATUSES = ['upcoming', 'open', 'closed', 'resolved'] as const
export type MarketStatus = (typeof MARKET_STATUSES)[number]
/** What a venue reports. The served status follows from this and from the clock. */
const VENUE_STATUSES = ['open', 'closed', 'resolved'] as const
export type VenueStatus = (typeof VENUE_STATUSES)[number]

export interface MarketInput {
  marketId: string
  source: Source
  symbol: AssetSymbol
  slug?: string | null
  ticker?: string | null
  conditionId?: string | null
  eventId?: string | null
  question?: string | null
  marketType?: MarketType | null
  startTime?: number | null
  endTime?: number | null
  active: boolean
  status: VenueStatus
  winner?: string | null
  resolvedAt?: number | null
  tokens?: readonly { tokenId: string; outcome: string }[]
  /** From the venue's record of the market. */
  createdAt?: number | null
  updatedAt?: number | null
  tags?: readonly string[]
  strike?: Numeric | null
  referencePriceStart?: Numeric | null
  referencePriceEnd?: Numeric | null
  /** Used by the recorder only; not served. */
  settlement?: SettlementPrice | null
  volume?: Numeric | null
  liquidity?: Numeric | null
  openInterest?: Numeric | null
  /** Other identifiers of the market, such as the venue's own number. Not served. */
  aliases?: readonly string[]
}

/** A catalogue entry in its final form: what is served, and the identifiers it is found by. */
export interface EncodedMarket {
  source: Source
  marketId: string
  symbol: AssetSymbol
  marketType: MarketType | null
  resolved: boolean
  startMs: number | null
  endMs: number | null
  identifiers: string[]
  text: string
}

export function encodeMarket(row: MarketInput): EncodedMarket {
  const start = row.startTime ?? null
  const end = row.endTime ?? null
  if (start !== null && end !== null && end <= start)
    throw new RowError('end_time', 'must lie after start_time')
  if (!VENUE_STATUSES.includes(row.status)) throw new RowError('status', `unknown: ${row.status}`)
  checkKey('market_id', row.marketId)
  const type = row.marketType ?? null
  if (type !== null && !MARKET_TYPES.includes(type)) throw new RowError('market_type', `unknown: ${type}`)
  const tokens = (row.tokens ?? []).map(
    (token) =>
      `{"token_id":${stringText('token_id', token.tokenId)},"outcome":${stringText('outcome', token.outcome)}}`,
  )
  const tags = (row.tags ?? []).map((tag) => stringText('tags', tag))
  const identifiers = [row.marketId, row.conditionId, row.slug, row.ticker]
    .concat(row.tokens?.map((token) => token.tokenId) ?? [], row.aliases ?? [])
    .filter((id): id is string => typeof id === 'string' && id !== '' && fitsKey(id))
  const string = (field: string, value: string | null | undefined) => orNull(stringText, field, value)
  const amount = (field: string, value: Numeric | null | undefined) => orNull(amountText, field, value)
  return {
    source: row.source,
    marketId: row.marketId,
    symbol: row.symbol,
    marketType: type,
    resolved: row.status === 'resolved',
    startMs: start,
    endMs: end,
    identifiers: [...new Set(identifiers)],
    text: `{"market_id":${stringText('market_id', row.marketId)},"source":"${row.source}","symbol":"${row.symbol}","slug":${string('slug', row.slug)},"ticker":${string('ticker', row.ticker)},"condition_id":${string('condition_id', row.conditionId)},"event_id":${string('event_id', row.eventId)},"question":${string('question', row.question)},"market_type":${string('market_type', type)},"start_time":${orNull(timeText, 'start_time', start)},"end_time":${orNull(timeText, 'end_time', end)},"active":${row.active},"status":"${row.status}","winner":${string('winner', row.winner)},"resolved_at":${orNull(timeText, 'resolved_at', row.resolvedAt)},"tokens":[${tokens.join()}],"created_at":${orNull(timeText, 'created_at', row.createdAt)},"updated_at":${orNull(timeText, 'updated_at', row.updatedAt)},"tags":[${tags.join()}],"strike":${orNull(numberText, 'strike', row.strike)},"reference_price_start":${amount('reference_price_start', row.referencePriceStart)},"reference_price_end":${amount('reference_price_end', row.referencePriceEnd)},"volume":${amount('volume', row.volume)},"liquidity":${amount('liquidity', row.liquidity)},"open_interest":${amount('open_interest', row.openInterest)}}`,
  }
}

/**
 * The state of a market at an instant. It depends only on the market's times and result, so that it means the same for
 * every venue.
 */
export function marketState(
  market: { startMs: number | null; endMs: number | null; resolved: boolean },
  nowMs: number,
): { active: boolean; status: MarketStatus } {
  if (market.resolved) return { active: false, status: 'resolved' }
  if (market.endMs !== null && market.endMs <= nowMs) return { active: false, status: 'closed' }
  const isAhead = market.startMs !== null && nowMs < market.startMs
  return { active: true, status: isAhead ? 'upcoming' : 'open' }
}

/** These fields are always adjacent. A value cannot match, because its quotes would be escaped. */
const STATE_FIELDS =
  /"start_time":(?:null|"([^"]+)"),"end_time":(?:null|"([^"]+)"),"active":(?:true|false),"status":"([a-z]+)"/g

/** Replaces the state in the texts of stored markets with the state at an instant. */
export function marketTextAt(text: string, nowMs: number): string {
  return text.replace(STATE_FIELDS, (fields: string, start?: string, end?: string, status?: string) => {
    const market = {
      startMs: start === undefined ? null : Date.parse(start),
      endMs: end === undefined ? null : Date.parse(end),
      resolved: status === 'resolved',
    }
    const now = marketState(market, nowMs)
    const times = fields.slice(0, fields.lastIndexOf(',"active":'))
    return `${times},"active":${now.active},"status":"${now.status}"`
  })
}
