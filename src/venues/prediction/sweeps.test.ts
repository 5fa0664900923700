/**
 * A sweep that fails stays pending until it has succeeded: over real sockets, for both venues of prediction markets.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import {
  type Asked,
  collect,
  fastClock,
  startLoopback,
  type Visit,
} from '../../../test/predictions/loopback.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel, Topic } from '../channel.ts'
import { createKalshi } from '../kalshi/venue.ts'
import { createPolymarket } from '../polymarket/venue.ts'

const MINUTE_MS = 60_000
const UNAVAILABLE = { status: 503, body: { error: 'unavailable' } }
const channelsOf = (topics: readonly Topic[]): Channel[] => topics.map((topic) => ({ topic, symbol: 'BTC' }))
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()

/** The Up/Down venue on a loopback host, read until the test ends. */
function listen(t: TestContext, { http: rest, ws: stream }: { http: string; ws: string }, clock: Clock) {
  const hosts = { rest, clob: rest, data: rest, stream, reference: `${stream}/rtds` }
  const { signal } = new AbortController()
  const received = collect(
    createPolymarket({ clock, hosts }).live(channelsOf(['markets', 'book', 'trades']), { signal }),
  )
  t.after(() => received.close())
  return received
}

test('Up/Down: when every question of both sweeps fails, the trades are requested again until they come', async (t) => {
  const window = 1_784_851_200
  const condition = `0x${String(window).padStart(64, '0')}`
  const market = {
    id: '9',
    conditionId: condition,
    slug: `btc-updown-5m-${window}`,
    outcomes: '["Up", "Down"]',
    clobTokenIds: '["11", "22"]',
    outcomePrices: '["0.5", "0.5"]',
    eventStartTime: iso(window),
    endDate: iso(window + 300),
    closed: false,
    acceptingOrders: true,
  }
  const tradeRow = {
    side: 'SELL',
    token_id: '11',
    condition_id: condition,
    size: '3.5',
    price: 0.4,
    timestamp: window + 20,
    outcome: 'Up',
    transaction_hash: '0xbb',
  }
  // Two sweeps with five tries each.
  let failures = 11
  const server = await startLoopback({
    answer({ url }: Asked) {
      const query = url.searchParams
      if (url.pathname === '/events') {
        const isAsked = query.get('series_slug') === 'btc-up-or-down-5m' && Number(query.get('offset')) === 0
        return isAsked ? [{ id: 'e9', markets: [market] }] : []
      }
      if (url.pathname !== '/v2/trades') return undefined
      return failures-- > 0 ? UNAVAILABLE : { data: [tradeRow], pagination: { has_more: false } }
    },
  })
  t.after(() => server.close())
  const received = listen(t, server, fastClock((window + 240) * 1_000, 120))
  await received.until(() => received.of('trade').length === 1, 'the trade', 40_000)
  await received.until(() => received.of('swept').length === 1, 'the end of the sweeps', 40_000)
  assert.equal(received.of('swept')[0]?.instrument, condition)
  assert.equal(received.of('trade').length, 1)
})

test('Up/Down: a window that begins in ten hours and is traded already is emitted, with its trade, by the next round', async (t) => {
  const window = 1_784_887_200
  const condition = `0x${String(window).padStart(64, '0')}`
  const listed = (start: number, id: string) => ({
    id,
    conditionId: `0x${String(start).padStart(64, '0')}`,
    slug: `btc-updown-5m-${start}`,
    outcomes: '["Up", "Down"]',
    clobTokenIds: `["${start}1", "${start}2"]`,
    outcomePrices: '["0.5", "0.5"]',
    eventStartTime: iso(start),
    endDate: iso(start + 300),
    closed: false,
    acceptingOrders: true,
  })
  const nowS = window - 36_000
  const tradeRow = {
    side: 'BUY',
    token_id: `${window}1`,
    condition_id: condition,
    size: '2',
    price: 0.5,
    timestamp: nowS - 600,
    outcome: 'Up',
    transaction_hash: '0xcc',
  }
  const asked: string[][] = []
  const server = await startLoopback({
    answer({ url }: Asked) {
      const query = url.searchParams
      if (url.pathname === '/events') {
        const isAsked = query.get('series_slug') === 'btc-up-or-down-5m' && Number(query.get('offset')) === 0
        const [min, max] = ['end_date_min', 'end_date_max'].map((name) => Date.parse(query.get(name) ?? ''))
        const markets = [listed(nowS, '1'), listed(window, '2')].filter(({ endDate }) => {
          const endMs = Date.parse(endDate)
          return endMs >= (min ?? 0) && endMs <= (max ?? 0)
        })
        return isAsked ? markets.map((market) => ({ id: `e${market.id}`, markets: [market] })) : []
      }
      if (url.pathname !== '/v2/trades') return undefined
      const conditions = (query.get('condition') ?? '').split(',')
      asked.push(conditions)
      return { data: conditions.includes(condition) ? [tradeRow] : [], pagination: { has_more: false } }
    },
  })
  t.after(() => server.close())
  const received = listen(t, server, fastClock(nowS * 1_000, 60))
  await received.until(() => received.of('swept_to').length === 2, 'two rounds', 40_000)
  const [trade, ...others] = received.of('trade')
  assert.equal(trade?.leg?.marketId, condition)
  assert.ok(others.every(({ id }) => id === trade?.id))
  const order = received.all.map(({ kind }) => kind)
  assert.ok(received.of('market').some(({ market }) => market.marketId === condition))
  assert.ok(order.indexOf('trade') < order.indexOf('swept_to'), 'emitted before it counts as swept')
  const [first] = received.of('swept_to')
  assert.ok(first && first.toMs < first.receivedMs && first.toMs >= (nowS - 60) * 1_000)
  assert.ok(asked.every((conditions) => conditions.length <= 20))
})

