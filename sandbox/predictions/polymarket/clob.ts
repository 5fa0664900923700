/** Order books and prices over REST. */
import { createWindowBudget } from '../server/budget.ts'
import { ok, type Reply, type Request, type Service } from '../server/http.ts'
import type { UpDown } from '../world/up-down.ts'
import { createLegBook, type Leg, lastChange, lastPrint, MIN_ORDER_SIZE, seenFrom } from './leg-book.ts'
import { isoSeconds, priceText } from './text.ts'
import { hasBookAt, slotOf, type Venue, viewOf } from './view.ts'

const NO_BOOK: Reply = { status: 404, body: { error: 'No orderbook exists for the requested token id' } }
const BUDGETS: Record<string, number> = {
  '/book': 1_500,
  '/price': 1_500,
  '/midpoint': 1_500,
  '/books': 500,
  '/prices-history': 1_000,
  '/tick-size': 200,
}
const ALL_BUDGET = 9_000
const MAX_BATCH = 500
const MAX_HISTORY_MS = 15 * 86_400_000
const INTERVALS_MS: Record<string, number> = {
  '1h': 3_600_000,
  '6h': 21_600_000,
  '1d': 86_400_000,
  '1w': 604_800_000,
  '1m': 2_592_000_000,
  max: 2_592_000_000,
  all: 2_592_000_000,
}
const RESOLVED_FIDELITY_MIN = 720

