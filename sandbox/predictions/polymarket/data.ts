/** Trades and price history: the second version of the data service, and the retired first one. */
import { hash } from 'node:crypto'
import { many, whole } from '../../server/json.ts'
import { createWeightWindow } from '../../server/limits.ts'
import {
  type Flaws,
  firstHalf,
  ok,
  type RestReply,
  type RestService,
  withQuery,
} from '../../server/service.ts'
import type { RestRequest } from '../../server/transport.ts'
import { laggingBy, type PredictionVenue } from '../venue.ts'
import type { MarketTrade } from '../world/life.ts'
import type { UpDown } from '../world/up-down.ts'
import { settle } from './fills.ts'
import { seenFrom } from './leg-book.ts'
import { counterpart, slotOf, viewOf } from './view.ts'

/** Trades appear here only after the block in which they were settled. */
const LAG_MS = 6_000
const WINDOW_MS = 10_000
const ALL_BUDGET = 800
const TRADES_BUDGET = 300
const MAX_LIMIT = 1_000
const MAX_CONDITIONS = 20
const MAX_V1_OFFSET = 3_000
const MAX_POINTS = 10_000

export const transactionOf = (market: UpDown, trade: MarketTrade): string =>
  `0x${hash('sha256', `${market.conditionId}|${trade.slot}`)}`

const walletOf = (trade: MarketTrade): string =>
  `0x${hash('sha256', `wallet ${trade.size % 977}`).slice(0, 40)}`

interface Row {
  readonly market: UpDown
  readonly trade: MarketTrade
}

export function createData(venue: PredictionVenue, scale = 1): RestService {
  const { now } = venue
  const all = createWeightWindow({ limit: ALL_BUDGET * scale, windowMs: WINDOW_MS, now })
  const trades = createWeightWindow({ limit: TRADES_BUDGET * scale, windowMs: WINDOW_MS, now })
  const fail = (status: number, code: string, message: string): RestReply => ({
    status,
    body: {
      error: message,
      code,
      retryable: status === 429 || status >= 500,
      trace_id: hash('sha256', `${now()}`).slice(0, 32),
    },
  })
  const refuse = (status: number, retryAfterS: number): RestReply => ({
    ...(status === 429
      ? fail(status, 'rate_limited', 'too many requests')
      : fail(status, 'unavailable', 'unavailable')),
    headers: { 'retry-after': String(retryAfterS) },
  })

  function tradesV2(seen: PredictionVenue, query: URLSearchParams, isPartial: boolean): RestReply {
    if (query.has('offset')) return fail(400, 'bad_request', 'offset is not supported, use cursor')
    const conditions = many(query, 'condition')
    if (conditions.length > MAX_CONDITIONS) return fail(400, 'bad_request', 'too many conditions')
    if (query.has('start') || query.has('end')) return fail(400, 'bad_request', 'start and end need user')
    if (trades.take(1).refused !== undefined) return refuse(429, 10)
    const limit = Math.max(1, Math.min(MAX_LIMIT, whole(query.get('limit'), 100)))
    const rows = rowsOf(seen, conditions)
    // The cursor counts from the oldest trade, so that new trades never shift a page.
    const cursor = query.get('cursor')
    const end = cursor === null ? rows.length : Number(Buffer.from(cursor, 'base64url').toString())
    if (!Number.isSafeInteger(end) || end < 0 || end > rows.length)
      return fail(400, 'bad_cursor', 'invalid cursor')
    const start = rows.length - end
    const page = rows.slice(start, start + (isPartial ? Math.ceil(Math.min(limit, end) / 2) : limit))
    const left = end - page.length
    return ok({
      data: page.map(rowJson),
      pagination: {
        limit,
        offset: 0,
        has_more: left > 0,
        next_cursor: left > 0 ? Buffer.from(String(left)).toString('base64url') : null,
      },
    })
  }

  function tradesV1(seen: PredictionVenue, query: URLSearchParams, isPartial: boolean): RestReply {
    const offset = whole(query.get('offset'), 0)
    if (offset > MAX_V1_OFFSET)
      return { status: 400, body: { error: 'max historical activity offset of 3000 exceeded' } }
    const limit = Math.min(MAX_LIMIT, whole(query.get('limit'), 100))
    const rows = rowsOf(seen, many(query, 'market')).slice(offset, offset + limit)
    return ok((isPartial ? firstHalf(rows) : rows).map(rowJson).map(camelCase))
  }

  function handle({ path, query }: RestRequest, { lagMs, isPartial }: Flaws): RestReply {
    const seen = laggingBy(venue, lagMs)
    if (all.take(1).refused !== undefined) return refuse(429, 10)
    if (path === '/v2/trades') return tradesV2(seen, query, isPartial)
    if (path === '/trades') return tradesV1(seen, query, isPartial)
    if (path === '/v2/prices-history') return priceHistory(seen, query, isPartial)
    return fail(404, 'not_found', 'not found')
  }

  return {
    venue: 'polymarket',
    name: 'data',
    refuse,
    handle,
    cutsPages: true,
    misread: (request, as) =>
      as === 'other-symbol'
        ? withQuery(
            request,
            ['condition', 'market'],
            (id) => counterpart(venue, venue.world.upDowns.byCondition(id))?.conditionId,
          )
        : withQuery(request, ['start', 'end'], (text) =>
            String(Number(text) + Math.round(as.offsetMs / 1_000)),
          ),
    symbolOf: ({ query }) =>
      venue.world.upDowns.byCondition(many(query, 'condition')[0] ?? query.get('market') ?? '')?.symbol,
  }
}

