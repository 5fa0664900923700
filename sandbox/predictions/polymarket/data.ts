/** Trades, open interest and resolutions: the second version of the data service, and the retired first one. */
import { createHash } from 'node:crypto'
import { createWindowBudget } from '../server/budget.ts'
import { ok, type Reply, type Request, type Service } from '../server/http.ts'
import { many, whole } from '../server/query.ts'
import type { Print } from '../world/life.ts'
import type { UpDown } from '../world/up-down.ts'
import { seenFrom } from './leg-book.ts'
import { isoSeconds } from './text.ts'
import { slotOf, type Venue, viewOf } from './view.ts'

/** Trades appear here after the block they were settled in. */
const LAG_MS = 6_000
const MAX_LIMIT = 1_000
const MAX_CONDITIONS = 20
const MAX_V1_OFFSET = 3_000
const MAX_POINTS = 10_000

export const transactionOf = (market: UpDown, print: Print): string =>
  `0x${createHash('sha256').update(`${market.conditionId}|${print.slot}`).digest('hex')}`

const walletOf = (print: Print): string =>
  `0x${createHash('sha256')
    .update(`wallet ${print.size % 977}`)
    .digest('hex')
    .slice(0, 40)}`

interface Row {
  readonly market: UpDown
  readonly print: Print
}

