/** REST of the sandbox over real sockets: ranges, limits, refusals, error bodies, and candles compared with trades. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { add, compare, type Decimal, decimal, decimalText, multiply, ZERO } from '../../src/core/decimal.ts'
import { candleStart, INTERVAL_MS } from '../../src/core/interval.ts'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { startTestExchanges, type TestExchanges } from '../../test/sandbox/start.ts'
import { sequence } from './world/hash.ts'

const NOW_MS = Date.UTC(2026, 10, 15, 2, 3, 4, 567)
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

type AggTrade = { a: number; p: string; q: string; f: number; l: number; T: number; m: boolean }
type KlineRow = [
  number,
  string,
  string,
  string,
  string,
  string,
  number,
  string,
  number,
  string,
  string,
  string,
]

const clock = manualClock(NOW_MS)
let sandbox: TestExchanges

before(async () => {
  sandbox = await startTestExchanges({
    seed: 77,
    clock,
    limits: { spot: { rest: { weightPerMinute: 1e9 } }, futures: { rest: { weightPerMinute: 1e9 } } },
  })
})
after(() => sandbox.close())

const ask = (venue: 'spot' | 'futures', path: string) => fetch(sandbox[venue].restUrl + path)
const get = async <T>(venue: 'spot' | 'futures', path: string): Promise<T> => {
  const response = await ask(venue, path)
  assert.equal(response.status, 200, `${path} ${response.status}`)
  return (await response.json()) as T
}
const info = async (body: unknown): Promise<{ status: number; value: unknown }> => {
  const response = await fetch(`${sandbox.perp.restUrl}/info`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return {
    status: response.status,
    value: response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text,
  }
}

const PREFIX = { spot: '/api/v3', futures: '/fapi/v1' }

/** All aggregate trades of a range, paged by id as a client would. */
async function allAggTrades(
  venue: 'spot' | 'futures',
  symbol: string,
  fromMs: number,
  toMs: number,
): Promise<AggTrade[]> {
  const path = `${PREFIX[venue]}/aggTrades?symbol=${symbol}&limit=1000`
  const trades = await get<AggTrade[]>(venue, `${path}&startTime=${fromMs}`)
  while ((trades.at(-1)?.T ?? toMs) < toMs) {
    const next = await get<AggTrade[]>(venue, `${path}&fromId=${(trades.at(-1)?.a ?? 0) + 1}`)
    if (next.length === 0) break
    trades.push(...next)
  }
  return trades.filter((trade) => trade.T < toMs)
}

function candleOf(openMs: number, closeMs: number, trades: AggTrade[]): KlineRow {
  const sum = (rows: AggTrade[], value: (row: AggTrade) => Decimal) =>
    rows.reduce((total, row) => add(total, value(row)), ZERO)
  const buys = trades.filter((trade) => !trade.m)
  const base = (trade: AggTrade) => decimal(trade.q)
  const quote = (trade: AggTrade) => multiply(decimal(trade.p), decimal(trade.q))
  const prices = trades.map((trade) => decimal(trade.p)).sort(compare)
  const extreme = (at: number) => decimalText(prices.at(at) ?? ZERO)
  return [
    openMs,
    decimalText(decimal(trades[0]?.p ?? '0')),
    extreme(-1),
    extreme(0),
    decimalText(decimal(trades.at(-1)?.p ?? '0')),
    decimalText(sum(trades, base)),
    closeMs,
    decimalText(sum(trades, quote)),
    trades.reduce((count, trade) => count + trade.l - trade.f + 1, 0),
    decimalText(sum(buys, base)),
    decimalText(sum(buys, quote)),
    '0',
  ]
}

const plain = (row: KlineRow): unknown[] =>
  row.map((cell) => (typeof cell === 'string' ? decimalText(decimal(cell)) : cell))

