import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textLevels } from '../../../test/predictions/levels.ts'
import {
  type Answer,
  type Asked,
  collect,
  fastClock,
  type Loopback,
  startLoopback,
} from '../../../test/predictions/loopback.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { HistoryPage } from '../venue.ts'
import { bookHash, HASH_KEYS } from './book-hash.ts'
import { createPolymarket } from './venue.ts'

const WINDOW = 1_784_851_200
const START = WINDOW * 1_000 + 10_000
const CHANNELS: Channel[] = (['markets', 'book', 'trades', 'reference_price'] as const).map((topic) => ({
  topic,
  symbol: 'BTC',
}))
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()

interface TestMarket {
  readonly start: number
  readonly slug: string
  readonly condition: string
  readonly up: string
  readonly down: string
}

const marketAt = (start: number): TestMarket => ({
  start,
  slug: `btc-updown-5m-${start}`,
  condition: `0x${String(start).padStart(64, '0')}`,
  up: `11${start}`,
  down: `22${start}`,
})

const gammaMarket = (market: TestMarket, more: Record<string, unknown> = {}) => ({
  id: `9${market.start}`,
  conditionId: market.condition,
  slug: market.slug,
  question: 'Bitcoin Up or Down',
  // Down comes first, because legs are matched by label, not by position.
  outcomes: '["Down", "Up"]',
  clobTokenIds: JSON.stringify([market.down, market.up]),
  outcomePrices: '["0.5", "0.5"]',
  eventStartTime: iso(market.start),
  endDate: iso(market.start + 300),
  closed: false,
  acceptingOrders: true,
  liquidityNum: 1234.5,
  ...more,
})

const level = (price: string, size: string) => ({ price, size })
const bookOf = (market: TestMarket, timeMs: number, more: Record<string, unknown> = {}) => ({
  event_type: 'book',
  market: market.condition,
  asset_id: market.up,
  timestamp: String(timeMs),
  hash: '',
  bids: [level('0.01', '100'), level('0.4', '10')],
  asks: [level('0.99', '100'), level('0.42', '5')],
  ...more,
})

interface World {
  readonly clock: Clock
  readonly server: Loopback
  readonly books: Map<string, object>
  readonly markets: Map<string, Record<string, unknown>>
  readonly trades: object[]
  readonly venue: ReturnType<typeof createPolymarket>
}

async function startWorld(
  speed: number,
  options: { greet?: boolean; markets?: TestMarket[] } = {},
): Promise<World> {
  const clock = fastClock(START, speed)
  const books = new Map<string, object>()
  const list = options.markets ?? [marketAt(WINDOW), marketAt(WINDOW + 300)]
  const markets = new Map(list.map((market) => [market.slug, gammaMarket(market) as Record<string, unknown>]))
  const trades: object[] = []
  function answer({ url }: Asked): Answer | undefined {
    const query = url.searchParams
    if (url.pathname === '/events') {
      if (query.get('series_slug') !== 'btc-up-or-down-5m' || Number(query.get('offset')) > 0) return []
      const rows = [...markets.values()].filter((row) => String(row.closed) === query.get('closed'))
      return rows.map((row) => ({ id: `e${row.id}`, openInterest: 7, markets: [row] }))
    }
    if (url.pathname === '/time') return String(Math.floor(clock.now() / 1_000))
    if (url.pathname === '/markets') {
      const wanted = query.getAll('condition_ids')
      return [...markets.values()].filter(
        (row) => wanted.includes(String(row.conditionId)) && String(row.closed) === query.get('closed'),
      )
    }
    if (url.pathname === '/book') return books.get(query.get('token_id') ?? '')
    if (url.pathname === '/v2/trades') {
      const second = query.has('cursor')
      return {
        data: second ? trades.slice(1) : trades.slice(0, 1),
        pagination: { has_more: !second, next_cursor: second ? null : 'c1' },
      }
    }
    return undefined
  }
  const server = await startLoopback({
    answer,
    onMessage(visit, text) {
      if (options.greet === false || !text.startsWith('{') || visit.path !== '/ws/market') return
      const { assets_ids: ids = [], operation } = JSON.parse(text)
      if (operation === 'unsubscribe') return
      const known = list.filter((market) => ids.includes(market.up))
      if (known.length > 0)
        visit.socket.send(JSON.stringify(known.map((market) => bookOf(market, clock.now()))))
    },
  })
  const hosts = {
    rest: server.http,
    clob: server.http,
    data: server.http,
    stream: server.ws,
    reference: `${server.ws}/rtds`,
  }
  return { clock, server, books, markets, trades, venue: createPolymarket({ clock, hosts }) }
}

