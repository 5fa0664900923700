/**
 * What a recorder with nothing configured sends to the real exchanges, copied from their documentation: the sockets and
 * subscriptions of its plan, and the first request for each kind of history with its host, path and parameters. Only
 * the last hop is redirected to loopback stand-ins that record.
 */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { liveStandIns } from '../../../test/venues/live-stand-ins.ts'
import { endAfterTest, endAll } from '../../../test/venues/scripted-venue.ts'
import { SYMBOLS } from '../../core/symbol.ts'
import { channelsOf } from '../../ingest/shared/feeds.ts'
import { systemClock } from '../../kit/clock.ts'
import { VENUES } from '../list.ts'
import type { HistoryRequest, VenueDependencies } from '../venue.ts'

afterEach(endAll)

const NOW = Date.parse('2026-03-14T12:00:20Z')
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const [from, to] = [NOW - 2 * HOUR - 20_000, NOW - HOUR - 20_000]
const coins = ['BTC', 'ETH', 'SOL', 'XRP']
const streams = (kinds: readonly string[]) =>
  kinds.flatMap((kind) => coins.map((coin) => `${coin.toLowerCase()}usdt@${kind}`)).sort()
const subscriptions = (type: string, more = '') =>
  coins.map((coin) => `{"method":"subscribe","subscription":{"type":"${type}","coin":"${coin}"${more}}}`)

type Exchange = 'binance-spot' | 'binance-futures' | 'hyperliquid'

interface SentToVenue {
  /** URL without its streams, the streams that it names, and the frames that are sent on the socket. */
  readonly sockets: readonly { url: string; streams: string[]; frames: string[] }[]
  readonly questions: readonly {
    readonly request: Omit<HistoryRequest, 'symbol' | 'range'>
    readonly url: string
    readonly body?: unknown
  }[]
}

const spot = 'https://data-api.binance.vision/api/v3'
const futures = 'https://fapi.binance.com'
const range = `startTime=${from}&endTime=${to - 1}`
/** One candle more than is wanted, because only a later one proves that a candle was closed. */
const candles = (lengthMs: number) => `startTime=${from}&endTime=${to + lengthMs - 1}`
/** From a little before the range on, for less than an hour. */
const trades = `startTime=${from - 5_000}&endTime=${to - 5_000 - 1}`
/** Includes the rate before the range; the next rate after it is still to come, so there is no end. */
const rates = `startTime=${from - 8 * HOUR - MINUTE}`
const info = 'https://api.hyperliquid.xyz/info'

const SENT: Record<Exchange, SentToVenue> = {
  'binance-spot': {
    sockets: [
      {
        url: 'wss://data-stream.binance.vision/stream',
        streams: streams(['aggTrade', 'kline_1s', 'kline_1m', 'bookTicker']),
        frames: [],
      },
    ],
    questions: [
      {
        request: { topic: 'candles', interval: '1m' },
        url: `${spot}/klines?symbol=BTCUSDT&interval=1m&${candles(MINUTE)}&limit=1000`,
      },
      {
        request: { topic: 'candles', interval: '1s' },
        url: `${spot}/klines?symbol=BTCUSDT&interval=1s&${candles(1_000)}&limit=1000`,
      },
      {
        request: { topic: 'aggregate_trades' },
        url: `${spot}/aggTrades?symbol=BTCUSDT&${trades}&limit=1000`,
      },
      {
        request: { topic: 'aggregate_trades', afterId: 41 },
        url: `${spot}/aggTrades?symbol=BTCUSDT&fromId=42&limit=1000`,
      },
    ],
  },
  'binance-futures': {
    sockets: [
      {
        url: 'wss://fstream.binance.com/market/stream',
        streams: streams(['aggTrade', 'kline_1m', 'forceOrder']),
        frames: [],
      },
      { url: 'wss://fstream.binance.com/public/stream', streams: streams(['bookTicker']), frames: [] },
    ],
    questions: [
      {
        request: { topic: 'candles', interval: '1m' },
        // Up to 99 rows cost a weight of 1.
        url: `${futures}/fapi/v1/klines?symbol=BTCUSDT&interval=1m&${candles(MINUTE)}&limit=61`,
      },
      {
        request: { topic: 'aggregate_trades' },
        url: `${futures}/fapi/v1/aggTrades?symbol=BTCUSDT&${trades}&limit=1000`,
      },
      {
        request: { topic: 'aggregate_trades', afterId: 41 },
        url: `${futures}/fapi/v1/aggTrades?symbol=BTCUSDT&fromId=42&limit=1000`,
      },
      {
        request: { topic: 'funding' },
        url: `${futures}/fapi/v1/fundingRate?symbol=BTCUSDT&${rates}&limit=1000`,
      },
      {
        request: { topic: 'open_interest' },
        url: `${futures}/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=500&${range}`,
      },
    ],
  },
  hyperliquid: {
    sockets: [
      {
        url: 'wss://api.hyperliquid.xyz/ws',
        streams: [],
        frames: [
          ...subscriptions('trades'),
          ...subscriptions('l2Book'),
          ...subscriptions('candle', ',"interval":"1m"'),
          ...subscriptions('activeAssetCtx'),
        ].sort(),
      },
    ],
    questions: [
      {
        request: { topic: 'candles', interval: '1m' },
        url: info,
        body: {
          type: 'candleSnapshot',
          req: { coin: 'BTC', interval: '1m', startTime: from, endTime: to + MINUTE - 1 },
        },
      },
      {
        request: { topic: 'funding' },
        url: info,
        body: { type: 'fundingHistory', coin: 'BTC', startTime: from, endTime: to - 1 },
      },
    ],
  },
}