test('served candles equal the sums of the served trades, at all intervals, closed and forming', async () => {
  const random = sequence(4, 4)
  for (const venue of ['spot', 'futures'] as const) {
    for (const text of ['1s', '1m', '5m', '15m', '1h'] as const) {
      if (venue === 'futures' && text === '1s') continue
      const symbol = ['BTCUSDT', 'ETHUSDT', 'SOLUSDT', 'XRPUSDT'][Math.floor(random() * 4)] as string
      for (const at of [NOW_MS, NOW_MS - Math.floor(random() * 0.9 * DAY_MS)]) {
        const openMs = candleStart(at, text)
        const nextMs = openMs + INTERVAL_MS[text]
        const rows = await get<KlineRow[]>(
          venue,
          `${PREFIX[venue]}/klines?symbol=${symbol}&interval=${text}&startTime=${openMs}&endTime=${openMs}`,
        )
        const trades = await allAggTrades(venue, symbol, openMs, Math.min(nextMs, NOW_MS + 1))
        assert.equal(rows.length, 1)
        if (trades.length === 0) assert.equal(rows[0]?.[8], 0)
        else
          assert.deepEqual(
            plain(rows[0] as KlineRow),
            candleOf(openMs, nextMs - 1, trades),
            `${venue} ${symbol} ${text}`,
          )
      }
    }
  }
})

test('coarse candles are the sums of the minutes', async () => {
  for (const text of ['4h', '1d'] as const) {
    const openMs = candleStart(NOW_MS - 3 * DAY_MS, text)
    const nextMs = openMs + INTERVAL_MS[text]
    const [row] = await get<KlineRow[]>(
      'futures',
      `/fapi/v1/klines?symbol=SOLUSDT&interval=${text}&startTime=${openMs}&limit=1`,
    )
    const minutes: KlineRow[] = []
    for (let at = openMs; at < nextMs && at <= NOW_MS; at += 1_500 * MINUTE_MS)
      minutes.push(
        ...(await get<KlineRow[]>(
          'futures',
          `/fapi/v1/klines?symbol=SOLUSDT&interval=1m&startTime=${at}&endTime=${nextMs - 1}&limit=1500`,
        )),
      )
    const total = (column: number) =>
      decimalText(minutes.reduce((sum, minute) => add(sum, decimal(minute[column] as string)), ZERO))
    assert.deepEqual(
      [5, 7, 8, 9, 10].map(total),
      [5, 7, 8, 9, 10].map((column) => decimalText(decimal((row as KlineRow)[column] as string))),
      text,
    )
    assert.deepEqual([row?.[1], row?.[4]], [minutes[0]?.[1], minutes.at(-1)?.[4]])
  }
})

test('a list call answers the newest, the oldest from a start, or the newest up to an end', async () => {
  const path = '/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=3'
  const opens = async (extra: string) => (await get<KlineRow[]>('spot', path + extra)).map((row) => row[0])
  const minute = candleStart(NOW_MS, '1m')
  assert.deepEqual(await opens(''), [minute - 2 * MINUTE_MS, minute - MINUTE_MS, minute])
  const start = minute - 600 * MINUTE_MS
  assert.deepEqual(await opens(`&startTime=${start}`), [start, start + MINUTE_MS, start + 2 * MINUTE_MS])
  assert.deepEqual(await opens(`&endTime=${start}`), [start - 2 * MINUTE_MS, start - MINUTE_MS, start])
  assert.deepEqual(await opens(`&startTime=${start + 1}&endTime=${start + MINUTE_MS}`), [start + MINUTE_MS])
  const ids = async (extra: string) =>
    (await get<AggTrade[]>('spot', `/api/v3/aggTrades?symbol=BTCUSDT&limit=4${extra}`)).map((row) => row.a)
  const newest = await ids('')
  assert.deepEqual(await ids(`&fromId=${newest[0]}`), newest)
  assert.deepEqual(
    await ids('&fromId=1'),
    [1_000_000, 1_000_001, 1_000_002, 1_000_003],
    'an id that is too old: the earliest',
  )
})

