import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, verify } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { textLevels } from '../../../test/predictions/levels.ts'
import {
  type Asked,
  collect,
  fastClock,
  startLoopback,
  type Visit,
} from '../../../test/predictions/loopback.ts'
import type { Channel } from '../channel.ts'
import type { HistoryPage } from '../venue.ts'
import { createKalshi } from './venue.ts'

const START = Date.UTC(2026, 3, 16, 4, 46)
const TICKER = 'KXBTC15M-26APR160100-00'
const OTHER = 'KXBTCD-26APR1605-T72749.99'
const CHANNELS: Channel[] = (['markets', 'book', 'trades', 'market_ticker', 'open_interest'] as const).map(
  (topic) => ({ topic, symbol: 'BTC' }),
)
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const kalshi = { keyId: 'key-1', privateKey: PEM }

const market = (ticker: string, more: Record<string, unknown> = {}) => ({
  ticker,
  event_ticker: ticker.split('-').slice(0, 2).join('-'),
  title: 'BTC price up?',
  yes_sub_title: 'Target price: TBD',
  open_time: '2026-04-16T04:45:00Z',
  close_time: '2026-04-16T05:00:00Z',
  status: 'active',
  result: '',
  volume_fp: '10.00',
  open_interest_fp: '4.00',
  last_price_dollars: '0.5000',
  ...more,
})

/** Answers with the venue's markets, filtered by series or by ticker as the venue does. */
function answerMarkets(markets: Map<string, object>, asked: Asked) {
  if (asked.url.pathname !== '/trade-api/v2/markets') return undefined
  const query = asked.url.searchParams
  const tickers = query.get('tickers')?.split(',')
  const rows = [...markets.values()] as { ticker: string; status: string }[]
  const isOpen = query.get('status') === 'open'
  return {
    markets: rows.filter((row) =>
      tickers !== undefined
        ? tickers.includes(row.ticker)
        : row.ticker.startsWith(`${query.get('series_ticker')}-`) && isOpen && row.status === 'active',
    ),
    cursor: '',
  }
}

/** Answers subscriptions as the venue does, with one sequence of numbers per sid. */
function speakKalshi(script: { snapshot?: (ticker: string) => object } = {}) {
  const seqs = new Map<Visit, { nextSid: number; seq: Map<number, number> }>()
  const snapshotOf =
    script.snapshot ??
    (() => ({ yes_dollars_fp: [['0.4000', '10.00']], no_dollars_fp: [['0.5500', '7.00']] }))
  const of = (visit: Visit) => {
    const known = seqs.get(visit) ?? { nextSid: 1, seq: new Map() }
    seqs.set(visit, known)
    return known
  }
  const numbered = (visit: Visit, sid: number, frame: object, skip = 0) => {
    const { seq } = of(visit)
    const next = (seq.get(sid) ?? 0) + 1 + skip
    seq.set(sid, next)
    visit.socket.send(JSON.stringify({ ...frame, sid, seq: next }))
  }
  const snapshots = (visit: Visit, sid: number, tickers: string[]) => {
    for (const ticker of tickers) {
      numbered(visit, sid, {
        type: 'orderbook_snapshot',
        msg: { market_ticker: ticker, ...snapshotOf(ticker) },
      })
    }
  }
  return {
    numbered,
    delta: (visit: Visit, sid: number, msg: object, skip = 0) =>
      numbered(
        visit,
        sid,
        { type: 'orderbook_delta', msg: { market_ticker: TICKER, ts_ms: START + 1_000, ...msg } },
        skip,
      ),
    onMessage(visit: Visit, text: string) {
      const { id, cmd, params } = JSON.parse(text)
      if (cmd === 'subscribe') {
        const sid = of(visit).nextSid++
        const [channel] = params.channels
        visit.socket.send(JSON.stringify({ type: 'subscribed', id, msg: { channel, sid } }))
        if (channel === 'orderbook_delta') snapshots(visit, sid, params.market_tickers)
      } else if (cmd === 'update_subscription') {
        const [sid] = params.sids
        numbered(visit, sid, { type: 'ok', id, msg: { market_tickers: params.market_tickers } })
        if (params.action !== 'delete_markets' && sid === 1) snapshots(visit, sid, params.market_tickers)
      }
    },
  }
}

