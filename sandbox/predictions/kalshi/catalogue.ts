/** Which events and markets the venue shows, and in which of its two tiers. */
import type { Reply } from '../server/http.ts'
import type { StrikeEvent, StrikeMarket } from '../world/strikes.ts'
import { settledMsOf, statusOf, type Venue } from './view.ts'

const DAY_MS = 86_400_000
/** The sandbox keeps a week; markets settled before the cutoff are in the historical tier only. */
export const KALSHI_HISTORY_MS = 7 * DAY_MS
export const KALSHI_LIVE_MS = 3 * DAY_MS
/** The furthest close of a market that is listed: a day, and the six hours before its open. */
const AHEAD_MS = 31 * 3_600_000

/** The filter's words are not those of the answers. */
export const STATUS_FILTERS: Record<string, readonly string[]> = {
  unopened: ['initialized'],
  open: ['active'],
  paused: [],
  closed: ['closed', 'determined'],
  settled: ['finalized'],
}

export const fail = (status: number, code: string, message: string): Reply => ({
  status,
  body: { error: { code, message, details: message, service: 'market-data' } },
})
export const notFound = (): Reply => fail(404, 'not_found', 'not found')

export interface Catalogue {
  cutoffMs(): number
  isListed(event: StrikeEvent): boolean
  isHistorical(market: StrikeMarket): boolean
  /** Listed events of one tier, ordered by close. */
  events(query: URLSearchParams, historical: boolean): StrikeEvent[]
  findMarket(ticker: string): StrikeMarket | undefined
}

export function createCatalogue(venue: Venue): Catalogue {
  const { strikes } = venue.world
  const cutoffMs = () => venue.now() - KALSHI_LIVE_MS
  const isListed = (event: StrikeEvent) =>
    event.createdMs <= venue.now() && event.closeMs > venue.now() - KALSHI_HISTORY_MS
  const isOld = (event: Omit<StrikeEvent, 'markets'>) => settledMsOf(venue, event) < cutoffMs()

  function events(query: URLSearchParams, historical: boolean): StrikeEvent[] {
    const nowMs = venue.now()
    const named = query.get('event_ticker')
    if (named !== null) return [strikes.event(named)].filter((event) => event !== undefined).filter(isListed)
    const status = query.get('status')
    const second = (name: string) => (query.has(name) ? Number(query.get(name)) * 1_000 : undefined)
    const fromMs = Math.max(
      second('min_close_ts') ?? 0,
      second('min_settled_ts') === undefined ? 0 : (second('min_settled_ts') as number) - 3_600_000,
      status === 'open' || status === 'unopened'
        ? nowMs
        : nowMs - (historical ? KALSHI_HISTORY_MS : KALSHI_LIVE_MS + 3_600_000),
    )
    const toMs = Math.min(
      second('max_close_ts') ?? Number.POSITIVE_INFINITY,
      historical ? cutoffMs() : nowMs + AHEAD_MS,
    )
    const series = query.get('series_ticker')
    return strikes.series
      .filter((one) => series === null || one.ticker === series)
      .flatMap((one) => strikes.between(one, fromMs, toMs))
      .filter((event) => isListed(event) && isOld(event) === historical)
      .filter((event) => status === null || (STATUS_FILTERS[status] ?? []).includes(statusOf(venue, event)))
      .sort((a, b) => a.closeMs - b.closeMs || (a.ticker < b.ticker ? -1 : 1))
  }

  return {
    cutoffMs,
    isListed,
    isHistorical: (market) => isOld(market.event),
    events,
    findMarket(ticker) {
      const market = strikes.market(ticker)
      const event = market === undefined ? undefined : strikes.event(market.event.ticker)
      return event !== undefined && isListed(event) ? market : undefined
    },
  }
}