export function createClob(venue: Venue, scale = 1): Service {
  const { world } = venue
  const budgets = new Map(
    Object.entries(BUDGETS).map(([path, limit]) => [
      path,
      createWindowBudget(limit * scale, 10_000, venue.now),
    ]),
  )
  const all = createWindowBudget(ALL_BUDGET * scale, 10_000, venue.now)
  const refuse = (status: number, retryAfterS: number): Reply => ({
    status,
    body: status === 429 ? 'error code: 1015' : { error: 'internal error' },
    ...(status === 429 ? { headers: { 'retry-after': String(retryAfterS) } } : {}),
  })

  /** The token's market, if its book is there. */
  function find(token: string | null): { market: UpDown; leg: Leg } | undefined {
    const found = world.upDowns.byToken(token ?? '')
    return found !== undefined && hasBookAt(venue, found.market, venue.now()) ? found : undefined
  }
  function bookText({ market, leg }: { market: UpDown; leg: Leg }): string {
    const life = world.lifeOf(market)
    const slot = lastChange(life, slotOf(life, venue.now()))
    const book = createLegBook(market, life)
    book.load(slot)
    return book.restText(leg, life.timeOf(slot))
  }
  function top({ market, leg }: { market: UpDown; leg: Leg }): { bid: number; ask: number } {
    const life = world.lifeOf(market)
    const slot = slotOf(life, venue.now())
    const [bid, ask] = [life.bid(slot), life.ask(slot)]
    return leg === 0 ? { bid, ask } : { bid: 1_000 - ask, ask: 1_000 - bid }
  }

  function price(query: URLSearchParams): Reply {
    const found = find(query.get('token_id'))
    if (found === undefined) return NO_BOOK
    const side = query.get('side')?.toUpperCase()
    if (side !== 'BUY' && side !== 'SELL') return { status: 400, body: { error: 'Invalid side' } }
    const { bid, ask } = top(found)
    return ok({ price: priceText(side === 'BUY' ? bid : ask) })
  }
  function lastTrade(query: URLSearchParams): Reply {
    const found = find(query.get('token_id'))
    if (found === undefined) return NO_BOOK
    const life = world.lifeOf(found.market)
    const print = lastPrint(life, slotOf(life, venue.now()), found.leg)
    if (print === undefined) return ok({ price: '0.5', side: '' })
    const seen = seenFrom(print)
    return ok({ price: priceText(seen.price), side: seen.side })
  }

  function books(body: string): Reply {
    const wanted = JSON.parse(body) as { token_id?: unknown }[]
    if (!Array.isArray(wanted) || wanted.length > MAX_BATCH)
      return { status: 400, body: { error: 'Invalid payload' } }
    const texts = wanted
      .map((entry) => find(typeof entry.token_id === 'string' ? entry.token_id : null))
      .filter((found) => found !== undefined)
      .map(bookText)
    // The order of the answer is not that of the question.
    return ok(`[${texts.reverse().join(',')}]`)
  }

  /** Midpoints once a minute at an offset of the token's own; resolved markets only coarsely. */
  function history(query: URLSearchParams): Reply {
    const nowMs = venue.now()
    const found = world.upDowns.byToken(query.get('market') ?? '')
    if (found === undefined || found.market.bookFromMs > nowMs) return ok({ history: [] })
    const { market, leg } = found
    const interval = query.get('interval')
    const toMs = Math.min(nowMs, query.has('endTs') ? Number(query.get('endTs')) * 1_000 : nowMs)
    const fromMs =
      interval !== null ? toMs - (INTERVALS_MS[interval] ?? 86_400_000) : Number(query.get('startTs')) * 1_000
    if (interval === null && toMs - fromMs > MAX_HISTORY_MS)
      return { status: 400, body: { error: "invalid filters: 'startTs' and 'endTs' interval is too long" } }
    const view = viewOf(venue, market)
    const minutes = Math.max(view.isClosed ? RESOLVED_FIDELITY_MIN : 1, Number(query.get('fidelity') ?? 1))
    const stepMs = minutes * 60_000
    const offsetMs = (market.index % 60) * 1_000
    const points: { t: number; p: number }[] = []
    const first = Math.ceil((Math.max(fromMs, market.bookFromMs) - offsetMs) / stepMs) * stepMs + offsetMs
    for (let at = first; at <= Math.min(toMs, market.endMs + 90_000); at += stepMs) {
      const slot = slotOf(view.life, at)
      const mid = (view.life.bid(slot) + view.life.ask(slot)) / 2_000
      points.push({ t: Math.floor(at / 1_000), p: Math.round((leg === 0 ? mid : 1 - mid) * 1e4) / 1e4 })
    }
    return ok({ history: points })
  }

  function marketReply(market: UpDown | undefined): Reply {
    if (market === undefined || market.listedMs > venue.now())
      return { status: 404, body: { error: 'market not found' } }
    const view = viewOf(venue, market)
    const mid = (view.bid + view.ask) / 2_000
    const token = (leg: Leg) => {
      const isWinner = view.isClosed && view.isUp === (leg === 0)
      return {
        token_id: market.tokens[leg],
        outcome: leg === 0 ? 'Up' : 'Down',
        price: view.isClosed ? (isWinner ? 1 : 0) : Math.round((leg === 0 ? mid : 1 - mid) * 1e4) / 1e4,
        winner: isWinner,
      }
    }
    return ok({
      enable_order_book: view.hasBook,
      active: true,
      closed: view.isClosed,
      archived: false,
      accepting_orders: !view.isClosed,
      accepting_order_timestamp: isoSeconds(market.listedMs - 49_000),
      minimum_order_size: Number(MIN_ORDER_SIZE),
      minimum_tick_size: view.life.tick(view.slot) === 1 ? 0.001 : 0.01,
      condition_id: market.conditionId,
      question_id: `0x${market.conditionId.slice(34)}${market.conditionId.slice(2, 34)}`,
      question: market.question,
      description: market.question,
      market_slug: market.slug,
      end_date_iso: isoSeconds(market.endMs),
      game_start_time: isoSeconds(market.startMs),
      seconds_delay: 0,
      fpmm: '',
      maker_base_fee: 0,
      taker_base_fee: 0,
      notifications_enabled: true,
      neg_risk: false,
      neg_risk_market_id: '',
      neg_risk_request_id: '',
      icon: '',
      image: '',
      rewards: {
        rates: [{ asset_address: '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174', rewards_daily_rate: 30 }],
        min_size: 50,
        max_spread: 4.5,
      },
      is_50_50_outcome: false,
      tokens: [token(0), token(1)],
      tags: ['Crypto', 'Up or Down'],
    })
  }

  function compact(market: UpDown | undefined): Reply {
    if (market === undefined || market.listedMs > venue.now())
      return { status: 404, body: { error: 'market not found' } }
    const view = viewOf(venue, market)
    return ok({
      c: market.conditionId,
      mts: view.life.tick(view.slot) === 1 ? 0.001 : 0.01,
      mos: Number(MIN_ORDER_SIZE),
      nr: false,
      fd: { r: 0.07, e: 1 },
      t: market.tokens.map((token, leg) => ({ t: token, o: leg === 0 ? 'Up' : 'Down' })),
    })
  }

  function handle({ method, path, query, body }: Request): Reply {
    if (!all() || !(budgets.get(path)?.() ?? true)) return refuse(429, 10)
    const [, first = '', second] = path.split('/')
    if (path === '/books' && method === 'POST') {
      try {
        return books(body)
      } catch {
        return { status: 400, body: { error: 'Invalid payload' } }
      }
    }
    if (path === '/prices-history') return history(query)
    if (path === '/last-trade-price') return lastTrade(query)
    if (path === '/price') return price(query)
    if (path === '/time') return ok(String(Math.floor(venue.now() / 1_000)))
    if (first === 'markets' && second !== undefined) return marketReply(world.upDowns.byCondition(second))
    if (first === 'markets-by-token' && second !== undefined)
      return marketReply(world.upDowns.byToken(second)?.market)
    if (first === 'clob-markets' && second !== undefined) return compact(world.upDowns.byCondition(second))
    if (path === '/data/trades') return { status: 401, body: { error: 'Unauthorized/Invalid api key' } }
    if (!['/book', '/midpoint', '/spread', '/tick-size', '/fee-rate'].includes(path))
      return { status: 404, body: { error: 'not found' } }
    const found = find(query.get('token_id'))
    if (found === undefined) return NO_BOOK
    const { bid, ask } = top(found)
    if (path === '/book') return ok(bookText(found))
    if (path === '/midpoint') return ok({ mid: String((bid + ask) / 2_000) })
    if (path === '/spread') return ok({ spread: priceText(ask - bid) })
    if (path === '/tick-size') {
      const life = world.lifeOf(found.market)
      return ok({ minimum_tick_size: life.tick(slotOf(life, venue.now())) === 1 ? 0.001 : 0.01 })
    }
    return ok({ base_fee: 0 })
  }

  return {
    venue: 'polymarket',
    name: 'clob',
    refuse,
    handle,
    symbolOf: ({ query }) =>
      world.upDowns.byToken(query.get('token_id') ?? query.get('market') ?? '')?.market.symbol,
  }
}