const isSigned = (request: IncomingMessage) => {
  const header = (name: string) => String(request.headers[name] ?? '')
  const message = `${header('kalshi-access-timestamp')}GET/trade-api/ws/v2`
  return (
    header('kalshi-access-key') === 'key-1' &&
    verify(
      'sha256',
      Buffer.from(message),
      { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
      Buffer.from(header('kalshi-access-signature'), 'base64'),
    )
  )
}

test('the socket is signed and subscribes what the catalogue lists, with the frames of the page', async (t) => {
  const markets = new Map([[TICKER, market(TICKER)]])
  const venue = speakKalshi()
  const server = await startLoopback({
    admit: isSigned,
    onMessage: venue.onMessage,
    answer: (asked) => answerMarkets(markets, asked),
  })
  t.after(() => server.close())
  const clock = fastClock(START, 5)
  const session = createKalshi({ clock, hosts: { rest: server.http, stream: server.ws }, kalshi }).live(
    CHANNELS,
    {
      signal: new AbortController().signal,
    },
  )
  const received = collect(session)
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', TICKER) !== undefined, 'a book')
  assert.equal(server.visits[0]?.path, '/trade-api/ws/v2')
  const frames = (server.visits[0]?.received ?? []).map((text) => JSON.parse(text))
  assert.deepEqual(frames, [
    {
      id: 1,
      cmd: 'subscribe',
      params: { channels: ['orderbook_delta'], market_tickers: [TICKER], use_yes_price: false },
    },
    {
      id: 2,
      cmd: 'subscribe',
      params: { channels: ['ticker'], market_tickers: [TICKER], send_initial_snapshot: true },
    },
    { id: 3, cmd: 'subscribe', params: { channels: ['trade'], market_tickers: [TICKER] } },
  ])
  assert.ok(
    server.asked.every((asked) => asked.headers['kalshi-access-key'] === undefined),
    'what is public is asked without the key',
  )
  const book = received.last('book_snapshot', TICKER)
  assert.deepEqual([textLevels(book?.bids), textLevels(book?.asks)], [[['0.4', '10']], [['0.45', '7']]])

  // The next window appears in the catalogue and is added to the running subscription.
  markets.set(OTHER, market(OTHER))
  await received.until(
    () => received.last('book_snapshot', OTHER) !== undefined,
    'the book of the new contract',
    40_000,
  )
  const added = (server.visits[0]?.received ?? []).slice(3).map((text) => JSON.parse(text))
  assert.deepEqual(
    added.map(({ params }) => [params.sids[0], params.action, params.market_tickers]),
    [1, 2, 3].map((sid) => [sid, 'add_markets', [OTHER]]),
  )
  assert.equal(server.visits.length, 1)
})

test('a gap loses every book of the sid and brings them back; a second one within a minute costs the socket', async (t) => {
  const markets = new Map([
    [TICKER, market(TICKER)],
    [OTHER, market(OTHER)],
  ])
  const venue = speakKalshi()
  const server = await startLoopback({
    onMessage: venue.onMessage,
    answer: (asked) => answerMarkets(markets, asked),
  })
  t.after(() => server.close())
  const clock = fastClock(START, 2)
  const received = collect(
    createKalshi({ clock, hosts: { rest: server.http, stream: server.ws }, kalshi }).live(CHANNELS, {
      signal: new AbortController().signal,
    }),
  )
  t.after(() => received.close())
  await received.until(() => received.of('book_snapshot').length === 2, 'both books')
  const [first] = server.visits
  assert.ok(first)
  venue.delta(first, 1, { side: 'no', price_dollars: '0.5500', delta_fp: '-7.00' })
  await received.until(() => received.of('book_delta').length === 1, 'a change')
  assert.deepEqual(textLevels(received.last('book_delta', TICKER)?.asks), [['0.45', '0']])

  venue.delta(first, 1, { side: 'yes', price_dollars: '0.4100', delta_fp: '3.00' }, 1)
  await received.until(() => received.of('book_snapshot').length === 4, 'both books again')
  assert.deepEqual(
    received
      .of('book_lost')
      .map((each) => [each.instrument, each.reason])
      .sort(),
    [
      [TICKER, 'sequence_gap'],
      [OTHER, 'sequence_gap'],
    ],
  )
  assert.equal(received.of('book_delta').length, 1, 'nothing is emitted of a stale book')

  venue.delta(first, 1, { side: 'yes', price_dollars: '0.4100', delta_fp: '3.00' }, 5)
  await received.until(() => received.of('connected').length === 2, 'a new socket')
  await received.until(() => received.of('book_snapshot').length === 6, 'books on the new socket')
  assert.equal(received.of('disconnected').length, 1)
})

test('a crossed book and a size below nothing are lost and requested again, never emitted', async (t) => {
  const markets = new Map([[TICKER, market(TICKER)]])
  const venue = speakKalshi()
  const server = await startLoopback({
    onMessage: venue.onMessage,
    answer: (asked) => answerMarkets(markets, asked),
  })
  t.after(() => server.close())
  const received = collect(
    createKalshi({
      clock: fastClock(START, 2),
      hosts: { rest: server.http, stream: server.ws },
      kalshi,
    }).live(CHANNELS, {
      signal: new AbortController().signal,
    }),
  )
  t.after(() => received.close())
  await received.until(() => received.of('book_snapshot').length === 1, 'a book')
  const [visit] = server.visits
  assert.ok(visit)
  venue.delta(visit, 1, { side: 'yes', price_dollars: '0.4600', delta_fp: '1.00' })
  await received.until(() => received.of('book_snapshot').length === 2, 'the book after it was crossed')
  venue.delta(visit, 1, { side: 'yes', price_dollars: '0.4000', delta_fp: '-11.00' })
  await received.until(() => received.of('book_snapshot').length === 3, 'the book after a negative size')
  assert.deepEqual(
    received.of('book_lost').map((each) => each.reason),
    ['crossed', 'negative_size'],
  )
  assert.equal(received.of('book_delta').length, 0)
})

test('without credentials: a notice, no socket, books and figures by asking, results by asking', async (t) => {
  const markets = new Map<string, object>([[TICKER, market(TICKER, { close_time: '2026-04-16T04:48:00Z' })]])
  const trade = {
    trade_id: 't1',
    ticker: TICKER,
    count_fp: '2.50',
    yes_price_dollars: '0.4400',
    taker_book_side: 'ask',
    created_time: '2026-04-16T04:46:30.123456Z',
    is_block_trade: true,
  }
  const server = await startLoopback({
    answer(asked) {
      if (asked.url.pathname.endsWith(`/markets/${TICKER}/orderbook`)) {
        return { orderbook_fp: { yes_dollars: [['0.4000', '1.00']], no_dollars: null } }
      }
      if (asked.url.pathname.endsWith('/markets/trades')) return { trades: [trade], cursor: '' }
      return answerMarkets(markets, asked)
    },
  })
  t.after(() => server.close())
  const venue = createKalshi({ clock: fastClock(START, 60), hosts: { rest: server.http, stream: server.ws } })
  assert.deepEqual(
    venue.notices?.map(({ code }) => code),
    ['credentials_missing'],
  )
  assert.match(venue.notices?.[0]?.line ?? '', /no key id and no private key.*REST/)
  const broken = createKalshi({
    clock: fastClock(START, 60),
    kalshi: { keyId: 'k', privateKey: 'not a key' },
  })
  assert.deepEqual(
    broken.notices?.map(({ code }) => code),
    ['credentials_invalid'],
  )
  assert.ok(!broken.notices?.[0]?.line.includes('not a key'))

  const received = collect(venue.live(CHANNELS, { signal: new AbortController().signal }))
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', TICKER) !== undefined, 'a book')
  assert.deepEqual(received.last('book_snapshot', TICKER)?.asks, [])
  await received.until(() => received.of('trade').length === 1, 'the trade')
  const [polled] = received.of('trade')
  assert.deepEqual(
    [polled?.side, polled?.size, polled?.isBlock, polled?.leg?.marketId],
    ['sell', '2.50', true, TICKER],
  )
  assert.equal(received.last('open_interest', TICKER)?.openInterest, '4.00')
  assert.equal(received.last('market_ticker', TICKER)?.lastPrice, '0.5000')
  await received.until(() => received.last('book_lost', TICKER)?.reason === 'ended', 'the end of the window')
  markets.set(
    TICKER,
    market(TICKER, {
      close_time: '2026-04-16T04:48:00Z',
      status: 'finalized',
      result: 'yes',
      settlement_ts: '2026-04-16T04:49:00Z',
    }),
  )
  await received.until(() => received.last('market', TICKER)?.market.status === 'resolved', 'the result')
  assert.equal(received.last('market', TICKER)?.market.winner, 'yes')
  assert.equal(server.visits.length, 0)
})

test('a key that the venue rejects: a notice, the catalogue and polled books, and a socket once it is accepted', async (t) => {
  const markets = new Map<string, object>([[TICKER, market(TICKER)]])
  const venue = speakKalshi()
  let isAccepted = false
  let volume = 10
  const made = [{ id: 't1', time: START - 5_000 }]
  const server = await startLoopback({
    admit: (request) => isAccepted && isSigned(request),
    onMessage: venue.onMessage,
    answer(asked) {
      // The venue's answer to a wrong signature.
      if ('kalshi-access-key' in asked.headers && !isAccepted) return { status: 401, body: { error: 'key' } }
      if (asked.url.pathname.endsWith(`/markets/${TICKER}/orderbook`)) {
        // The venue requires the signature here, so there is no book without a valid key.
        if (!('kalshi-access-key' in asked.headers) && isAccepted) return { status: 401, body: {} }
        return { orderbook_fp: { yes_dollars: [['0.3000', '1.00']], no_dollars: null } }
      }
      if (asked.url.pathname.endsWith('/markets/trades')) {
        const [fromS, toS] = ['min_ts', 'max_ts'].map((name) => Number(asked.url.searchParams.get(name)))
        const listed = made.filter(({ time }) => time / 1_000 >= (fromS ?? 0) && time / 1_000 <= (toS ?? 0))
        const trades = listed.toReversed().map(({ id, time }) => ({
          trade_id: id,
          ticker: TICKER,
          count_fp: '1.00',
          yes_price_dollars: '0.4000',
          taker_book_side: 'bid',
          created_time: new Date(time).toISOString(),
        }))
        return { trades, cursor: '' }
      }
      markets.set(TICKER, market(TICKER, { volume_fp: `${volume}.00` }))
      return answerMarkets(markets, asked)
    },
  })
  t.after(() => server.close())
  const clock = fastClock(START, 20)
  const exchange = createKalshi({ clock, hosts: { rest: server.http, stream: server.ws }, kalshi })
  assert.equal(exchange.notices?.length, 0)
  const received = collect(exchange.live(CHANNELS, { signal: new AbortController().signal }))
  t.after(() => received.close())
  await received.until(() => received.last('book_snapshot', TICKER)?.via === 'poll', 'a book by asking')
  assert.deepEqual(
    exchange.notices?.map(({ code }) => code),
    ['credentials_rejected'],
  )
  assert.match(exchange.notices?.[0]?.line ?? '', /rejects the key.*REST/)
  await received.until(() => received.of('trade').length === 1, 'the trade by asking')
  const isUp = () => received.of('subscribed').some(({ channel }) => channel.topic === 'trades')
  await received.until(isUp, 'the report that trades are polled')
  assert.equal(received.last('open_interest', TICKER)?.openInterest, '4.00')
  assert.equal(server.visits.length, 0)

  // A trade between the last list and the socket is found by the next list.
  isAccepted = true
  made.push({ id: 't2', time: clock.now() })
  volume += 1
  await received.until(
    () => received.last('book_snapshot', TICKER)?.via === 'stream',
    'the book of the stream',
  )
  assert.equal(exchange.notices?.length, 0)
  assert.equal(received.of('connected').length, 1)
  assert.ok(
    received.of('book_lost').some(({ reason }) => reason === 'disconnected'),
    'a polled book is not changed by the stream',
  )
  await received.until(() => received.of('trade').length === 2, 'the trade in between')
})

async function pagesOf(pages: AsyncIterable<HistoryPage>): Promise<HistoryPage[]> {
  const all: HistoryPage[] = []
  for await (const page of pages) all.push(page)
  return all
}

test('history: candles start where UTC starts them, trades come from the tier that has them, oldest first', async (t) => {
  const cut = START - 2 * 3_600_000
  const server = await startLoopback({
    answer(asked) {
      const { pathname, searchParams: query } = asked.url
      if (pathname.endsWith('/historical/cutoff')) {
        return {
          market_settled_ts: new Date(cut).toISOString(),
          trades_created_ts: new Date(cut).toISOString(),
        }
      }
      if (pathname.endsWith('/trades')) {
        const at = (Number(query.get('min_ts')) + 1) * 1_000
        const row = (id: string, time: number) => ({
          trade_id: id + pathname,
          ticker: TICKER,
          count_fp: '1.00',
          yes_price_dollars: '0.4',
          taker_side: 'yes',
          created_time: new Date(time).toISOString(),
        })
        return query.has('cursor')
          ? { trades: [row('old', at)], cursor: '' }
          : { trades: [row('new', at + 1)], cursor: 'more' }
      }
      if (pathname.endsWith(`/series/KXBTC15M/markets/${TICKER}/candlesticks`)) {
        const end = Number(query.get('start_ts'))
        const candle = {
          end_period_ts: end,
          price: { open_dollars: null, previous_dollars: '0.3000' },
          yes_bid: { close_dollars: '0.4000' },
          yes_ask: { close_dollars: '0.5000' },
          volume_fp: '0.00',
          open_interest_fp: '9.00',
        }
        return { ticker: TICKER, candlesticks: [candle] }
      }
      return undefined
    },
  })
  t.after(() => server.close())
  const venue = createKalshi({ clock: fastClock(START, 1), hosts: { rest: server.http, stream: server.ws } })
  const { signal } = new AbortController()
  const range = { fromMs: cut - 3_600_000, toMs: cut + 3_600_000 }
  const trades = await pagesOf(
    venue.history({ topic: 'trades', symbol: 'BTC', market: TICKER, range }, { signal }),
  )
  assert.deepEqual(
    trades.map((page) => [page.covered, page.observations.map((each) => each.key)]),
    [
      [
        { fromMs: cut - 3_600_000, toMs: cut },
        ['old', 'new'].map((id) => `${id}/trade-api/v2/historical/trades`),
      ],
      [
        { fromMs: cut, toMs: cut + 3_600_000 },
        ['old', 'new'].map((id) => `${id}/trade-api/v2/markets/trades`),
      ],
    ],
  )
  const candles = await pagesOf(
    venue.history(
      {
        topic: 'contract_candles',
        symbol: 'BTC',
        market: TICKER,
        interval: '1m',
        range: { fromMs: cut + 60_000, toMs: cut + 180_000 },
      },
      { signal },
    ),
  )
  const [candle] = candles.flatMap((page) => page.observations)
  assert.ok(candle?.kind === 'contract_candle')
  assert.deepEqual(
    [candle.openTimeMs, candle.venueTimeMs, candle.price, candle.previous, candle.openInterest],
    [cut + 60_000, cut + 120_000, null, '0.3000', '9.00'],
  )
  await assert.rejects(
    pagesOf(venue.history({ topic: 'trades', symbol: 'BTC', range }, { signal })),
    /needs a market/,
  )
})

test('history: a contract that settled after the cutoff is found in the live tier with all of its past', async (t) => {
  const cut = START - 3_600_000
  const created = cut - 1_800_000
  const server = await startLoopback({
    answer(asked) {
      const { pathname, searchParams: query } = asked.url
      if (pathname.endsWith('/historical/cutoff')) {
        const time = new Date(cut).toISOString()
        return { market_settled_ts: time, trades_created_ts: time }
      }
      if (pathname.endsWith('/historical/trades')) return { trades: [], cursor: '' }
      if (pathname.endsWith('/markets/trades')) {
        const row = { trade_id: 't', ticker: TICKER, count_fp: '1.00', yes_price_dollars: '0.4' }
        const isIn =
          Number(query.get('min_ts')) * 1_000 <= created && created < Number(query.get('max_ts')) * 1_000
        const trade = { ...row, taker_side: 'yes', created_time: new Date(created).toISOString() }
        return { trades: isIn ? [trade] : [], cursor: '' }
      }
      if (pathname.endsWith(`/series/KXBTC15M/markets/${TICKER}/candlesticks`)) {
        const end = Number(query.get('start_ts'))
        return { candlesticks: [{ end_period_ts: end, volume_fp: '3.00' }] }
      }
      return undefined
    },
  })
  t.after(() => server.close())
  const venue = createKalshi({ clock: fastClock(START, 1), hosts: { rest: server.http, stream: server.ws } })
  const { signal } = new AbortController()
  const range = { fromMs: cut - 3_600_000, toMs: cut - 60_000 }
  const about = { symbol: 'BTC', market: TICKER, range } as const
  const candles = await pagesOf(
    venue.history({ ...about, topic: 'contract_candles', interval: '1m' }, { signal }),
  )
  assert.deepEqual(
    candles.flatMap((page) =>
      page.observations.map((candle) => candle.kind === 'contract_candle' && candle.volume),
    ),
    ['3.00'],
  )
  const trades = await pagesOf(venue.history({ ...about, topic: 'trades' }, { signal }))
  assert.deepEqual(
    trades.flatMap((page) => page.observations.map(({ key }) => key)),
    ['t'],
  )
})

test('history: a list of contracts that all close at other times answers another question, and is not used', async (t) => {
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname.endsWith('/historical/cutoff')) {
        const time = new Date(START - 30 * 86_400_000).toISOString()
        return { market_settled_ts: time, trades_created_ts: time }
      }
      const isQuarter = url.searchParams.get('series_ticker') === 'KXBTC15M'
      return url.pathname.endsWith('/markets')
        ? { markets: isQuarter ? [market(TICKER)] : [], cursor: '' }
        : undefined
    },
  })
  t.after(() => server.close())
  const venue = createKalshi({ clock: fastClock(START, 1), hosts: { rest: server.http, stream: server.ws } })
  const { signal } = new AbortController()
  const closesMs = Date.parse(market(TICKER).close_time)
  const listed = (fromMs: number) =>
    pagesOf(
      venue.history(
        { topic: 'markets', symbol: 'BTC', range: { fromMs, toMs: fromMs + 600_000 } },
        { signal },
      ),
    )
  const [page] = await listed(closesMs - 1_000)
  assert.equal(page?.observations.length, 1)
  await assert.rejects(listed(closesMs - 86_400_000), /no contract that closes/)
})

