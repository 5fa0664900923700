/** Each venue with nothing configured, against stand-ins that record what the real hosts would have received. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { liveStandIns } from '../../../test/venues/live-stand-ins.ts'
import { endAfterTest, endAll } from '../../../test/venues/scripted-venue.ts'
import { systemClock } from '../../kit/clock.ts'
import { allChannels } from '../adapter/supported.ts'
import type { Channel } from '../channel.ts'
import { VENUES, type VenueName } from '../list.ts'

afterEach(endAll)

const SYMBOLS = ['BTC', 'ETH', 'SOL', 'XRP'] as const
const of = (topic: Channel['topic'], interval?: Channel['interval']): Channel[] =>
  SYMBOLS.map((symbol) => (interval === undefined ? { topic, symbol } : { topic, symbol, interval }))

/** Starts a venue with its defaults; only the last hop is redirected to loopback. */
async function started(name: VenueName, answer: Parameters<typeof liveStandIns>[0]) {
  const { hops, ...rest } = await liveStandIns(answer)
  return { venue: VENUES[name].create({ clock: systemClock, random: () => 0, ...hops }), ...rest }
}

test('Binance spot: one combined socket on the data-only host, no frames sent, no compression, no key', async () => {
  const { venue, sockets, dialled } = await started('binance-spot', () => undefined)
  const channels = [
    ...of('aggregate_trades'),
    ...of('candles', '1s'),
    ...of('candles', '1m'),
    ...of('best_bid_ask'),
  ]
  const session = venue.live(channels, { signal: AbortSignal.timeout(60_000) })
  endAfterTest(() => session.close())
  await until('one socket', () => sockets.visits.length === 1)
  await systemClock.sleep(50)
  assert.deepEqual(dialled, [
    'wss://data-stream.binance.vision/stream?streams=' +
      'btcusdt@aggTrade/ethusdt@aggTrade/solusdt@aggTrade/xrpusdt@aggTrade/' +
      'btcusdt@kline_1s/ethusdt@kline_1s/solusdt@kline_1s/xrpusdt@kline_1s/' +
      'btcusdt@kline_1m/ethusdt@kline_1m/solusdt@kline_1m/xrpusdt@kline_1m/' +
      'btcusdt@bookTicker/ethusdt@bookTicker/solusdt@bookTicker/xrpusdt@bookTicker',
  ])
  const visit = sockets.visits[0]
  assert.equal(`wss://data-stream.binance.vision${visit?.path}`, dialled[0])
  assert.deepEqual(visit?.received, [])
  assert.equal(visit?.headers['sec-websocket-extensions'], undefined)
  assert.equal(visit?.headers['x-mbx-apikey'], undefined)
})

test('Binance USD-M: the path follows from the class of the stream, never the retired one', async () => {
  const { venue, sockets, dialled, fetched } = await started('binance-futures', (path, _body, query) => {
    if (!path.endsWith('/premiumIndex')) return []
    const figures = { markPrice: '1', indexPrice: '1', lastFundingRate: '0.1', nextFundingTime: 1, time: 1 }
    return { symbol: query.get('symbol'), ...figures }
  })
  const channels = [
    ...of('aggregate_trades'),
    ...of('candles', '1m'),
    ...of('liquidations'),
    ...of('best_bid_ask'),
    ...of('funding'),
  ]
  const session = venue.live(channels, { signal: AbortSignal.timeout(60_000) })
  endAfterTest(() => session.close())
  await until('two sockets and eight answers', () => sockets.visits.length === 2 && fetched.length === 8)
  assert.deepEqual(dialled, [
    'wss://fstream.binance.com/market/stream?streams=' +
      'btcusdt@aggTrade/ethusdt@aggTrade/solusdt@aggTrade/xrpusdt@aggTrade/' +
      'btcusdt@kline_1m/ethusdt@kline_1m/solusdt@kline_1m/xrpusdt@kline_1m/' +
      'btcusdt@forceOrder/ethusdt@forceOrder/solusdt@forceOrder/xrpusdt@forceOrder',
    'wss://fstream.binance.com/public/stream?streams=btcusdt@bookTicker/ethusdt@bookTicker/solusdt@bookTicker/xrpusdt@bookTicker',
  ])
  assert.deepEqual(
    sockets.visits.map((visit) => visit.received.length),
    [0, 0],
  )
  const base = 'https://fapi.binance.com'
  const names = SYMBOLS.map((symbol) => `${symbol}USDT`)
  assert.deepEqual(
    fetched.toSorted(),
    names
      .flatMap((name) => [`premiumIndex?symbol=${name}`, `fundingRate?symbol=${name}&limit=2`])
      .map((question) => `${base}/fapi/v1/${question}`)
      .toSorted(),
  )
})

