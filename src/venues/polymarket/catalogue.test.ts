/** Everything that the venue answered about a window reaches every session, even if another request fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Answer,
  type Asked,
  collect,
  fastClock,
  startLoopback,
} from '../../../test/predictions/loopback.ts'
import { proveEmittedAgain } from '../../../test/predictions/prove-markets-sent.ts'
import type { Channel } from '../channel.ts'
import { createPolymarket } from './venue.ts'

const WINDOW = 1_784_851_200
const END = WINDOW + 300
const CHANNELS: Channel[] = [{ topic: 'markets', symbol: 'BTC' }]
const CONDITION = `0x${'a'.repeat(64)}`
const SLUG = `btc-updown-5m-${WINDOW}`
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()

const gammaMarket = (more: Record<string, unknown> = {}) => ({
  id: '91',
  conditionId: CONDITION,
  slug: SLUG,
  question: 'Bitcoin Up or Down',
  outcomes: '["Up", "Down"]',
  clobTokenIds: '["11", "22"]',
  outcomePrices: '["0.5", "0.5"]',
  eventStartTime: iso(WINDOW),
  endDate: iso(END),
  closed: false,
  acceptingOrders: true,
  volumeNum: 10,
  liquidityNum: 1234.5,
  ...more,
})

async function start(atS: number, speed: number, answer: (asked: Asked) => Answer | undefined) {
  const server = await startLoopback({ answer })
  const clock = fastClock(atS * 1_000, speed)
  const hosts = {
    rest: server.http,
    clob: server.http,
    data: server.http,
    stream: server.ws,
    reference: server.ws,
  }
  const venue = createPolymarket({ clock, hosts, polymarket: { reference: 'none' } })
  return {
    server,
    venue,
    listen: () => collect(venue.live(CHANNELS, { signal: new AbortController().signal })),
  }
}

/** Lists the five-minute series; the others are empty. */
function listed({ url }: Asked, rows: readonly object[]): Answer | undefined {
  if (url.pathname !== '/events') return undefined
  const isFirst = Number(url.searchParams.get('offset')) === 0
  const isSeries = url.searchParams.get('series_slug') === 'btc-up-or-down-5m'
  return isSeries && isFirst ? rows.map((row) => ({ id: 'e1', markets: [row] })) : []
}

test('a series that fails among several: what the others answer is emitted', async (t) => {
  const { server, listen } = await start(WINDOW + 10, 20, (asked) =>
    asked.url.searchParams.get('series_slug') === 'btc-up-or-down-15m'
      ? { status: 503, body: {} }
      : listed(asked, [gammaMarket()]),
  )
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  await received.until(() => received.last('market', CONDITION) !== undefined, 'the window')
  assert.equal(received.of('market').length, 1, 'and it is emitted once')
})

test('a session emits every window, though another session or a witness has listed it before', async (t) => {
  const { server, venue, listen } = await start(WINDOW + 10, 5, (asked) =>
    asked.url.pathname === '/v2/trades' ? { data: [] } : listed(asked, [gammaMarket()]),
  )
  t.after(() => server.close())
  await proveEmittedAgain({ venue, listen, marketId: CONDITION })
})