/** Newest first. */
function rowsOf(venue: PredictionVenue, conditions: readonly string[]): Row[] {
  const nowMs = venue.now()
  const rows = conditions.flatMap((id) => {
    const market = venue.world.upDowns.byCondition(id)
    if (market === undefined || market.listedMs > nowMs) return []
    const life = venue.world.lifeOf(market)
    const count = life.tradesUntil(slotOf(life, nowMs - LAG_MS))
    return life
      .trades(0, count)
      .flatMap((trade) => settle(venue.world, market, trade).fills.map((fill) => ({ market, trade: fill })))
  })
  return rows.sort((a, b) => b.trade.timeMs - a.trade.timeMs)
}

function rowJson({ market, trade }: Row): Record<string, unknown> {
  const { leg, price, side } = seenFrom(trade)
  return {
    proxy_wallet: walletOf(trade),
    side,
    token_id: market.tokens[leg],
    condition_id: market.conditionId,
    size: trade.size / 100,
    price: price / 1_000,
    timestamp: Math.floor(trade.timeMs / 1_000),
    title: market.question,
    slug: market.slug,
    icon: '',
    event_slug: market.slug,
    outcome: leg === 0 ? 'Up' : 'Down',
    outcome_index: leg,
    name: '',
    pseudonym: '',
    bio: '',
    profile_image: '',
    profile_image_optimized: '',
    transaction_hash: transactionOf(market, trade),
  }
}

/** The member names of version 1. */
const camelCase = ({ token_id: asset, ...row }: Record<string, unknown>): Record<string, unknown> => ({
  ...Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ),
  asset,
})

function priceHistory(venue: PredictionVenue, query: URLSearchParams, isPartial: boolean): RestReply {
  const paged = (points: unknown[]): RestReply => {
    const data = isPartial ? firstHalf(points) : points
    return ok({ data, pagination: { limit: data.length, offset: 0, has_more: false, next_cursor: null } })
  }
  const found = venue.world.upDowns.byToken(query.get('token_id') ?? '')
  const nowMs = venue.now()
  if (found === undefined || found.market.listedMs > nowMs) return paged([])
  const { market, leg } = found
  const bucketS = Math.min(86_400, Math.max(60, whole(query.get('bucket_seconds'), 60)))
  const bucketMs = bucketS * 1_000
  const toMs = Math.min(nowMs, whole(query.get('end'), Math.floor(nowMs / 1_000)) * 1_000)
  const startMs = whole(query.get('start'), Math.floor(toMs / 1_000) - 86_400) * 1_000
  const firstMs = Math.ceil(Math.max(market.bookFromMs, startMs) / bucketMs) * bucketMs
  const view = viewOf(venue, market)
  const points: unknown[] = []
  for (let at = firstMs; at < Math.min(toMs, market.endMs); at += bucketMs) {
    const slot = slotOf(view.life, at)
    const mid = (view.life.bid(slot) + view.life.ask(slot)) / 2_000
    const price = leg === 0 ? mid : Math.round((1 - mid) * 1e4) / 1e4
    points.push({ timestamp: at / 1_000, price, resolution_seconds: bucketS })
    if (points.length >= MAX_POINTS) break
  }
  if (view.isClosed && view.closedMs < toMs)
    points.push({
      timestamp: Math.floor(view.closedMs / 1_000),
      price: view.isUp === (leg === 0) ? 1 : 0,
      resolution_seconds: 0,
    })
  return paged(points)
}
