/** The catalogue: markets, events and series with their filters and two ways of paging. */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { mapInSlices } from '../../exchanges/server/slices.ts'
import { createWindowBudget } from '../server/budget.ts'
import { ok, type Reply, type Request, type Service } from '../server/http.ts'
import { many, whole } from '../server/query.ts'
import { seriesSlugOf, TENORS, type UpDown } from '../world/up-down.ts'
import { eventJson, marketJson, seriesJson } from './gamma-market.ts'
import { closedMsOf, type Venue, viewOf } from './view.ts'

const DAY_MS = 86_400_000
/** How far back the sandbox catalogue reaches; the venue keeps everything. */
export const CATALOGUE_HISTORY_MS = 7 * DAY_MS
const AHEAD_MS = 2 * DAY_MS
const OFFSET_LIMITS = { markets: { fallback: 20, max: 500 }, events: { fallback: 20, max: 500 } }
const KEYSET_LIMITS = { markets: 100, events: 500 }
const WINDOW_MS = 10_000
const BUDGETS: Record<string, number> = { all: 4_000, '/events': 500, '/markets': 300 }

const error = (status: number, message: string): Reply => ({
  status,
  body: { type: status === 422 ? 'validation error' : 'not found error', error: message },
})

export function createGamma(venue: Venue, scale = 1): Service {
  const { world } = venue
  const budgets = new Map(
    Object.entries(BUDGETS).map(([name, limit]) => [
      name,
      createWindowBudget(limit * scale, WINDOW_MS, venue.now),
    ]),
  )
  const refuse = (status: number, retryAfterS: number): Reply => ({
    status,
    body: status === 429 ? 'error code: 1015' : { error: 'internal error' },
    ...(status === 429 ? { headers: { 'retry-after': String(retryAfterS) } } : {}),
  })

  /** Windows that the catalogue shows, before the filters that need a look at the market. */
  function candidates(query: URLSearchParams): UpDown[] {
    const nowMs = venue.now()
    const listed = (market: UpDown | undefined) =>
      market !== undefined &&
      market.listedMs <= nowMs &&
      market.startMs >= nowMs - CATALOGUE_HISTORY_MS - AHEAD_MS
    const named = [
      ...query.getAll('slug').map((slug) => world.upDowns.bySlug(slug)),
      ...query.getAll('id').map((id) => world.upDowns.byGammaId(id)),
      ...many(query, 'condition_ids')
        .slice(0, 100)
        .map((id) => world.upDowns.byCondition(id)),
      ...many(query, 'clob_token_ids').map((token) => world.upDowns.byToken(token)?.market),
    ]
    if (['slug', 'id', 'condition_ids', 'clob_token_ids'].some((name) => query.has(name)))
      return [...new Set(named)].filter((market): market is UpDown => listed(market))
    const series = query.get('series_slug')
    const isWanted = (symbol: AssetSymbol, tenor: (typeof TENORS)[number]) =>
      series === null ? tenor !== '5m' : seriesSlugOf(symbol, tenor) === series
    const isOpenOnly = query.get('closed') !== 'true'
    const fromMs = nowMs - (isOpenOnly ? 2 * DAY_MS : CATALOGUE_HISTORY_MS)
    return SYMBOLS.flatMap((symbol) =>
      TENORS.filter((tenor) => isWanted(symbol, tenor)).flatMap((tenor) =>
        world.upDowns.between(symbol, tenor, fromMs, nowMs + AHEAD_MS),
      ),
    ).filter(listed)
  }

  function select(query: URLSearchParams): UpDown[] {
    const nowMs = venue.now()
    const wantsClosed = query.get('closed') === 'true'
    const time = (name: string, fallback: number) =>
      query.has(name) ? Date.parse(query.get(name) ?? '') : fallback
    const [endMin, endMax] = [
      time('end_date_min', Number.NEGATIVE_INFINITY),
      time('end_date_max', Number.POSITIVE_INFINITY),
    ]
    const [startMin, startMax] = [
      time('start_date_min', Number.NEGATIVE_INFINITY),
      time('start_date_max', Number.POSITIVE_INFINITY),
    ]
    const found = candidates(query).filter(
      (market) =>
        nowMs >= closedMsOf(venue, market) === wantsClosed &&
        market.endMs >= endMin &&
        market.endMs <= endMax &&
        market.listedMs >= startMin &&
        market.listedMs <= startMax,
    )
    const key =
      query.get('order') === 'startDate' ? 'listedMs' : query.get('order') === 'endDate' ? 'endMs' : 'index'
    const sign = query.get('ascending') === 'false' ? -1 : 1
    return found.sort((a, b) => sign * (a[key] - b[key] || a.index - b.index))
  }

  const withEvent = (market: UpDown): Record<string, unknown> => {
    const view = viewOf(venue, market)
    return { ...marketJson(view), events: [eventJson(view, venue.now())] }
  }
  const withMarkets = (market: UpDown): Record<string, unknown> => {
    const view = viewOf(venue, market)
    return { ...eventJson(view, venue.now()), markets: [marketJson(view)] }
  }

  async function list(kind: 'markets' | 'events', query: URLSearchParams): Promise<Reply> {
    const { fallback, max } = OFFSET_LIMITS[kind]
    const limit = Math.min(max, whole(query.get('limit'), fallback))
    const offset = whole(query.get('offset'), 0)
    const page = select(query).slice(offset, offset + limit)
    return ok(await mapInSlices(page, kind === 'markets' ? withEvent : withMarkets))
  }

  async function keyset(kind: 'markets' | 'events', query: URLSearchParams): Promise<Reply> {
    if (query.has('offset')) return error(422, 'offset is not supported by keyset pagination')
    const limit = Math.min(KEYSET_LIMITS[kind], whole(query.get('limit'), 20))
    const found = select(query)
    const after = Buffer.from(query.get('after_cursor') ?? '', 'base64url').toString()
    const start = after === '' ? 0 : found.findIndex((market) => market.gammaId === after) + 1
    if (after !== '' && start === 0) return error(422, 'invalid cursor')
    const page = found.slice(start, start + limit)
    const isLast = start + limit >= found.length
    return ok({
      [kind]: await mapInSlices(page, kind === 'markets' ? withEvent : withMarkets),
      ...(isLast ? {} : { next_cursor: Buffer.from(page.at(-1)?.gammaId ?? '').toString('base64url') }),
    })
  }

  function one(kind: string, market: UpDown | undefined): Reply {
    if (market === undefined || market.listedMs > venue.now()) return error(404, 'not found')
    return ok(kind === 'markets' ? withEvent(market) : withMarkets(market))
  }

  function handle({ path, query }: Request): Promise<Reply> | Reply {
    if (!(budgets.get('all')?.() ?? true) || !(budgets.get(path)?.() ?? true)) return refuse(429, 10)
    const [, kind = '', second, third] = path.split('/')
    if (kind === 'series' && second === undefined) {
      const slug = query.get('slug')
      const all = SYMBOLS.flatMap((symbol) => TENORS.map((tenor) => seriesJson(symbol, tenor, venue.now())))
      return ok(slug === null ? all : all.filter((series) => series.slug === slug))
    }
    if (kind !== 'markets' && kind !== 'events') return error(404, 'not found')
    if (second === undefined) return list(kind, query)
    if (second === 'keyset') return keyset(kind, query)
    if (second === 'slug') return one(kind, world.upDowns.bySlug(third ?? ''))
    if (!/^\d+$/.test(second)) return error(422, 'id is invalid')
    return one(kind, world.upDowns.byGammaId(kind === 'events' ? String(Number(second) + 900_000) : second))
  }

  return {
    venue: 'polymarket',
    name: 'gamma',
    refuse,
    handle,
    symbolOf({ query }) {
      const text = query.get('slug') ?? query.get('series_slug') ?? ''
      return SYMBOLS.find((symbol) => text.startsWith(symbol.toLowerCase()))
    },
  }
}
