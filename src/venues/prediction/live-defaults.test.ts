/** What is sent to the real hosts when nothing is configured: URLs, headers and frames, as documented. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { collect, fastClock, startLoopback } from '../../../test/predictions/loopback.ts'
import { SYMBOLS } from '../../core/symbol.ts'
import { allChannels } from '../adapter/supported.ts'
import { createChainlink } from '../chainlink/venue.ts'
import { createKalshi } from '../kalshi/venue.ts'
import { createPolymarket } from '../polymarket/venue.ts'
import type { Fetch, FetchInit } from '../rest/http.ts'
import type { Dial, VenueDependencies } from '../venue.ts'

const START = Date.UTC(2026, 9, 1, 12, 1)

/** Records what would have been sent; sockets lead to a loopback server. */
async function outside(
  t: { after(fn: () => unknown): void },
  answer: (url: URL, init: FetchInit) => unknown,
) {
  const server = await startLoopback()
  t.after(() => server.close())
  const asked: { url: URL; init: FetchInit }[] = []
  const dialled: { url: string; headers: Readonly<Record<string, string>> | undefined }[] = []
  const fetch: Fetch = async (text, init) => {
    const url = new URL(text)
    asked.push({ url, init })
    const value = answer(url, init)
    return new Response(JSON.stringify(value ?? {}), { status: value === undefined ? 404 : 200 })
  }
  const dial: Dial = (url, headers) => {
    dialled.push({ url, headers })
    return new WebSocket(server.ws)
  }
  const dependencies: VenueDependencies = { clock: fastClock(START, 1), fetch, dial }
  return { server, asked, dialled, dependencies }
}

test('polymarket: catalogue, book and price hosts, all series of all symbols, five sockets', async (t) => {
  const { asked, dialled, dependencies, server } = await outside(t, (url) =>
    url.pathname === '/events' ? [] : undefined,
  )
  const venue = createPolymarket(dependencies)
  const received = collect(venue.live(allChannels(venue.describe), { signal: new AbortController().signal }))
  t.after(() => received.close())
  // Five series for each of four symbols, and three of them again under the long names of three symbols.
  await received.until(() => asked.length >= 4 * 5 + 3 * 3, 'all series')
  await received.until(() => dialled.length === 5 && server.visits.length === 5, 'all sockets')
  assert.deepEqual(
    [...new Set(asked.map(({ url }) => url.origin + url.pathname))],
    ['https://gamma-api.polymarket.com/events'],
  )
  const series = new Set(asked.map(({ url }) => url.searchParams.get('series_slug')))
  for (const name of [
    'btc-up-or-down-5m',
    'sol-up-or-down-15m',
    'eth-up-or-down-hourly',
    'solana-up-or-down-hourly',
    'xrp-up-or-down-4h',
    'bitcoin-up-or-down-daily',
  ]) {
    assert.ok(series.has(name), name)
  }
  assert.ok(
    asked.every(
      ({ url }) => url.searchParams.get('closed') === 'false' && url.searchParams.get('order') === 'endDate',
    ),
  )
  assert.ok(
    asked.every(
      ({ init }) =>
        init.method === 'GET' && !Object.keys(init.headers).some((name) => /auth|key/i.test(name)),
    ),
  )
  assert.deepEqual(dialled.map(({ url }) => url).sort(), [
    'wss://ws-live-data.polymarket.com',
    ...SYMBOLS.map(() => 'wss://ws-subscriptions-clob.polymarket.com/ws/market'),
  ])
  assert.ok(dialled.every(({ headers }) => headers === undefined))
})

