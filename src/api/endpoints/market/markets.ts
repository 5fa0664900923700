import { Type } from 'typebox'
import { flat } from '../../../contract/costs.ts'
import { at, list, object } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES, previewAnswer, ROW_SEPARATOR } from '../../../contract/envelopes.ts'
import { bool, choice, optional, page, source, symbol } from '../../../contract/params.ts'
import type { CursorPlace } from '../../../core/cursor.ts'
import { integerField, nullableIntegerField } from '../../../core/rows/fields.ts'
import { MARKET_STATUSES, type MarketType, marketTextAt } from '../../../core/rows/market.ts'
import { withLegs } from '../../../core/rows/market-legs.ts'
import { MarketRecord } from '../../../core/rows/schemas.ts'
import type { Source } from '../../../core/source.ts'
import { type AssetSymbol, parseSymbol } from '../../../core/symbol.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { MarketFilter, MarketPosition } from '../../../store/markets.ts'
import { endpoint } from '../services.ts'
import { NO_COVERAGE } from './coverage-meta.ts'
import { foreignCursor, walkBinding } from './cursor-walk.ts'
import { findMarket } from './find-market.ts'
import { NOT_CLAMPED } from './list-rows.ts'
import { identifierParam, marketTypeParam } from './market-params.ts'
import { withOpenInterest } from './perpetual-open-interest.ts'

const SOURCES = ['predmkt_a', 'predmkt_b', 'perpdex'] as const satisfies Source[]

/** Counting stops here, because it delays other requests. */
const MAX_TOTAL = 2_000

const MarketsMeta = Type.Object({
  total: nullableIntegerField(
    `Markets that fit the filters, on all pages; null where they are more than ${MAX_TOTAL.toLocaleString('en')}.`,
  ),
  limit: integerField('Rows per page that are allowed here.'),
  offset: nullableIntegerField('Rows of the pages before this one.'),
})

export const markets = endpoint({
  path: 'GET /v1/markets',
  doc: {
    tag: 'market',
    summary: 'Markets and their identifiers',
    description:
      'Latest end first, perpetuals before all; with `order=asc` the soonest end first. `active` and `status` left out list all.',
  },
  access: { scope: 'market' },
  params: {
    source: optional(source(...SOURCES)),
    symbol: optional(symbol()),
    market_type: optional(marketTypeParam),
    active: optional(
      bool('Only markets that have not ended (true), or that have ended or are resolved (false).'),
    ),
    status: optional(choice('Only markets in this state.', MARKET_STATUSES)),
    ...page({ default: 50, max: 500 }),
    order: optional(choice('Order by end. Left out: latest first.', ['asc', 'desc'] as const)),
  },
  cost: flat(25),
  returns: list('Market', MarketRecord, MarketsMeta),
  aliases: [
    at('GET /v1/predmkt_a/markets', { source: 'predmkt_a' }, 'Markets of prediction market A'),
    at('GET /v1/predmkt_b', { source: 'predmkt_b', active: true }, 'Active markets of prediction market B'),
    at(
      'GET /v1/predmkt_b/markets',
      { source: 'predmkt_b', active: true },
      'Active markets of prediction market B',
    ),
    at('GET /v1/perpdex', { source: 'perpdex' }, 'Perpetual markets'),
    at('GET /v1/perpdex/markets', { source: 'perpdex' }, 'Perpetual markets'),
  ],
  run: async (context) => {
    const { input, services } = context
    const { store, cursors } = services.market
    const binding = walkBinding(context.path, input)
    const { order, position, offset } = readWalk(input, (after) => cursors.decode(binding, after))
    const filter = {
      ...(input.source ? { source: input.source } : {}),
      ...(input.symbol ? { symbol: parseSymbol(input.symbol) as AssetSymbol } : {}),
      ...(input.market_type ? { marketType: input.market_type as MarketType } : {}),
      ...stateFilter(input, context.nowMs),
    }
    const query = { ...filter, limit: context.rowLimit, order, ...(position ? { position } : {}) }
    if (context.dryRun) return previewAnswer(await store.markets.count(query), false)
    const [page, total] = await Promise.all([
      store.markets.list({ ...query, separator: ROW_SEPARATOR }),
      store.markets.count({ ...filter, limit: MAX_TOTAL + 1 }),
    ])
    const { last } = page
    const next = offset === null ? null : offset + page.count
    const rows = await servedText(store, page.text, context.nowMs)
    return {
      kind: 'list',
      rows,
      count: page.count,
      hasMore: page.hasMore,
      nextCursor:
        page.hasMore && last
          ? cursors.encode(binding, [last.endMs, last.source, last.marketId, order, next])
          : null,
      meta: {
        symbol: input.symbol ?? null,
        source: input.source ?? null,
        interval: null,
        ...NOT_CLAMPED,
        ignored: context.ignored,
        coverage: NO_COVERAGE,
        total: total > MAX_TOTAL ? null : total,
        limit: context.rowLimit,
        offset,
      },
      sealed: false,
      clamped: false,
      coverageComplete: true,
    }
  },
})

/** Converts stored texts to what is served at an instant. */
async function servedText(store: EnvironmentStore, text: string, nowMs: number): Promise<string> {
  return withLegs(await withOpenInterest(store, marketTextAt(text, nowMs), nowMs))
}

function stateFilter(
  asked: { active?: boolean | undefined; status?: (typeof MARKET_STATUSES)[number] | undefined },
  atMs: number,
): Pick<MarketFilter, 'state'> {
  const { active, status } = asked
  if (active === undefined && status === undefined) return {}
  return {
    state: { atMs, ...(active === undefined ? {} : { active }), ...(status === undefined ? {} : { status }) },
  }
}

/** The cursor contains the order, so that the next page needs only the cursor and the filters. */
function readWalk(
  asked: { after?: string | undefined; order?: 'asc' | 'desc' | undefined },
  decode: (after: string) => CursorPlace | undefined,
): { order: 'asc' | 'desc'; position?: MarketPosition; offset: number | null } {
  if (asked.after === undefined) return { order: asked.order ?? 'desc', offset: 0 }
  const place = decode(asked.after)
  const order = place?.[3] === 'asc' ? 'asc' : 'desc'
  if (place === undefined || (asked.order !== undefined && asked.order !== order)) throw foreignCursor()
  const [endMs, source, marketId, , offset] = place
  return {
    order,
    // Cursors of earlier versions do not contain it.
    offset: typeof offset === 'number' ? offset : null,
    position: {
      endMs: endMs === null ? null : Number(endMs),
      source: source as Source,
      marketId: String(marketId),
    },
  }
}

export const market = endpoint({
  path: 'GET /v1/markets/{identifier}',
  doc: { tag: 'market', summary: 'One market by any of its identifiers' },
  access: { scope: 'market' },
  // A perpetual is identified by its coin.
  params: { identifier: identifierParam('BTC'), source: optional(source(...SOURCES)) },
  cost: flat(25),
  returns: object('MarketRecord', MarketRecord),
  errors: ['market_not_found'],
  aliases: [
    at(
      'GET /v1/predmkt_a/markets/{identifier}',
      { source: 'predmkt_a' },
      'One market of prediction market A',
      { identifier: identifierParam((samples) => samples.market) },
    ),
  ],
  run: async ({ input, services, nowMs }) => {
    const { store } = services.market
    const { text } = await findMarket(store, input.identifier, {
      param: 'identifier',
      sources: [input.source],
    })
    return {
      kind: 'text',
      text: await servedText(store, text, nowMs),
      contentType: CONTENT_TYPES.json,
      units: { row: 1 },
    }
  },
})