test('history: the historical tier lists contracts of any time, and those of the requested time are taken', async (t) => {
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname.endsWith('/historical/cutoff')) {
        const time = new Date(START + 3_600_000).toISOString()
        return { market_settled_ts: time, trades_created_ts: time }
      }
      if (!url.pathname.endsWith('/markets')) return undefined
      const isListed =
        url.pathname.includes('/historical/') && url.searchParams.get('series_ticker') === 'KXBTC15M'
      const old = market('KXBTC15M-26MAR010100-00', {
        open_time: '2026-03-01T05:45:00Z',
        close_time: '2026-03-01T06:00:00Z',
      })
      if (!isListed) return { markets: [], cursor: '' }
      return url.searchParams.has('cursor')
        ? { markets: [market(TICKER)], cursor: '' }
        : { markets: [old], cursor: 'more' }
    },
  })
  t.after(() => server.close())
  const venue = createKalshi({ clock: fastClock(START, 1), hosts: { rest: server.http, stream: server.ws } })
  const closesMs = Date.parse(market(TICKER).close_time)
  const range = { fromMs: closesMs - 600_000, toMs: closesMs + 600_000 }
  const { signal } = new AbortController()
  const pages = await pagesOf(venue.history({ topic: 'markets', symbol: 'BTC', range }, { signal }))
  assert.deepEqual(
    pages.map(({ observations, covered }) => [observations.map(({ instrument }) => instrument), covered]),
    [[[TICKER], range]],
  )
})