test('the futures exchange keeps trades for a day and statistics for a month', async () => {
  const trades = await get<AggTrade[]>(
    'futures',
    `/fapi/v1/aggTrades?symbol=BTCUSDT&startTime=${NOW_MS - 3 * DAY_MS}&limit=1`,
  )
  assert.ok((trades[0]?.T ?? 0) >= NOW_MS - DAY_MS)
  const tooLong = await ask(
    'futures',
    `/fapi/v1/aggTrades?symbol=BTCUSDT&startTime=${NOW_MS - 2 * 3_600_000}&endTime=${NOW_MS}`,
  )
  assert.deepEqual([tooLong.status, ((await tooLong.json()) as { code: number }).code], [400, -1127])
  const interest = `/futures/data/openInterestHist?symbol=BTCUSDT&period=1d&limit=500`
  assert.equal((await get<unknown[]>('futures', `${interest}&startTime=${NOW_MS - 31 * DAY_MS}`)).length, 31)
  assert.equal((await ask('futures', `${interest}&startTime=${NOW_MS - 33 * DAY_MS}`)).status, 400)
  const funding = await get<{ fundingTime: number }[]>(
    'futures',
    `/fapi/v1/fundingRate?symbol=BTCUSDT&startTime=${NOW_MS - 31 * DAY_MS}&limit=1000`,
  )
  assert.equal(funding.length, 93)
  assert.ok(funding.every((row) => row.fundingTime % (8 * 3_600_000) < 16))
})

test('open interest of the history is the truth', async () => {
  const at = candleStart(NOW_MS, '5m')
  type Row = { timestamp: number; sumOpenInterest: string }
  const [row] = await get<Row[]>('futures', '/futures/data/openInterestHist?symbol=ETHUSDT&period=5m&limit=1')
  assert.deepEqual(
    [row?.timestamp, row?.sumOpenInterest],
    [at, sandbox.truth.openInterest('futures', 'ETH', at)],
  )
})

test('wrong parameters are refused in the words of the exchange', async () => {
  const cases: ['spot' | 'futures', string, number, number][] = [
    ['spot', '/api/v3/klines?symbol=NOPEUSDT&interval=1m', 400, -1121],
    ['spot', '/api/v3/klines?symbol=btcusdt&interval=1m', 400, -1100],
    ['spot', '/api/v3/klines?interval=1m', 400, -1102],
    ['spot', '/api/v3/klines?symbol=BTCUSDT&interval=7m', 400, -1120],
    ['futures', '/fapi/v1/klines?symbol=BTCUSDT&interval=1s', 400, -1120],
    ['spot', '/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=x', 400, -1100],
    ['futures', '/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=1501', 400, -1130],
    ['futures', '/fapi/v1/depth?symbol=BTCUSDT&limit=7', 400, -4021],
  ]
  for (const [venue, path, status, code] of cases) {
    const response = await ask(venue, path)
    const body = (await response.json()) as { code: number; msg: string }
    assert.deepEqual([response.status, body.code, typeof body.msg], [status, code, 'string'], path)
  }
  assert.equal((await ask('spot', '/api/v1/klines')).status, 404)
})

test('the perpetual venue has the newest 5,000 candles, 500 funding rows and ten trades', async () => {
  const snapshot = (interval: string, startTime: number, coin = 'BTC') =>
    info({ type: 'candleSnapshot', req: { coin, interval, startTime, endTime: NOW_MS } })
  const minutes = (await snapshot('1m', 0)).value as { t: number }[]
  assert.equal(minutes.length, 5_000)
  assert.equal(minutes[0]?.t, candleStart(NOW_MS, '1m') - 4_999 * MINUTE_MS)
  const floored = (await snapshot('1h', NOW_MS - 90 * MINUTE_MS)).value as { t: number }[]
  assert.equal(floored[0]?.t, candleStart(NOW_MS - 90 * MINUTE_MS, '1h'))
  assert.ok(((await snapshot('1d', 0)).value as unknown[]).length >= 31)
  const funding = (await info({ type: 'fundingHistory', coin: 'BTC', startTime: 0 })).value as {
    time: number
  }[]
  assert.equal(funding.length, 500)
  const trades = (await info({ type: 'recentTrades', coin: 'BTC' })).value as { time: number; tid: number }[]
  assert.equal(trades.length, 10)
  assert.ok((trades[0]?.time ?? 0) >= (trades[9]?.time ?? 0), 'newest first')
})

