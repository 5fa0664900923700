/** The catalogue: lists of events and markets with the filters that a recorder uses. */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { many, whole } from '../../server/json.ts'
import { createWeightWindow } from '../../server/limits.ts'
import {
  type Flaws,
  ok,
  otherSymbol,
  type RestReply,
  type RestService,
  withQuery,
} from '../../server/service.ts'
import { mapInSlices } from '../../server/slices.ts'
import type { RestRequest } from '../../server/transport.ts'
import { isInCatalogue, laggingBy, type PredictionVenue } from '../venue.ts'
import { isUnlisted } from '../world/unlisted.ts'
import { MAX_WINDOW_MS, seriesSlugOf, TENORS, type Tenor, type UpDown } from '../world/up-down.ts'
import { refuse } from './clob.ts'
import { eventJson, marketJson } from './gamma-market.ts'
import { closedMsOf, counterpart, viewOf } from './view.ts'

const DAY_MS = 86_400_000
/** How far back the sandbox catalogue reaches; the real venue has everything. */
const HISTORY_MS = 7 * DAY_MS
/** Windows are listed within the day before they start. */
const AHEAD_MS = DAY_MS
/** Without faults, no settlement takes longer. */
const MAX_SETTLEMENT_MS = 3_600_000
const MAX_LIMIT = 500
const DEFAULT_LIMIT = 20
const WINDOW_MS = 10_000
const BUDGETS: Record<string, number> = { all: 4_000, '/events': 500, '/markets': 300 }

export function createGamma(venue: PredictionVenue, scale = 1): RestService {
  const budgets = new Map(
    Object.entries(BUDGETS).map(([name, limit]) => [
      name,
      createWeightWindow({ limit: limit * scale, windowMs: WINDOW_MS, now: venue.now }),
    ]),
  )
  const isOver = (name: string) => budgets.get(name)?.take(1).refused !== undefined

  async function handle({ path, query }: RestRequest, { lagMs }: Flaws): Promise<RestReply> {
    if (isOver('all') || isOver(path)) return refuse(429, 10)
    if (path !== '/markets' && path !== '/events')
      return { status: 404, body: { type: 'not found error', error: 'not found' } }
    const limit = Math.min(MAX_LIMIT, whole(query.get('limit'), DEFAULT_LIMIT))
    const offset = whole(query.get('offset'), 0)
    const seen = laggingBy(venue, lagMs)
    const page = select(seen, query).slice(offset, offset + limit)
    return ok(
      await mapInSlices(page, (market) => {
        const view = viewOf(seen, market)
        const [asMarket, asEvent] = [marketJson(view), eventJson(view, seen.now())]
        return path === '/markets' ? { ...asMarket, events: [asEvent] } : { ...asEvent, markets: [asMarket] }
      }),
    )
  }

  return {
    venue: 'polymarket',
    name: 'gamma',
    refuse,
    handle,
    misread(request, as) {
      const { upDowns } = venue.world
      if (as !== 'other-symbol')
        return withQuery(request, ['end_date_min', 'end_date_max'], (text) =>
          new Date(Date.parse(text) + as.offsetMs).toISOString(),
        )
      return (
        withQuery(request, ['slug'], (slug) => counterpart(venue, upDowns.bySlug(slug))?.slug) ??
        withQuery(
          request,
          ['condition_ids'],
          (id) => counterpart(venue, upDowns.byCondition(id))?.conditionId,
        ) ??
        withQuery(request, ['series_slug'], otherSeries)
      )
    },
    symbolOf({ query }) {
      const [conditionId] = many(query, 'condition_ids')
      if (conditionId !== undefined) return venue.world.upDowns.byCondition(conditionId)?.symbol
      const text = query.get('slug') ?? query.get('series_slug') ?? ''
      return SYMBOLS.find((symbol) => text.startsWith(symbol.toLowerCase()))
    },
  }
}

function otherSeries(slug: string): string | undefined {
  for (const symbol of SYMBOLS)
    for (const tenor of TENORS)
      if (seriesSlugOf(symbol, tenor) === slug) return seriesSlugOf(otherSymbol(symbol), tenor)
  return undefined
}

interface Filter {
  readonly isClosed: boolean
  readonly endMin: number
  readonly endMax: number
}

function select(venue: PredictionVenue, query: URLSearchParams): UpDown[] {
  const nowMs = venue.now()
  const time = (name: string, fallback: number) =>
    query.has(name) ? Date.parse(query.get(name) ?? '') : fallback
  const filter: Filter = {
    isClosed: query.get('closed') === 'true',
    endMin: time('end_date_min', Number.NEGATIVE_INFINITY),
    endMax: time('end_date_max', Number.POSITIVE_INFINITY),
  }
  const found = (namedMarkets(venue, query) ?? listedMarkets(venue, query.get('series_slug'), filter)).filter(
    (market) =>
      market.listedMs <= nowMs &&
      isInCatalogue(venue, 'polymarket', { symbol: market.symbol, beginsMs: market.startMs }) &&
      market.startMs >= nowMs - HISTORY_MS - 2 * DAY_MS &&
      nowMs >= closedMsOf(venue, market) === filter.isClosed &&
      market.endMs >= filter.endMin &&
      market.endMs <= filter.endMax,
  )
  const key = query.get('order') === 'endDate' ? 'endMs' : 'index'
  const sign = query.get('ascending') === 'false' ? -1 : 1
  return found.sort((a, b) => sign * (a[key] - b[key] || a.index - b.index))
}

function namedMarkets(venue: PredictionVenue, query: URLSearchParams): UpDown[] | undefined {
  if (!query.has('slug') && !query.has('condition_ids')) return undefined
  const { upDowns } = venue.world
  const named = [
    ...query.getAll('slug').map((slug) => upDowns.bySlug(slug)),
    ...many(query, 'condition_ids')
      .slice(0, 100)
      .map((id) => upDowns.byCondition(id)),
  ]
  return [...new Set(named)].filter((market) => market !== undefined)
}

/**
 * Without a series, all markets except the many five-minute windows. Only windows that can pass the filter are built.
 */
function listedMarkets(venue: PredictionVenue, series: string | null, filter: Filter): UpDown[] {
  const nowMs = venue.now()
  const isWanted = (symbol: AssetSymbol, tenor: Tenor) =>
    series === null ? tenor !== '5m' : seriesSlugOf(symbol, tenor) === series
  const hasDelays = venue.faults.history('late-resolution', 'polymarket').length > 0
  return SYMBOLS.flatMap((symbol) =>
    TENORS.filter((tenor) => isWanted(symbol, tenor)).flatMap((tenor) => {
      const lengthMs = MAX_WINDOW_MS[tenor]
      const oldestMs = filter.isClosed
        ? nowMs - HISTORY_MS
        : nowMs - (hasDelays ? 2 * DAY_MS : lengthMs + MAX_SETTLEMENT_MS)
      const fromMs = Math.max(oldestMs, filter.endMin - lengthMs)
      const toMs = Math.min(nowMs + AHEAD_MS, filter.endMax)
      return venue.world.upDowns
        .between(symbol, tenor, fromMs, toMs)
        .filter(({ unlisted }) => !isUnlisted(unlisted, nowMs))
    }),
  )
}