test('history: candles that name another contract are not used', async (t) => {
  const other = TICKER.replace(/.$/, '9')
  const server = await startLoopback({
    answer({ url }) {
      if (url.pathname.endsWith('/historical/cutoff')) {
        const time = new Date(START - 30 * 86_400_000).toISOString()
        return { market_settled_ts: time, trades_created_ts: time }
      }
      if (!url.pathname.endsWith('/candlesticks')) return undefined
      const end = Number(url.searchParams.get('start_ts'))
      return { ticker: other, candlesticks: [{ end_period_ts: end, volume_fp: '3.00' }] }
    },
  })
  t.after(() => server.close())
  const venue = createKalshi({ clock: fastClock(START, 1), hosts: { rest: server.http, stream: server.ws } })
  const range = { fromMs: START - 3_600_000, toMs: START - 600_000 }
  const request = { topic: 'contract_candles', symbol: 'BTC', market: TICKER, interval: '1m', range } as const
  const { signal } = new AbortController()
  await assert.rejects(pagesOf(venue.history(request, { signal })), /asked for/)
})

for (const [tier, age, fields] of [
  ['live', 30, { volume_fp: null, volume: 12 }],
  ['live', 30, { volume: '12.00' }],
  ['historical', -1, { volume: null }],
  ['historical', -1, { volume_fp: '12.00' }],
] as const)
  test(`history: a ${tier} candle with ${JSON.stringify(fields)} is not one without trades`, async (t) => {
    const server = await startLoopback({
      answer({ url }) {
        if (url.pathname.endsWith('/historical/cutoff')) {
          const time = new Date(START - age * 86_400_000).toISOString()
          return { market_settled_ts: time, trades_created_ts: time }
        }
        const isOfTier = url.pathname.includes('/historical/') === (tier === 'historical')
        if (!url.pathname.endsWith('/candlesticks') || !isOfTier) return undefined
        const end = Number(url.searchParams.get('start_ts'))
        return { ticker: TICKER, candlesticks: [{ end_period_ts: end, ...fields }] }
      },
    })
    t.after(() => server.close())
    const hosts = { rest: server.http, stream: server.ws }
    const venue = createKalshi({ clock: fastClock(START, 1), hosts })
    const range = { fromMs: START - 3_600_000, toMs: START - 600_000 }
    const request = {
      topic: 'contract_candles',
      symbol: 'BTC',
      market: TICKER,
      interval: '1m',
      range,
    } as const
    const { signal } = new AbortController()
    await assert.rejects(pagesOf(venue.history(request, { signal })), /1 of 1 rows cannot be read/)
    assert.deepEqual(
      venue.deadLetters.recent().map(({ reason }) => reason),
      ['wrong_shape'],
    )
  })