/** Answers a request for the time or the announced funding, and everything else with an empty list. */
const answered = (path: string, body: string) => {
  if (path.endsWith('/premiumIndex')) return ANNOUNCED
  return path.endsWith('/time') || body.includes('exchangeStatus') ? { serverTime: NOW, time: NOW } : []
}
const ANNOUNCED = {
  ...{ symbol: 'BTCUSDT', markPrice: '1', indexPrice: '1', lastFundingRate: '0.1' },
  ...{ nextFundingTime: NOW + 60 * MINUTE, time: NOW },
}

async function standIns(clock: VenueDependencies['clock']) {
  const { hops, ...rest } = await liveStandIns(answered)
  return { ...rest, dependencies: { clock, ...hops } }
}

for (const [name, { sockets: expected, questions }] of Object.entries(SENT) as [Exchange, SentToVenue][]) {
  test(`${name}: the sockets and subscriptions of its plan`, async () => {
    const { sockets, dialled, dependencies } = await standIns(systemClock)
    const { create, plan } = VENUES[name]
    const channels = SYMBOLS.flatMap((symbol) => channelsOf(plan, symbol))
    const session = create(dependencies).live(channels, { signal: AbortSignal.timeout(60_000) })
    endAfterTest(() => session.close())
    const frames = () => sockets.visits.flatMap((visit) => visit.received)
    const wanted = expected.flatMap((socket) => socket.frames).length
    const endMs = Date.now() + 30_000
    while (sockets.visits.length < expected.length || frames().length < wanted) {
      assert.ok(Date.now() < endMs, `${sockets.visits.length} sockets, ${frames().length} frames`)
      await systemClock.sleep(5)
    }
    await systemClock.sleep(50)
    const sent = dialled.map((url, index) => {
      const { origin, host, protocol, pathname, searchParams } = new URL(url)
      assert.ok(origin === 'null' || origin.endsWith(host))
      return {
        url: `${protocol}//${host}${pathname}`,
        streams: (searchParams.get('streams') ?? '').split('/').filter(Boolean).sort(),
        frames: [...(sockets.visits[index]?.received ?? [])].sort(),
      }
    })
    assert.deepEqual(sent, expected)
    for (const { headers } of sockets.visits) {
      assert.equal(headers['sec-websocket-extensions'], undefined, 'no compression')
      assert.equal(headers.authorization ?? headers['x-mbx-apikey'], undefined, 'no key')
    }
  })

  test(`${name}: the questions for its past`, async () => {
    for (const { request, url, body } of questions) {
      const { rest, fetched, dependencies } = await standIns(manualClock(NOW))
      const venue = VENUES[name].create(dependencies)
      const asked = { ...request, symbol: 'BTC', range: { fromMs: from, toMs: to } } as const
      const pages = venue.history(asked, { signal: AbortSignal.timeout(60_000) })[Symbol.asyncIterator]()
      // These always have data, so the stand-in's empty answer is refused.
      const isAlwaysThere =
        ['open_interest', 'candles', 'aggregate_trades'].includes(request.topic) ||
        (name === 'hyperliquid' && request.topic === 'funding')
      if (isAlwaysThere)
        await assert.rejects(
          pages.next(),
          /no sample at all|no candle (from|before)|a rate was left out|no newest trade|is not the last one/,
        )
      else assert.deepEqual((await pages.next()).value?.missing, [])
      // The time and what is announced are requested first, and a request with an empty answer may be repeated.
      const at = rest.asked.findIndex(
        (each) => !/time$|premiumIndex$|exchangeStatus/.test(each.path + each.body.slice(0, 32)),
      )
      const last = rest.asked[at]
      assert.equal(fetched[at], url)
      assert.equal(last?.method, body === undefined ? 'GET' : 'POST')
      if (body !== undefined) assert.deepEqual(JSON.parse(last?.body ?? ''), body)
      assert.equal(last?.headers['content-type'], body === undefined ? undefined : 'application/json')
      assert.equal(last?.headers.accept, 'application/json')
      assert.equal(last?.headers['x-mbx-apikey'], undefined)
    }
  })
}