const listen = (world: World, channels = CHANNELS) =>
  collect(world.venue.live(channels, { signal: new AbortController().signal }))
const first = marketAt(WINDOW)
const second = marketAt(WINDOW + 300)
const marketVisits = (world: World) => world.server.visits.filter((visit) => visit.path === '/ws/market')
const sendMarket = (world: World, message: unknown) => {
  for (const visit of marketVisits(world)) if (visit.isOpen) visit.socket.send(JSON.stringify(message))
}
const changeOf = (timeMs: number, change: Record<string, unknown>) => ({
  event_type: 'price_change',
  market: first.condition,
  timestamp: String(timeMs),
  price_changes: [
    {
      asset_id: first.up,
      price: '0.4',
      size: '8',
      side: 'BUY',
      hash: 'x',
      best_bid: '0.4',
      best_ask: '0.42',
      ...change,
    },
  ],
})

test('the socket subscribes the running and the next window with the frames of the page, legs by label', async (t) => {
  const world = await startWorld(5)
  t.after(() => world.server.close())
  const received = listen(world)
  t.after(() => received.close())
  await received.until(
    () => received.last('book_snapshot', second.up) !== undefined,
    'the book of the next window',
  )
  const [visit] = marketVisits(world)
  const [greeting] = (visit?.received ?? []).filter((text) => text !== 'PING').map((text) => JSON.parse(text))
  assert.deepEqual(greeting, {
    type: 'market',
    assets_ids: [first.up, first.down, second.up, second.down],
    custom_feature_enabled: true,
    initial_dump: true,
    level: 2,
  })
  const book = received.last('book_snapshot', first.up)
  assert.deepEqual(
    [textLevels(book?.bids)?.[0], textLevels(book?.asks)?.[0], book?.leg.outcome],
    [['0.4', '10'], ['0.42', '5'], 'Up'],
  )
  const { market } = received.last('market', first.condition) ?? {}
  assert.deepEqual([market?.eventId, market?.liquidity, market?.openInterest], [`e9${WINDOW}`, 1234.5, 7])
  const rtds = world.server.visits.find((each) => each.path === '/rtds')
  assert.deepEqual(
    (rtds?.received ?? []).filter((text) => text !== 'PING').map((text) => JSON.parse(text)),
    [
      {
        action: 'subscribe',
        subscriptions: [{ topic: 'crypto_prices_chainlink', type: '*', filters: '{"symbol":"btc/usd"}' }],
      },
      {
        action: 'subscribe',
        subscriptions: [{ topic: 'crypto_prices_twap_sixty', type: '*', filters: '{"symbol":"btc/usd"}' }],
      },
      {
        action: 'subscribe',
        subscriptions: [{ topic: 'crypto_prices', type: '*', filters: '{"symbol":"btcusdt"}' }],
      },
    ],
  )
  rtds?.socket.send(
    JSON.stringify({
      topic: 'crypto_prices_chainlink',
      type: 'update',
      timestamp: 2,
      payload: {
        symbol: 'btc/usd',
        timestamp: START,
        value: 1,
        full_accuracy_value: '65048078902260626000000',
      },
    }),
  )
  await received.until(() => received.of('reference_price').length === 1, 'a tick')
  assert.equal(received.of('reference_price')[0]?.price, '65048.078902260626')
  // The third window is announced and added on the open socket.
  const third = marketAt(WINDOW + 600)
  world.markets.set(third.slug, gammaMarket(third))
  sendMarket(world, { event_type: 'new_market', slug: third.slug })
  await received.until(
    () => (visit?.received ?? []).some((text) => text.includes(third.up)),
    'the subscription of the third window',
  )
  const added = JSON.parse((visit?.received ?? []).find((text) => text.includes(third.up)) ?? '')
  assert.deepEqual(added, {
    operation: 'subscribe',
    assets_ids: [third.up, third.down],
    custom_feature_enabled: true,
  })
})