test('polymarket with one running market: the documented frames for its books and for the reference price', async (t) => {
  const market = {
    id: '1031769',
    conditionId: `0x${'ab'.repeat(32)}`,
    slug: 'btc-updown-5m-1790856000',
    question: 'Bitcoin Up or Down',
    outcomes: '["Up", "Down"]',
    clobTokenIds: '["111", "222"]',
    eventStartTime: '2026-10-01T12:00:00Z',
    endDate: '2026-10-01T12:05:00Z',
    closed: false,
    acceptingOrders: true,
  }
  const { dependencies, server } = await outside(t, (url) => {
    if (url.pathname !== '/events') return undefined
    const isFirst =
      url.searchParams.get('series_slug') === 'btc-up-or-down-5m' &&
      !(Number(url.searchParams.get('offset')) > 0)
    return isFirst ? [{ id: '7', markets: [market] }] : []
  })
  const venue = createPolymarket(dependencies)
  const received = collect(venue.live(allChannels(venue.describe), { signal: new AbortController().signal }))
  t.after(() => received.close())
  const frames = () => server.visits.flatMap(({ received }) => received).filter((text) => text !== 'PING')
  await received.until(() => frames().length >= 13, 'a frame for the market and twelve for the prices')
  const [books, ...others] = frames().filter((text) => text.includes('assets_ids'))
  assert.deepEqual(others, [], 'only the symbol with a market subscribes')
  assert.equal(
    books,
    '{"type":"market","assets_ids":["111","222"],"custom_feature_enabled":true,"initial_dump":true,"level":2}',
  )
  const prices = frames().filter((text) => !text.includes('assets_ids'))
  assert.deepEqual(
    prices.toSorted(),
    [
      ['crypto_prices_chainlink', '/usd'],
      ['crypto_prices_twap_sixty', '/usd'],
      ['crypto_prices', 'usdt'],
    ]
      .flatMap(([topic, unit]) =>
        ['btc', 'eth', 'sol', 'xrp'].map(
          (name) =>
            `{"action":"subscribe","subscriptions":[{"topic":"${topic}","type":"*","filters":"{\\"symbol\\":\\"${name}${unit}\\"}"}]}`,
        ),
      )
      .toSorted(),
  )
})

test('polymarket with the relay that wants a key: authenticated first; without the key a notice and no socket', async (t) => {
  const { dialled, dependencies, server } = await outside(t, () => [])
  const channel = { topic: 'reference_price', symbol: 'BTC' } as const
  const bolt = { apiKey: 'a', secret: 's', passphrase: 'p' }
  const keyless = createPolymarket({
    ...dependencies,
    polymarket: { reference: 'bolt', bolt: { apiKey: 'a' } },
  })
  assert.deepEqual(
    keyless.notices?.map(({ code }) => code),
    ['credentials_missing'],
  )
  const silent = collect(keyless.live([channel], { signal: new AbortController().signal }))
  await silent.close()
  assert.equal(dialled.length, 0)
  const venue = createPolymarket({ ...dependencies, polymarket: { reference: 'bolt', bolt } })
  const received = collect(venue.live([channel], { signal: new AbortController().signal }))
  t.after(() => received.close())
  await received.until(() => server.visits[0]?.received.length === 2, 'two frames')
  assert.equal(dialled[0]?.url, 'wss://ws-live-v2.polymarket.com/ws')
  const filter = { symbol: 'btcusd', window_seconds: 60 }
  assert.deepEqual(
    server.visits[0]?.received.map((text) => JSON.parse(text)),
    [
      { op: 'auth', rid: '1', auth: bolt },
      { op: 'subscribe', rid: '2', subscriptions: [{ channel: 'price.crypto.twap', filter }] },
    ],
  )
})

test('kalshi: every recorded series, signed sockets with the documented headers', async (t) => {
  const { asked, dialled, dependencies } = await outside(t, (url) =>
    url.pathname.endsWith('/markets') ? { markets: [], cursor: '' } : undefined,
  )
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const venue = createKalshi({ ...dependencies, kalshi: { keyId: 'id', privateKey } })
  assert.deepEqual(venue.notices, [])
  const received = collect(venue.live(allChannels(venue.describe), { signal: new AbortController().signal }))
  t.after(() => received.close())
  const series = () => [...new Set(asked.map(({ url }) => url.searchParams.get('series_ticker')))].sort()
  // On a busy machine some series are requested twice before others are requested once.
  const hasAll = () => asked.length >= 24 && series().length >= 12 && dialled.length === 4
  await received.until(hasAll, 'all series and sockets')
  assert.deepEqual(
    [...new Set(asked.map(({ url }) => url.origin + url.pathname))],
    ['https://external-api.kalshi.com/trade-api/v2/markets'],
  )
  assert.deepEqual(series(), [
    'KXBTC',
    'KXBTC15M',
    'KXBTCD',
    'KXETH',
    'KXETH15M',
    'KXETHD',
    'KXSOL15M',
    'KXSOLD',
    'KXSOLE',
    'KXXRP',
    'KXXRP15M',
    'KXXRPD',
  ])
  for (const { url, headers } of dialled) {
    assert.equal(url, 'wss://external-api-ws.kalshi.com/trade-api/ws/v2')
    assert.deepEqual(Object.keys(headers ?? {}), [
      'KALSHI-ACCESS-KEY',
      'KALSHI-ACCESS-SIGNATURE',
      'KALSHI-ACCESS-TIMESTAMP',
    ])
  }
  const missing = createKalshi(dependencies)
  const line = (await missing.check({ signal: new AbortController().signal })).line
  assert.match(line, /kalshi \(predmkt_b\) at https:\/\/external-api\.kalshi\.com/)
})