test('yes/no: the gap of a lost socket reaches back to the last frame, and is swept until its trades are emitted', async (t) => {
  const startMs = Date.UTC(2026, 3, 16, 4, 46)
  const ticker = 'KXBTC15M-26APR160100-00'
  const clock = fastClock(startMs, 30)
  const market = {
    ticker,
    event_ticker: 'KXBTC15M-26APR160100',
    title: 'BTC price up?',
    open_time: '2026-04-16T04:45:00Z',
    close_time: '2026-04-16T05:00:00Z',
    status: 'active',
    result: '',
    volume_fp: '10.00',
    open_interest_fp: '4.00',
    last_price_dollars: '0.5000',
  }
  const trades: object[] = []
  let failures = 6
  let sid = 0
  const server = await startLoopback({
    answer({ url }: Asked) {
      if (url.pathname === '/trade-api/v2/markets') {
        const query = url.searchParams
        const isListed = query.get('series_ticker') === 'KXBTC15M' && query.get('status') === 'open'
        return { markets: isListed ? [market] : [], cursor: '' }
      }
      if (url.pathname !== '/trade-api/v2/markets/trades') return undefined
      return failures-- > 0 ? UNAVAILABLE : { trades, cursor: '' }
    },
    onMessage(visit: Visit, text: string) {
      const { id, cmd, params } = JSON.parse(text)
      if (cmd !== 'subscribe') return
      sid += 1
      const [channel] = params.channels
      visit.socket.send(JSON.stringify({ type: 'subscribed', id, msg: { channel, sid } }))
      if (channel !== 'orderbook_delta') return
      const book = { yes_dollars_fp: [['0.4000', '10.00']], no_dollars_fp: [['0.5500', '7.00']] }
      const frame = { type: 'orderbook_snapshot', sid, seq: 1, msg: { market_ticker: ticker, ...book } }
      visit.socket.send(JSON.stringify(frame))
    },
  })
  t.after(() => server.close())
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const kalshi = {
    keyId: 'key-1',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  const session = createKalshi({ clock, hosts: { rest: server.http, stream: server.ws }, kalshi }).live(
    channelsOf(['markets', 'book', 'trades']),
    { signal: new AbortController().signal },
  )
  const received = collect(session)
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', ticker) !== undefined, 'the book')
  const heardMs = received.last('book_snapshot', ticker)?.receivedMs ?? 0
  // The venue sends nothing for a minute but still answers pings; a trade is made that it does not send.
  await received.until(() => clock.now() > heardMs + MINUTE_MS, 'a minute')
  const created = new Date(heardMs + 10_000).toISOString()
  trades.push({
    trade_id: 'lost-1',
    ticker,
    count_fp: '2.00',
    yes_price_dollars: '0.4000',
    no_price_dollars: '0.6000',
    taker_side: 'yes',
    created_time: created,
  })
  market.volume_fp = '12.00'
  session.reconnect({ topic: 'book', symbol: 'BTC' }, 'silent')
  await received.until(() => received.of('trade').length === 1, 'the trade of the gap', 40_000)
  assert.ok(clock.now() < startMs + 13 * MINUTE_MS, 'before the contract closes')
  assert.ok(failures < 0)
})