test('a winner of the order book has no time of its own: the catalogue is asked on, and has it with the last volume', async (t) => {
  let isKnown = false
  const closed = { closed: true, acceptingOrders: false, liquidityNum: 0, volumeNum: 77 }
  const { server, listen } = await start(END - 20, 60, (asked) => {
    const { pathname } = asked.url
    if (pathname === `/markets/${CONDITION}`) {
      const tokens = [
        { token_id: '11', outcome: 'Up', winner: false },
        { token_id: '22', outcome: 'Down', winner: true },
      ]
      return { condition_id: CONDITION, closed: true, tokens }
    }
    if (pathname === '/markets')
      return isKnown
        ? [
            gammaMarket({
              ...closed,
              outcomePrices: '["0", "1"]',
              closedTime: '2026-07-24 00:05:21+00',
            }),
          ]
        : []
    return listed(asked, isKnown ? [] : [gammaMarket()])
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  const market = () => received.last('market', CONDITION)?.market
  await received.until(() => market()?.status === 'resolved', 'the winner of the order book', 40_000)
  assert.deepEqual(
    [market()?.winner, market()?.resolvedAt, market()?.volume, market()?.liquidity],
    ['Down', null, 10, 1234.5],
  )
  isKnown = true
  await received.until(() => market()?.resolvedAt != null, 'the time of it', 40_000)
  assert.deepEqual(
    [market()?.winner, market()?.resolvedAt, market()?.volume, market()?.liquidity],
    ['Down', Date.parse('2026-07-24T00:05:21Z'), 77, 1234.5],
  )
})

test('two windows with one slug, in the night in which the clock is set back, are resolved each by its id', async (t) => {
  const slug = 'bitcoin-up-or-down-november-1-2026-1am-et'
  const firstEnd = Date.UTC(2026, 10, 1, 6) / 1_000
  const hour = (conditionId: string, end: number, more: Record<string, unknown> = {}) =>
    gammaMarket({ conditionId, slug, eventStartTime: iso(end - 3_600), endDate: iso(end), ...more })
  const other = `0x${'b'.repeat(64)}`
  const later = hour(other, firstEnd + 3_600, { id: '92', clobTokenIds: '["33", "44"]' })
  const { server, listen } = await start(firstEnd - 20, 60, ({ url }) => {
    const query = url.searchParams
    const ids = query.getAll('condition_ids')
    if (url.pathname === '/markets' && ids.includes(CONDITION))
      return [hour(CONDITION, firstEnd, { closed: true, outcomePrices: '["0", "1"]' })]
    if (url.pathname === '/markets') return [later]
    if (url.pathname !== '/events') return undefined
    const isSeries = query.get('series_slug') === 'btc-up-or-down-hourly'
    if (!isSeries || query.get('closed') !== 'false' || Number(query.get('offset')) > 0) return []
    return [hour(CONDITION, firstEnd), later].map((row) => ({ id: `e${row.id}`, markets: [row] }))
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  const market = (id: string) => received.last('market', id)?.market
  await received.until(() => market(CONDITION)?.status === 'resolved', 'the winner of the first', 40_000)
  assert.deepEqual([market(CONDITION)?.winner, market(CONDITION)?.endTime], ['Down', firstEnd * 1_000])
  assert.deepEqual([market(other)?.status, market(other)?.endTime], ['open', (firstEnd + 3_600) * 1_000])
})

test('tokens that a later list leaves out are not forgotten, and one that has none yet gets them', async (t) => {
  let clobTokenIds: string | null = null
  const { server, listen } = await start(WINDOW + 10, 60, (asked) =>
    listed(asked, [gammaMarket({ clobTokenIds, volumeNum: clobTokenIds === '[]' ? 12 : 11 })]),
  )
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  const tokens = () => received.last('market', CONDITION)?.market.tokens?.map(({ tokenId }) => tokenId)
  await received.until(() => received.last('market', CONDITION) !== undefined, 'the window')
  assert.deepEqual(tokens(), [])
  clobTokenIds = '["11", "22"]'
  await received.until(() => tokens()?.length === 2, 'its tokens')
  clobTokenIds = '[]'
  await received.until(() => received.last('market', CONDITION)?.market.volume === 12, 'the next list')
  assert.deepEqual(tokens(), ['11', '22'])
})

test('a record of another market, of other tokens or with two winners resolves nothing, nor do prices that are none', async (t) => {
  const good = [
    { token_id: '11', outcome: 'Up', winner: false },
    { token_id: '22', outcome: 'Down', winner: true },
  ]
  const records = [
    { condition_id: `0x${'b'.repeat(64)}`, closed: true, tokens: good },
    { condition_id: CONDITION, closed: true, tokens: good.map((token) => ({ ...token, token_id: '33' })) },
    { condition_id: CONDITION, closed: true, tokens: good.map((token) => ({ ...token, outcome: 'Yes' })) },
    { condition_id: CONDITION, closed: true, tokens: good.map((token) => ({ ...token, winner: true })) },
  ]
  const prices = ['["1", ""]', '["1", " "]', '["0x1", "0"]', '["1e0", "0"]', '["1", "-0"]', '[1, 0]']
  let asked = 0
  const closed = { closed: true, acceptingOrders: false }
  const { server, venue, listen } = await start(END - 20, 60, ({ url }) => {
    if (url.pathname === `/markets/${CONDITION}`) return records[asked++ % records.length]
    if (url.pathname === '/markets')
      return [gammaMarket({ ...closed, outcomePrices: prices[asked++ % prices.length] })]
    return url.pathname === '/v2/trades' ? { data: [] } : listed({ url } as Asked, [gammaMarket()])
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  const needed = 6 * records.length + prices.length
  await received.until(() => asked > needed, 'all of the answers', 60_000)
  assert.notEqual(received.last('market', CONDITION)?.market.status, 'resolved')
  assert.ok((venue.deadLetters.counts().misfit ?? 0) > 0)
})

test('a list with a window that cannot be read is reported until it can, not for one of another time', async (t) => {
  let question: unknown = 7
  const past = `btc-updown-5m-${WINDOW - 86_400}`
  const other = gammaMarket({ question: 7, conditionId: `0x${'c'.repeat(64)}`, slug: past })
  const { server, listen } = await start(WINDOW + 10, 60, (asked) =>
    listed(asked, [gammaMarket({ question }), other]),
  )
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  const types = () => received.of('unread_markets').map(({ marketTypes }) => marketTypes)
  await received.until(() => types().length > 0, 'a list that cannot be read')
  assert.deepEqual(types()[0], ['5m'])
  question = 'Bitcoin Up or Down'
  await received.until(() => types().at(-1)?.length === 0, 'a list that can be read')
})
