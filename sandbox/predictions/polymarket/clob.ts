/** Order books over REST, and the market as the order book service describes it. */
import { createWeightWindow } from '../../server/limits.ts'
import { type Flaws, ok, type RestReply, type RestService, withQuery } from '../../server/service.ts'
import type { RestRequest } from '../../server/transport.ts'
import { laggingBy, type PredictionVenue } from '../venue.ts'
import type { UpDown } from '../world/up-down.ts'
import { createLegBook, type Leg, lastChange, MIN_ORDER_SIZE } from './leg-book.ts'
import { counterpart, hasBookAt, isoSeconds, slotOf, viewOf } from './view.ts'

const WINDOW_MS = 10_000
const ALL_BUDGET = 9_000
const BOOK_BUDGET = 1_500

export function createClob(venue: PredictionVenue, scale = 1): RestService {
  const { upDowns } = venue.world
  const { now } = venue
  const all = createWeightWindow({ limit: ALL_BUDGET * scale, windowMs: WINDOW_MS, now })
  const books = createWeightWindow({ limit: BOOK_BUDGET * scale, windowMs: WINDOW_MS, now })

  function handle({ path, query }: RestRequest, { lagMs }: Flaws): RestReply {
    const seen = laggingBy(venue, lagMs)
    if (all.take(1).refused !== undefined) return refuse(429, 10)
    if (path === '/book')
      return books.take(1).refused === undefined
        ? bookReply(seen, query.get('token_id') ?? '')
        : refuse(429, 10)
    if (path === '/time') return ok(String(Math.floor(now() / 1_000)))
    const [, first, conditionId] = path.split('/')
    return first === 'markets' && conditionId !== undefined
      ? marketReply(seen, upDowns.byCondition(conditionId))
      : { status: 404, body: { error: 'not found' } }
  }

  return {
    venue: 'polymarket',
    name: 'clob',
    refuse,
    handle,
    misread(request, as) {
      if (as !== 'other-symbol') return undefined
      const [, first, conditionId = ''] = request.path.split('/')
      const other = first === 'markets' ? counterpart(venue, upDowns.byCondition(conditionId)) : undefined
      if (other !== undefined) return { ...request, path: `/markets/${other.conditionId}` }
      return withQuery(request, ['token_id'], (token) => {
        const found = upDowns.byToken(token)
        return found === undefined ? undefined : counterpart(venue, found.market)?.tokens[found.leg]
      })
    },
    symbolOf: ({ query }) => upDowns.byToken(query.get('token_id') ?? '')?.market.symbol,
  }
}

export const refuse = (status: number, retryAfterS: number): RestReply =>
  status === 429
    ? { status, body: 'error code: 1015', headers: { 'retry-after': String(retryAfterS) } }
    : { status, body: { error: 'internal error' } }

function bookReply(venue: PredictionVenue, token: string): RestReply {
  const found = venue.world.upDowns.byToken(token)
  if (found === undefined || !hasBookAt(venue, found.market, venue.now()))
    return { status: 404, body: { error: 'No orderbook exists for the requested token id' } }
  const life = venue.world.lifeOf(found.market)
  const slot = lastChange(life, slotOf(life, venue.now()))
  const book = createLegBook(found.market, life)
  book.load(slot)
  return ok(book.restText(found.leg, life.timeOf(slot)))
}

function marketReply(venue: PredictionVenue, market: UpDown | undefined): RestReply {
  if (market === undefined || market.listedMs > venue.now())
    return { status: 404, body: { error: 'market not found' } }
  const view = viewOf(venue, market)
  const mid = (view.bid + view.ask) / 2_000
  const token = (leg: Leg) => {
    const isWinner = view.isClosed && !market.isSplit && view.isUp === (leg === 0)
    const paid = market.isSplit ? 0.5 : isWinner ? 1 : 0
    return {
      token_id: market.tokens[leg],
      outcome: leg === 0 ? 'Up' : 'Down',
      price: view.isClosed ? paid : Math.round((leg === 0 ? mid : 1 - mid) * 1e4) / 1e4,
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
    is_50_50_outcome: view.isClosed && market.isSplit,
    tokens: [token(0), token(1)],
    tags: ['Crypto', 'Up or Down'],
  })
}