test('a top that is not the reported one: the book is lost, a REST book older than it is refused, a newer one taken', async (t) => {
  const world = await startWorld(5)
  t.after(() => world.server.close())
  const received = listen(world)
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', first.up) !== undefined, 'a book')
  const baseMs = world.clock.now() + 1_000
  sendMarket(world, changeOf(baseMs, {}))
  await received.until(() => received.of('book_delta').length === 1, 'a change')
  assert.deepEqual(textLevels(received.last('book_delta', first.up)?.bids), [['0.4', '8']])

  world.books.set(first.up, bookOf(first, baseMs - 5_000))
  sendMarket(world, changeOf(baseMs + 10, { price: '0.39', size: '1', best_bid: '0.41' }))
  await received.until(() => received.last('book_lost', first.up)?.reason === 'top_mismatch', 'the loss')
  const asked = () =>
    world.server.asked.filter(
      ({ url }) => url.pathname === '/book' && url.searchParams.get('token_id') === first.up,
    )
  await received.until(() => asked().length >= 2, 'two questions')
  assert.equal(received.of('book_snapshot').filter((each) => each.via === 'rest').length, 0)
  // A change that arrives in the meantime is kept and applied to the REST book.
  sendMarket(world, changeOf(baseMs + 300, { price: '0.41', size: '3', best_bid: '0.41' }))
  world.books.set(first.up, bookOf(first, baseMs + 200))
  await received.until(
    () => received.of('book_snapshot').some((each) => each.via === 'rest'),
    'the repaired book',
  )
  const repaired = received.of('book_snapshot').find((each) => each.via === 'rest')
  assert.deepEqual(textLevels(repaired?.bids.slice(0, 2)), [
    ['0.41', '3'],
    ['0.4', '10'],
  ])
  assert.equal(received.of('book_delta').length, 1, 'nothing is emitted of a stale book')
})

test('a crossed book and a wrong hash are lost and repaired; an empty side is reported as 0, 1 or nothing', async (t) => {
  const world = await startWorld(5)
  t.after(() => world.server.close())
  const received = listen(world)
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', first.up) !== undefined, 'a book')
  const baseMs = world.clock.now() + 1_000
  const emptied = ['0.4', '0.01'].map((price, index) =>
    changeOf(baseMs + index, { price, size: '0', best_bid: index === 0 ? '0.01' : '0' }),
  )
  for (const message of emptied) sendMarket(world, message)
  sendMarket(
    world,
    changeOf(baseMs + 2, { side: 'SELL', price: '0.42', size: '0', best_bid: '', best_ask: '0.99' }),
  )
  sendMarket(
    world,
    changeOf(baseMs + 3, { side: 'SELL', price: '0.99', size: '0', best_bid: '', best_ask: '1' }),
  )
  await received.until(() => received.of('book_delta').length === 4, 'four changes')
  world.books.set(first.up, bookOf(first, baseMs + 9_000))
  sendMarket(world, {
    ...changeOf(baseMs + 4, {}),
    price_changes: [
      { asset_id: first.up, price: '0.5', size: '1', side: 'BUY' },
      { asset_id: first.up, price: '0.45', size: '1', side: 'SELL' },
    ],
  })
  await received.until(() => received.last('book_lost', first.up)?.reason === 'crossed', 'the crossed book')
  await received.until(
    () => received.of('book_snapshot').some((each) => each.via === 'rest'),
    'the repaired book',
  )

  // A hash that was never right proves nothing; once one was right, a wrong one does.
  const hashed = (hash: string, timeMs: number) => ({ ...bookOf(first, timeMs), hash })
  sendMarket(world, hashed('0'.repeat(40), baseMs + 9_100))
  const right = bookHash(bookOf(first, 0), HASH_KEYS['2024'])
  sendMarket(world, hashed(right, baseMs + 9_101))
  sendMarket(world, hashed('1'.repeat(40), baseMs + 9_102))
  await received.until(
    () => received.last('book_lost', first.up)?.reason === 'hash_mismatch',
    'the wrong hash',
  )
  assert.equal(received.of('book_lost').filter((each) => each.reason === 'hash_mismatch').length, 1)
})