test('Hyperliquid: the documented subscriptions, one object per frame, each once', async () => {
  const { venue, sockets, dialled, rest } = await started('hyperliquid', () => ({
    specialStatuses: null,
    time: 1,
  }))
  const channels = [...of('trades'), ...of('book'), ...of('candles', '1m'), ...of('open_interest')]
  const session = venue.live(channels, { signal: AbortSignal.timeout(60_000) })
  endAfterTest(() => session.close())
  await until(
    'sixteen frames',
    () => sockets.visits.reduce((sum, visit) => sum + visit.received.length, 0) === 16,
  )
  await systemClock.sleep(50)
  assert.deepEqual(dialled, ['wss://api.hyperliquid.xyz/ws'])
  const [main] = sockets.visits
  const frames = (type: string, rest = '') =>
    SYMBOLS.map((coin) => `{"method":"subscribe","subscription":{"type":"${type}","coin":"${coin}"${rest}}}`)
  assert.deepEqual(main?.received, [
    ...frames('trades'),
    ...frames('l2Book'),
    ...frames('candle', ',"interval":"1m"'),
    ...frames('activeAssetCtx'),
  ])
  await venue.witness({ topic: 'open_interest', symbol: 'BTC' }, { signal: AbortSignal.timeout(60_000) })
  const [question] = rest.asked
  assert.equal(question?.method, 'POST')
  assert.equal(question?.path, '/info')
  assert.equal(question?.headers['content-type'], 'application/json')
  assert.equal(question?.body, '{"type":"exchangeStatus"}')
})

test('REST defaults: hosts, paths and headers of the clocks', async () => {
  const expected = {
    'binance-spot': 'https://data-api.binance.vision/api/v3/time',
    'binance-futures': 'https://fapi.binance.com/fapi/v1/time',
    hyperliquid: 'https://api.hyperliquid.xyz/info',
  } as const
  for (const [name, url] of Object.entries(expected)) {
    const { venue, fetched, rest } = await started(name as VenueName, () => ({ serverTime: 5, time: 5 }))
    await venue.check({ signal: AbortSignal.timeout(60_000) })
    assert.equal(fetched[0], url)
    assert.equal(rest.asked[0]?.headers.accept, 'application/json')
    assert.equal(rest.asked[0]?.headers['user-agent'], 'tapeline')
    assert.equal(rest.asked[0]?.headers['x-mbx-apikey'], undefined)
  }
})

test('limits are those of the protocol page', () => {
  const limits = Object.fromEntries(
    Object.entries(VENUES).map(([name, { create }]) => {
      const { budgets, renewAfterMs } = create({ clock: systemClock }).describe
      return [name, { budgets, renewAfterMs }]
    }),
  )
  const usedHeader = 'x-mbx-used-weight-1m'
  assert.deepEqual(limits, {
    'binance-spot': {
      budgets: { weight: { limit: 6_000, windowMs: 60_000, usedHeader } },
      renewAfterMs: 82_800_000,
    },
    'binance-futures': {
      budgets: {
        weight: { limit: 2_400, windowMs: 60_000, usedHeader },
        funding: { limit: 500, windowMs: 300_000 },
        statistics: { limit: 1_000, windowMs: 300_000 },
      },
      renewAfterMs: 82_800_000,
    },
    hyperliquid: { budgets: { weight: { limit: 1_200, windowMs: 60_000 } }, renewAfterMs: null },
    polymarket: {
      budgets: {
        gamma: { limit: 300, windowMs: 10_000 },
        clob: { limit: 1_000, windowMs: 10_000 },
        data: { limit: 200, windowMs: 10_000 },
      },
      renewAfterMs: null,
    },
    kalshi: { budgets: { tokens: { limit: 200, windowMs: 1_000 } }, renewAfterMs: null },
    chainlink: { budgets: { calls: { limit: 100, windowMs: 10_000 } }, renewAfterMs: null },
  })
})

test('unknown and wrongly cased symbols, intervals and topics never reach a socket', async () => {
  for (const name of Object.keys(VENUES) as VenueName[]) {
    const { venue, sockets, dialled } = await started(name, () => undefined)
    const signal = AbortSignal.timeout(1_000)
    const wrong = [
      { topic: 'candles', symbol: 'btc', interval: '1m' },
      { topic: 'candles', symbol: 'Btc', interval: '1m' },
      { topic: 'candles', symbol: 'DOGE', interval: '1m' },
      { topic: 'candles', symbol: 'toString', interval: '1m' },
      { topic: 'candles', symbol: 'BTC' },
      { topic: 'candles', symbol: 'BTC', interval: '3m' },
      { topic: 'hearsay', symbol: 'BTC' },
      { topic: 'constructor', symbol: 'BTC' },
    ] as unknown as Channel[]
    for (const channel of wrong) {
      assert.throws(
        () => venue.live([{ topic: 'candles', symbol: 'BTC', interval: '1m' }, channel], { signal }),
        RangeError,
      )
    }
    assert.throws(
      () =>
        venue.history(
          { topic: 'funding', symbol: 'btc' as 'BTC', range: { fromMs: 0, toMs: 1 } },
          { signal },
        ),
      RangeError,
    )
    await systemClock.sleep(20)
    assert.deepEqual([dialled, sockets.visits], [[], []])
    assert.ok(allChannels(venue.describe).length >= 4)
  }
})

test('what is streamed can be requested later, or the description gives the reason', () => {
  for (const { create } of Object.values(VENUES)) {
    const { name, live, history, notProvided } = create({ clock: systemClock }).describe
    const explained = [...Object.keys(history), ...Object.keys(notProvided)]
    assert.equal(new Set(explained).size, explained.length, name)
    // Some topics are available only as history, such as candles and midpoints of prediction markets.
    const unexplained = Object.keys(live).filter((topic) => !explained.includes(topic))
    assert.deepEqual(unexplained, [], name)
  }
})
