/**
 * Names of series and markets. Hourly and daily windows follow New York's clock, so their times are read where the venue
 * sends them.
 */
import { MARKET_TYPES, type MarketType } from '../../core/rows/market.ts'
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'

const SHORT: Record<AssetSymbol, string> = { BTC: 'btc', ETH: 'eth', SOL: 'sol', XRP: 'xrp' }
const LONG: Record<AssetSymbol, string> = { BTC: 'bitcoin', ETH: 'ethereum', SOL: 'solana', XRP: 'xrp' }
const RECURRENCE: Record<MarketType, string> = {
  '5m': '5m',
  '15m': '15m',
  '1h': 'hourly',
  '4h': '4h',
  '24h': 'daily',
}

export const TENOR_MS: Record<MarketType, number> = {
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '24h': 86_400_000,
}

const newYorkHour = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hour: 'numeric',
  hourCycle: 'h23',
})

/** For windows whose start is not sent. A daily one has 23 or 25 hours if New York's clock changes within it. */
export function startOf(marketType: MarketType, endMs: number): number {
  const usualMs = endMs - TENOR_MS[marketType]
  if (marketType !== '24h') return usualMs
  const hour = newYorkHour.format(endMs)
  const starts = [usualMs, usualMs - TENOR_MS['1h'], usualMs + TENOR_MS['1h']]
  return starts.find((startMs) => newYorkHour.format(startMs) === hour) ?? usualMs
}

export interface Series {
  readonly symbol: AssetSymbol
  readonly marketType: MarketType
  /** Some series use the asset's long name; the first slug that has events is the right one. */
  readonly slugs: readonly string[]
}

export function seriesOf(symbol: AssetSymbol): Series[] {
  return MARKET_TYPES.map((marketType) => {
    const names = TENOR_MS[marketType] <= 900_000 ? [SHORT[symbol]] : [SHORT[symbol], LONG[symbol]]
    const slugs = [...new Set(names)].map((name) => `${name}-up-or-down-${RECURRENCE[marketType]}`)
    return { symbol, marketType, slugs }
  })
}

export interface SlugParts {
  readonly symbol: AssetSymbol
  readonly marketType: MarketType
  /** Start of the window, if the slug contains it. */
  readonly startMs: number | null
}

const BY_EPOCH = /^([a-z]+)-updown-(5m|15m|4h)-(\d{10})$/
const BY_HOUR = /^([a-z]+)-up-or-down-[a-z]+-\d{1,2}(?:-\d{4})?-\d{1,2}[ap]m-et$/
const BY_DAY = /^([a-z]+)-up-or-down-on-[a-z]+-\d{1,2}(?:-\d{4})?$/

/** Undefined for a market that is not one of ours. */
export function readSlug(slug: string): SlugParts | undefined {
  const epoch = BY_EPOCH.exec(slug)
  const symbol = symbolOf((epoch ?? BY_HOUR.exec(slug) ?? BY_DAY.exec(slug))?.[1])
  if (symbol === undefined) return undefined
  if (epoch !== null) {
    return { symbol, marketType: epoch[2] as MarketType, startMs: Number(epoch[3]) * 1_000 }
  }
  return { symbol, marketType: BY_HOUR.test(slug) ? '1h' : '24h', startMs: null }
}

function symbolOf(name: string | undefined): AssetSymbol | undefined {
  return SYMBOLS.find((symbol) => SHORT[symbol] === name || LONG[symbol] === name)
}