test('a frozen book on a live socket is found by comparing, and costs the socket when it happens again', async (t) => {
  // Slow enough that a pause of a busy machine is no silence of the socket.
  const world = await startWorld(10)
  t.after(() => world.server.close())
  const received = listen(
    world,
    CHANNELS.filter(({ topic }) => topic !== 'reference_price'),
  )
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', first.up) !== undefined, 'a book')
  const beat = setInterval(
    () => sendMarket(world, bookOf(second, world.clock.now(), { asset_id: second.up })),
    50,
  )
  t.after(() => clearInterval(beat))
  const down = { asset_id: first.down, bids: [level('0.58', '5')], asks: [level('0.6', '10')] }
  sendMarket(world, bookOf(first, world.clock.now(), down))
  await received.until(() => received.last('book_snapshot', first.down) !== undefined, 'the other book')
  // A quiet book is not frozen: the venue's own book is the same.
  world.books.set(first.down, bookOf(first, world.clock.now() + 100_000, down))
  world.books.set(first.up, bookOf(first, world.clock.now() + 100_000, { bids: [level('0.3', '1')] }))
  await received.until(
    () => received.last('book_lost', first.up)?.reason === 'frozen',
    'the frozen book',
    40_000,
  )
  const [visit] = marketVisits(world)
  await received.until(
    () => (visit?.received ?? []).some((text) => text.includes('"unsubscribe"')),
    'a new subscription',
  )
  const lostAt = received.all.findIndex((each) => each.kind === 'book_lost')
  const isBack = () =>
    received.all.slice(lostAt).some((each) => each.kind === 'book_snapshot' && each.instrument === first.up)
  await received.until(isBack, 'the book of the new subscription')
  assert.ok(
    received.of('book_snapshot').every(({ via }) => via === 'stream'),
    'REST does not heal a frozen stream',
  )
  assert.equal(received.last('book_lost', first.down), undefined)
  assert.equal(marketVisits(world).length, 1)
  world.books.set(first.down, bookOf(first, world.clock.now() + 200_000, { ...down, bids: [] }))
  await received.until(
    () => received.last('book_lost', first.down) !== undefined,
    'the second frozen book',
    40_000,
  )
  await received.until(() => marketVisits(world).length === 2, 'a new socket', 40_000)
})

test('a frame that cannot be read loses every book of its socket, and levels below the top are proved by hash', async (t) => {
  const world = await startWorld(30)
  t.after(() => world.server.close())
  const received = listen(
    world,
    CHANNELS.filter(({ topic }) => topic !== 'reference_price'),
  )
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', second.up) !== undefined, 'books')
  for (const market of [first, second]) world.books.set(market.up, bookOf(market, world.clock.now() + 9_000))
  for (const visit of marketVisits(world)) visit.socket.send('{"event_type":"price_change","market":"0x')
  await received.until(() => received.of('book_lost').length === 2, 'both losses')
  assert.deepEqual(
    received.of('book_lost').map(({ reason }) => reason),
    ['damaged', 'damaged'],
  )
  assert.equal(received.of('damaged').length, 1)
  await received.until(
    () => received.of('book_snapshot').filter(({ via }) => via === 'rest').length >= 2,
    'repairs',
  )
  // A change far from the top was missed: the venue's book has other levels under the same hash.
  const beat = setInterval(() => sendMarket(world, bookOf(second, world.clock.now() + 12_000)), 30)
  t.after(() => clearInterval(beat))
  const timeMs = world.clock.now() + 12_000
  world.books.set(
    first.up,
    bookOf(first, timeMs, { hash: 'same', bids: [level('0.02', '1'), level('0.4', '8')] }),
  )
  sendMarket(world, changeOf(timeMs, { hash: 'same' }))
  await received.until(
    () => received.last('book_lost', first.up)?.reason === 'hash_mismatch',
    'the proof',
    40_000,
  )
  await received.until(
    () => received.last('book_snapshot', first.up)?.bids.length === 2,
    'the repaired book',
    40_000,
  )
})