test('the perpetual venue refuses in its own way', async () => {
  assert.deepEqual(await info({ type: 'nope' }), {
    status: 422,
    value: 'Failed to deserialize the JSON body into the target type',
  })
  assert.deepEqual(
    await info({ type: 'candleSnapshot', req: { coin: 'BTC', interval: '1s', startTime: 1 } }),
    { status: 422, value: 'Failed to deserialize the JSON body into the target type' },
  )
  assert.deepEqual(await info({ type: 'fundingHistory', coin: 'btc', startTime: 1 }), {
    status: 500,
    value: null,
  })
  assert.deepEqual(await info({ type: 'l2Book', coin: 'NOPE' }), { status: 200, value: null })
  assert.equal((await fetch(`${sandbox.perp.restUrl}/info`)).status, 405)
  assert.equal((await fetch(`${sandbox.perp.restUrl}/info`, { method: 'POST', body: '{}' })).status, 415)
})

describe('limits', () => {
  test('weights are in the headers; over the limit 429 with Retry-After, then 418, over in time', async () => {
    const narrow = manualClock(NOW_MS)
    const tight = await startTestExchanges({
      seed: 1,
      clock: narrow,
      limits: { spot: { rest: { weightPerMinute: 100, bansAfter: 3 } } },
    })
    try {
      const call = (path: string) => fetch(tight.spot.restUrl + path)
      const first = await call('/api/v3/klines?symbol=BTCUSDT&interval=1m')
      assert.deepEqual(
        [first.headers.get('x-mbx-used-weight-1m'), first.headers.get('x-mbx-used-weight')],
        ['2', '2'],
      )
      const second = await call('/api/v3/depth?symbol=BTCUSDT&limit=1000')
      assert.equal(second.headers.get('x-mbx-used-weight-1m'), '52')
      assert.equal((await call('/api/v3/depth?symbol=BTCUSDT&limit=1000')).status, 429)
      const refused = await call('/api/v3/time')
      // At 02:03:04.567 the minute ends in 55.433 s.
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '56'])
      assert.equal(((await refused.json()) as { code: number }).code, -1003)
      await call('/api/v3/time')
      const banned = await call('/api/v3/time')
      assert.deepEqual([banned.status, banned.headers.get('retry-after')], [418, '120'])
      assert.match(((await banned.json()) as { msg: string }).msg, /banned until \d{13}/)
      narrow.advance(119_000)
      assert.equal((await call('/api/v3/time')).status, 418)
      narrow.advance(2_000)
      assert.equal((await call('/api/v3/time')).status, 200)
    } finally {
      await tight.close()
    }
  })

  test('the perpetual venue answers 429 when its weight of the minute is used, by rows too', async () => {
    const narrow = manualClock(NOW_MS)
    const tight = await startTestExchanges({ seed: 1, clock: narrow })
    try {
      const call = async (body: unknown) =>
        (
          await fetch(`${tight.perp.restUrl}/info`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        ).status
      const large = {
        type: 'candleSnapshot',
        req: { coin: 'BTC', interval: '1m', startTime: 0, endTime: NOW_MS },
      }
      const statuses: number[] = []
      for (let i = 0; i < 13; i++) statuses.push(await call(large))
      // 20 + 5,000 / 60 = 103 each: eleven fit into 1,200.
      assert.deepEqual(statuses, [...Array(11).fill(200), 429, 429])
      narrow.advance(MINUTE_MS)
      assert.equal(await call({ type: 'meta' }), 200)
    } finally {
      await tight.close()
    }
  })

  test('funding and statistics have pools of their own', async () => {
    const tight = await startTestExchanges({
      seed: 1,
      clock: manualClock(NOW_MS),
      limits: { futures: { rest: { fundingPerFiveMinutes: 2, statisticsPerFiveMinutes: 1 } } },
    })
    try {
      const call = async (path: string) => (await fetch(tight.futures.restUrl + path)).status
      const funding = '/fapi/v1/fundingRate?symbol=BTCUSDT'
      assert.deepEqual([await call(funding), await call(funding), await call(funding)], [200, 200, 429])
      const interest = '/futures/data/openInterestHist?symbol=BTCUSDT&period=5m'
      assert.deepEqual(
        [await call(interest), await call(interest), await call('/fapi/v1/time')],
        [200, 429, 200],
      )
    } finally {
      await tight.close()
    }
  })
})