export function createData(venue: Venue, scale = 1): Service {
  const { world } = venue
  const all = createWindowBudget(800 * scale, 10_000, venue.now)
  const trades = createWindowBudget(300 * scale, 10_000, venue.now)
  const fail = (status: number, code: string, message: string): Reply => ({
    status,
    body: {
      error: message,
      code,
      retryable: status === 429 || status >= 500,
      trace_id: createHash('sha256').update(`${venue.now()}`).digest('hex').slice(0, 32),
    },
  })
  const refuse = (status: number, retryAfterS: number): Reply => ({
    ...fail(
      status,
      status === 429 ? 'rate_limited' : 'unavailable',
      status === 429 ? 'too many requests' : 'unavailable',
    ),
    headers: { 'retry-after': String(retryAfterS) },
  })

  /** Newest first. */
  function rowsOf(conditions: readonly string[]): Row[] {
    const nowMs = venue.now()
    const rows = conditions.flatMap((id) => {
      const market = world.upDowns.byCondition(id)
      if (market === undefined || market.listedMs > nowMs) return []
      const life = world.lifeOf(market)
      const count = life.printsUntil(slotOf(life, nowMs - LAG_MS))
      // To look at the prints is to work out all of them: not for the hundreds of windows that nobody trades yet.
      return count === 0 ? [] : life.prints.slice(0, count).map((print) => ({ market, print }))
    })
    return rows.sort((a, b) => b.print.timeMs - a.print.timeMs)
  }

  function rowJson({ market, print }: Row): Record<string, unknown> {
    const { leg, price, side } = seenFrom(print)
    return {
      proxy_wallet: walletOf(print),
      side,
      token_id: market.tokens[leg],
      condition_id: market.conditionId,
      size: print.size / 100,
      price: price / 1_000,
      timestamp: Math.floor(print.timeMs / 1_000),
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
      transaction_hash: transactionOf(market, print),
    }
  }
  const camel = (row: Record<string, unknown>): Record<string, unknown> => ({
    ...Object.fromEntries(
      Object.entries(row)
        .filter(([key]) => key !== 'token_id')
        .map(([key, value]) => [
          key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
          value,
        ]),
    ),
    asset: row.token_id,
  })

  function tradesV2(query: URLSearchParams): Reply {
    if (query.has('offset')) return fail(400, 'bad_request', 'offset is not supported, use cursor')
    const conditions = many(query, 'condition')
    if (conditions.length > MAX_CONDITIONS) return fail(400, 'bad_request', 'too many conditions')
    if ((query.has('start') || query.has('end')) && !query.has('user'))
      return fail(400, 'bad_request', 'start and end need user')
    if (!trades()) return refuse(429, 10)
    const limit = Math.max(1, Math.min(MAX_LIMIT, whole(query.get('limit'), 100)))
    const side = query.get('side')
    const rows = rowsOf(conditions).filter(
      (row) => side === null || seenFrom(row.print).side === side.toUpperCase(),
    )
    // The cursor counts from the oldest trade, so that new trades never shift a page.
    const cursor = query.get('cursor')
    const end = cursor === null ? rows.length : Number(Buffer.from(cursor, 'base64url').toString())
    if (!Number.isSafeInteger(end) || end < 0 || end > rows.length)
      return fail(400, 'bad_cursor', 'invalid cursor')
    const start = rows.length - end
    const page = rows.slice(start, start + limit)
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

  function tradesV1(query: URLSearchParams): Reply {
    const offset = whole(query.get('offset'), 0)
    if (offset > MAX_V1_OFFSET)
      return { status: 400, body: { error: 'max historical activity offset of 3000 exceeded' } }
    const limit = Math.min(MAX_LIMIT, whole(query.get('limit'), 100))
    return ok(
      rowsOf(many(query, 'market'))
        .slice(offset, offset + limit)
        .map(rowJson)
        .map(camel),
    )
  }

  const paged = (data: unknown[]): Reply =>
    ok({ data, pagination: { limit: data.length, offset: 0, has_more: false, next_cursor: null } })

  function resolutions(query: URLSearchParams): Reply {
    return paged(
      many(query, 'condition').flatMap((id) => {
        const market = world.upDowns.byCondition(id)
        const view = market === undefined || market.listedMs > venue.now() ? undefined : viewOf(venue, market)
        if (view === undefined || !view.isClosed) return []
        return [
          {
            condition_id: id,
            payouts: view.isUp ? ['1000000', '0'] : ['0', '1000000'],
            reporter: 'CHAINLINK',
            resolved_at: isoSeconds(view.closedMs),
          },
        ]
      }),
    )
  }

  function history(query: URLSearchParams): Reply {
    const found = world.upDowns.byToken(query.get('token_id') ?? '')
    const nowMs = venue.now()
    if (found === undefined || found.market.listedMs > nowMs) return paged([])
    const { market, leg } = found
    const bucketS = Math.min(86_400, Math.max(60, whole(query.get('bucket_seconds'), 60)))
    const toMs = Math.min(nowMs, whole(query.get('end'), Math.floor(nowMs / 1_000)) * 1_000)
    const fromMs = Math.max(
      market.bookFromMs,
      whole(query.get('start'), Math.floor(toMs / 1_000) - 86_400) * 1_000,
    )
    const view = viewOf(venue, market)
    const points: unknown[] = []
    for (
      let at = Math.ceil(fromMs / (bucketS * 1_000)) * bucketS * 1_000;
      at < Math.min(toMs, market.endMs);
      at += bucketS * 1_000
    ) {
      const slot = slotOf(view.life, at)
      const mid = (view.life.bid(slot) + view.life.ask(slot)) / 2_000
      points.push({
        timestamp: at / 1_000,
        price: leg === 0 ? mid : Math.round((1 - mid) * 1e4) / 1e4,
        resolution_seconds: bucketS,
      })
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

  function handle({ path, query }: Request): Reply {
    if (!all()) return refuse(429, 10)
    if (path === '/v2/trades') return tradesV2(query)
    if (path === '/trades') return tradesV1(query)
    if (path === '/v2/resolutions') return resolutions(query)
    if (path === '/v2/prices-history') return history(query)
    if (path === '/v2/status') return ok({ status: 'ok', indexed_at: isoSeconds(venue.now() - LAG_MS) })
    if (path === '/v2/oi')
      return paged(
        many(query, 'condition').flatMap((id) => {
          const market = world.upDowns.byCondition(id)
          return market === undefined || market.listedMs > venue.now()
            ? []
            : [{ condition_id: id, value: Math.round(viewOf(venue, market).volume * 600) / 1_000 }]
        }),
      )
    return fail(404, 'not_found', 'not found')
  }

  return {
    venue: 'polymarket',
    name: 'data',
    refuse,
    handle,
    symbolOf: ({ query }) =>
      world.upDowns.byCondition(many(query, 'condition')[0] ?? query.get('market') ?? '')?.symbol,
  }
}