test('kalshi with one open contract: the documented subscriptions, one channel per command', async (t) => {
  const ticker = 'KXBTC15M-26OCT010815-15'
  const market = {
    ticker,
    event_ticker: 'KXBTC15M-26OCT010815',
    title: 'BTC price up?',
    yes_sub_title: 'Target price: TBD',
    open_time: '2026-10-01T12:00:00Z',
    close_time: '2026-10-01T12:15:00Z',
    status: 'active',
    result: '',
    volume_fp: '10.00',
    open_interest_fp: '4.00',
    last_price_dollars: '0.5000',
  }
  const { dependencies, server } = await outside(t, (url) => {
    if (url.pathname !== '/trade-api/v2/markets') return undefined
    const query = url.searchParams
    const isIts = query.get('series_ticker') === 'KXBTC15M' && query.get('status') === 'open'
    return { markets: isIts ? [market] : [], cursor: '' }
  })
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const venue = createKalshi({ ...dependencies, kalshi: { keyId: 'id', privateKey } })
  const received = collect(venue.live(allChannels(venue.describe), { signal: new AbortController().signal }))
  t.after(() => received.close())
  const frames = () => server.visits.flatMap(({ received }) => received)
  await received.until(() => frames().length >= 3, 'three subscriptions')
  assert.deepEqual(frames(), [
    `{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta"],"market_tickers":["${ticker}"],"use_yes_price":false}}`,
    `{"id":2,"cmd":"subscribe","params":{"channels":["ticker"],"market_tickers":["${ticker}"],"send_initial_snapshot":true}}`,
    `{"id":3,"cmd":"subscribe","params":{"channels":["trade"],"market_tickers":["${ticker}"]}}`,
  ])
})

test('chainlink: several public nodes of Polygon, the documented proxies and selectors, no key anywhere', async (t) => {
  const { asked, dialled, dependencies } = await outside(t, (_url, { body }) => ({
    jsonrpc: '2.0',
    id: JSON.parse(body ?? '{}').id,
    result: `0x${'0'.repeat(63)}8`,
  }))
  const venue = createChainlink(dependencies)
  const received = collect(venue.live(allChannels(venue.describe), { signal: new AbortController().signal }))
  t.after(() => received.close())
  const calls = () => asked.map(({ init }) => JSON.parse(init.body ?? '{}').params?.[0]?.data.slice(0, 10))
  await received.until(() => calls().includes('0xfeaf968c'), 'a question for the newest round')
  assert.equal(new Set(asked.map(({ url }) => url.origin)).size, 3)
  assert.ok(asked.every(({ url, init }) => url.protocol === 'https:' && init.method === 'POST'))
  const body = asked
    .map(({ init }) => JSON.parse(init.body ?? '{}'))
    .find(({ params }) => params[0].data === '0xfeaf968c')
  assert.equal(body.jsonrpc, '2.0')
  assert.equal(body.method, 'eth_call')
  assert.equal(body.params[1], 'latest')
  const targets = new Set(asked.map(({ init }) => JSON.parse(init.body ?? '{}').params[0].to))
  for (const proxy of [
    '0xc907E116054Ad103354f2D350FD2514433D57F6f',
    '0xF9680D99D6C9589e2a93a78A04A279e509205945',
    '0x10C8264C0935b3B9870013e057f330Ff3e9C56dC',
    '0x785ba89291f676b5386652eB12b30cF361020694',
  ]) {
    assert.ok(targets.has(proxy), proxy)
  }
  assert.ok(targets.has('0xcA11bde05977b3631167028862bE2a173976CA11'), 'many calls in one')
  assert.deepEqual(dialled, [])
})