test('a lost market_resolved: the winner is found by asking with closed=true, trades are swept, tokens let go', async (t) => {
  const world = await startWorld(60, { markets: [first] })
  t.after(() => world.server.close())
  const received = listen(
    world,
    CHANNELS.filter(({ topic }) => topic !== 'reference_price'),
  )
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', first.up) !== undefined, 'a book')
  const tradeFrame = {
    event_type: 'last_trade_price',
    asset_id: first.up,
    market: first.condition,
    price: '0.41',
    size: '2',
    side: 'BUY',
    timestamp: String(START),
    transaction_hash: '0xaa',
  }
  for (let times = 0; times < 2; times++) sendMarket(world, tradeFrame)
  await received.until(() => received.of('trade').length === 1, 'the trade, once')
  const swept = (hash: string, token: string) => ({
    side: 'SELL',
    token_id: token,
    condition_id: first.condition,
    size: '3.5',
    price: 0.4,
    timestamp: WINDOW + 20,
    outcome: 'Up',
    transaction_hash: hash,
  })
  world.trades.push(swept('0xaa', first.up), swept('0xbb', first.down))
  world.markets.set(
    first.slug,
    gammaMarket(first, {
      closed: true,
      acceptingOrders: false,
      outcomePrices: '["0", "1"]',
      closedTime: iso(WINDOW + 321)
        .replace('T', ' ')
        .replace('.000Z', '+00'),
      liquidityNum: 0,
    }),
  )
  await received.until(
    () => received.last('market', first.condition)?.market.status === 'resolved',
    'the winner',
    120_000,
  )
  const { market } = received.last('market', first.condition) ?? {}
  assert.deepEqual(
    [market?.winner, market?.resolvedAt, market?.active, market?.liquidity],
    ['Up', (WINDOW + 321) * 1_000, false, 1234.5],
  )
  await received.until(() => received.of('trade').length === 2, 'the trade that the stream lost', 120_000)
  const [streamed, found] = received.of('trade')
  assert.deepEqual([streamed?.id, streamed?.isSwept], [`0xaa-${first.up.slice(-8)}-0`, undefined])
  assert.deepEqual(
    [found?.id, found?.isSwept, found?.leg?.outcome],
    [`0xbb-${first.down.slice(-8)}-0`, true, 'Down'],
  )
  await received.until(() => received.last('book_lost', first.up)?.reason === 'ended', 'the end', 120_000)
})

test('a lost socket loses every book until the new one sends them', async (t) => {
  const world = await startWorld(5)
  t.after(() => world.server.close())
  const received = listen(world)
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', second.up) !== undefined, 'books')
  marketVisits(world)[0]?.socket.terminate()
  await received.until(() => received.last('book_lost', first.up)?.reason === 'disconnected', 'the loss')
  const lostAt = received.all.findIndex((each) => each.kind === 'book_lost')
  await received.until(
    () =>
      received.all
        .slice(lostAt)
        .some((each) => each.kind === 'book_snapshot' && each.instrument === first.up),
    'the book again',
  )
})

test('history: trades of one market over all pages; an unknown market is refused', async (t) => {
  const world = await startWorld(1)
  t.after(() => world.server.close())
  const row = (timestamp: number, hash: string) => ({
    side: 'BUY',
    token_id: first.up,
    condition_id: first.condition,
    size: 1,
    price: '0.5',
    timestamp,
    outcome: 'Up',
    transaction_hash: hash,
  })
  world.trades.push(row(WINDOW - 40, '0x2'), row(WINDOW - 50, '0x1'))
  const { signal } = new AbortController()
  const range = { fromMs: (WINDOW - 60) * 1_000, toMs: (WINDOW - 45) * 1_000 }
  const check = await world.venue.check({ signal })
  assert.match(check.line, /BTC running, ETH NO RUNNING WINDOW/)
  const pages: HistoryPage[] = []
  for await (const page of world.venue.history(
    { topic: 'trades', symbol: 'BTC', market: first.condition, range },
    { signal },
  ))
    pages.push(page)
  assert.deepEqual(
    pages.flatMap((page) => page.observations.map((each) => each.key)),
    [`0x1-${first.up.slice(-8)}-0`],
  )
  assert.deepEqual(
    pages.map((page) => page.covered),
    [range],
  )
  await assert.rejects(async () => {
    for await (const page of world.venue.history(
      { topic: 'trades', symbol: 'BTC', market: '0xnone', range },
      { signal },
    ))
      void page
  }, /knows no market/)
})
