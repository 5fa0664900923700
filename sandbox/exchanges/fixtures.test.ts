/** Every recorded frame and REST answer has a counterpart of the same shape in the sandbox. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fastClock } from '../../test/sandbox/fast-clock.ts'
import { openSocket } from '../../test/sandbox/open-socket.ts'
import { type ShapeRules, shapeDifferences, shapeKey } from '../../test/sandbox/shape.ts'
import { startTestExchanges, type TestExchanges } from '../../test/sandbox/start.ts'

const FIXTURES = process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '../../../shared/fixtures')
const isAbsent = !existsSync(join(FIXTURES, 'binance-spot'))

type Json = Record<string, unknown>
const text = (file: string) => readFileSync(join(FIXTURES, file), 'utf8')
const json = (file: string): unknown => JSON.parse(text(file))
const lines = (file: string): Json[] =>
  text(file)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json)
const messages = (file: string): Json[] => lines(file).map((line) => (line.msg ?? line) as Json)

/** For recordings that lack fields of today's protocol or have fields that the venue has since removed. */
const OLD_AGG_TRADE: ShapeRules = { mayAdd: ['a', 'nq', 'st'] } // `nq` since 2025-12, `st` since 2026-06; `a` cut
const OLD_TICKER: ShapeRules = { mayAdd: ['ps', 'st'] } // since 2026-06
const OLD_LIQUIDATION: ShapeRules = { mayAdd: ['ps', 'st'] } // since 2026-06
const OLD_KLINE: ShapeRules = { mayAdd: ['B'] } // absent in that one recording
const OLD_PERP_TRADE: ShapeRules = { mayAdd: ['users'] } // since 2025
const OLD_CONTEXT: ShapeRules = { mayAdd: ['dayBaseVlm'] } // since 2025

/** At least one frame of the sandbox must have the shape; otherwise the differences to the nearest one are reported. */
function assertShape(expected: unknown, candidates: unknown[], rules: ShapeRules, about: string): void {
  const attempts = candidates.map((candidate) => shapeDifferences(expected, candidate, rules))
  attempts.sort((a, b) => a.length - b.length)
  assert.deepEqual(
    attempts[0] ?? [`no counterpart`],
    [],
    `${about}: ${JSON.stringify(expected).slice(0, 300)}`,
  )
}

function assertFrames(
  recorded: Json[],
  sandbox: Json[],
  pick: (frame: Json) => { candidates: (frame: Json) => boolean; rules?: ShapeRules } | 'not simulated',
): void {
  const seen = new Set<string>()
  let compared = 0
  for (const frame of recorded) {
    const choice = pick(frame)
    if (choice === 'not simulated') continue
    const key = `${String(frame.stream ?? frame.channel)} ${shapeKey(frame)}`
    if (seen.has(key)) continue
    seen.add(key)
    compared++
    assertShape(frame, sandbox.filter(choice.candidates), choice.rules ?? {}, key.slice(0, 60))
  }
  assert.ok(compared > 0)
}

describe('shapes of the fixtures', { skip: isAbsent ? 'no fixtures here' : false }, () => {
  let sandbox: TestExchanges
  const collected: Record<'spot' | 'futures' | 'perp', Json[]> = { spot: [], futures: [], perp: [] }

  before(async () => {
    const clock = fastClock({ startMs: Date.UTC(2026, 10, 15, 1, 59, 50), factor: 20 })
    sandbox = await startTestExchanges({
      seed: 12,
      clock,
      tradesPerSecond: 1,
      limits: { perp: { weightPerMinute: 1e6 } },
    })
    const spot = await openSocket(
      `${sandbox.spot.wsUrl}/stream?streams=${['bookTicker', 'aggTrade', 'kline_1s', 'kline_1m'].map((kind) => `btcusdt@${kind}`).join('/')}`,
    )
    const market = await openSocket(
      `${sandbox.futures.wsUrl}/market/stream?streams=${['aggTrade', 'kline_1m', 'forceOrder'].map((kind) => `btcusdt@${kind}`).join('/')}`,
    )
    const open = await openSocket(`${sandbox.futures.wsUrl}/public/stream?streams=btcusdt@bookTicker`)
    const perp = await openSocket(`${sandbox.perp.wsUrl}/ws`)
    for (const type of ['trades', 'l2Book', 'activeAssetCtx'])
      perp.send({ method: 'subscribe', subscription: { type, coin: 'BTC' } })
    perp.send({ method: 'subscribe', subscription: { type: 'l2Book', coin: 'BTC' } })
    perp.send({ method: 'subscribe', subscription: { type: 'l2Book', coin: 'ETH', nSigFigs: 5 } })
    perp.send({ method: 'unsubscribe', subscription: { type: 'l2Book', coin: 'ETH', nSigFigs: 5 } })
    perp.send({ method: 'subscribe', subscription: { type: 'candle', coin: 'BTC', interval: '1m' } })
    perp.send({ method: 'subscribe', subscription: { type: 'trades', coin: ['BTC', 'ETH'] } })
    perp.send({ method: 'ping' })
    const isEvent = (event: string) => (frame: Json) => (frame.data as Json)?.e === event
    await Promise.all([
      spot.waitFor((frame) => frame.stream === 'btcusdt@kline_1m'),
      spot.waitFor(
        (frame) => frame.stream === 'btcusdt@kline_1s' && ((frame.data as Json).k as Json).n === 0,
      ),
      market.waitFor(isEvent('forceOrder')),
      market.waitFor(isEvent('aggTrade')),
      open.waitFor(isEvent('bookTicker')),
      perp.waitFor((frame) => frame.channel === 'l2Book'),
      perp.waitFor((frame) => frame.channel === 'candle'),
    ])
    collected.spot = spot.frames()
    collected.futures = [...market.frames(), ...open.frames()]
    collected.perp = perp.frames()
    for (const client of [spot, market, open, perp]) client.close()
  })
  after(() => sandbox.close())

  const get = async (venue: 'spot' | 'futures', path: string): Promise<unknown> => {
    const response = await fetch(sandbox[venue].restUrl + path)
    assert.equal(response.status, 200, path)
    return response.json()
  }
  const info = async (body: unknown): Promise<unknown> => {
    const response = await fetch(`${sandbox.perp.restUrl}/info`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(response.status, 200)
    return response.json()
  }

  /** Single fills, book differences and mark prices are not recorded, so the sandbox does not send them. */
  const isNotSimulated = (frame: Json) => /@(trade$|depth|markPrice)/.test(String(frame.stream))

  /** `sushiusdt@kline_1m` and `btcusdt@kline_1m` are the same kind of stream. */
  const sameKind = (stream: unknown) => {
    const kind = String(stream).slice(String(stream).indexOf('@'))
    return (frame: Json) => String(frame.stream).startsWith('btcusdt') && String(frame.stream).endsWith(kind)
  }

  for (const file of [
    'btcusdt-raw-book-sync-start-20240808',
    'btcusdt-raw-combined-stream-midnight-20240809',
  ]) {
    test(`spot ${file}`, async () => {
      const recorded = lines(`binance-spot/${file}.jsonl`)
      const depth = await get('spot', '/api/v3/depth?symbol=BTCUSDT&limit=1000')
      for (const line of recorded.filter((each) => each.rest === 'depth'))
        assertShape(line.msg, [depth], {}, 'depth')
      const frames = recorded.filter((each) => each.rest === undefined).map((each) => each.msg as Json)
      assertFrames(frames, collected.spot, (frame) =>
        isNotSimulated(frame) ? 'not simulated' : { candidates: sameKind(frame.stream) },
      )
    })
  }

  test('spot kline of a quiet second', () => {
    const [kline] = messages('binance-spot/live-frame-kline-1s-20230423.jsonl')
    const candidates = collected.spot
      .filter((frame) => frame.stream === 'btcusdt@kline_1s')
      .map((frame) => frame.data as Json)
    assertShape(kline, candidates, OLD_KLINE, 'kline_1s')
    const quiet = candidates.filter((frame) => (frame.k as Json).n === 0).map((frame) => frame.k as Json)
    assert.ok(quiet.length > 0, 'a quiet second is sent')
    for (const k of quiet) assert.deepEqual([k.f, k.L, k.v, k.o, k.h], [-1, -1, '0.00000000', k.c, k.l])
  })

  test('spot REST answers', async () => {
    const cases: [string, string][] = [
      ['nautilus/http_spot_market_agg_trades.json', '/api/v3/aggTrades?symbol=BTCUSDT'],
      ['nautilus/http_spot_market_klines.json', '/api/v3/klines?symbol=BTCUSDT&interval=1m'],
      ['nautilus/http_spot_market_depth.json', '/api/v3/depth?symbol=BTCUSDT'],
      ['nautilus/http_spot_market_time.json', '/api/v3/time'],
      ['nautilus/http_spot_market_exchange_info.json', '/api/v3/exchangeInfo'],
      ['exchangeInfo-subset-20211012.json', '/api/v3/exchangeInfo?symbols=%5B%22BTCUSDT%22,%22ETHUSDT%22%5D'],
    ]
    for (const [file, path] of cases)
      assertShape(json(`binance-spot/${file}`), [await get('spot', path)], {}, file)
    const columns = text('binance-spot/btcusdt-klines-5m-20240808-20240809.csv')
      .split('\n')[0]
      ?.split(',').length
    const rows = (await get('spot', '/api/v3/klines?symbol=BTCUSDT&interval=5m&limit=1')) as unknown[][]
    assert.equal(rows[0]?.length, columns)
  })

  test('futures recordings of 2021 and 2024', async () => {
    const recorded = lines('binance-futures/btcusdt-raw-book-sync-start-20240808.jsonl')
    const depth = await get('futures', '/fapi/v1/depth?symbol=BTCUSDT&limit=1000')
    for (const line of recorded.filter((each) => each.rest === 'depth'))
      assertShape(line.msg, [depth], {}, 'depth')
    const frames = [
      ...recorded.filter((each) => each.rest === undefined).map((each) => each.msg as Json),
      ...messages('binance-futures/cryptofeed-aggtrade-kline1m-depth-bookticker-20210722.jsonl'),
    ]
    assertFrames(frames, collected.futures, (frame) =>
      isNotSimulated(frame)
        ? 'not simulated'
        : {
            candidates: sameKind(frame.stream),
            rules: String(frame.stream).endsWith('@aggTrade') ? OLD_AGG_TRADE : OLD_TICKER,
          },
    )
  })

  test('futures live frames and the frames of 2019 to 2021', () => {
    const rules = (event: unknown): ShapeRules =>
      event === 'aggTrade' ? OLD_AGG_TRADE : event === 'forceOrder' ? OLD_LIQUIDATION : OLD_TICKER
    const raw = collected.futures.map((frame) => frame.data as Json)
    const all = [
      ...messages('binance-futures/live-frames-2022-2026.jsonl'),
      ...messages('binance-futures/tardis-messages-2019-2021.jsonl'),
    ]
    let today = 0
    for (const message of all) {
      const data = (message.data ?? message) as Json
      // A REST poll that its client recorded as if it were a stream.
      if (message.generated === true) continue
      // Single fills and mark prices are not recorded, so the sandbox does not send them.
      if (data.e === 'trade' || data.e === 'markPriceUpdate') continue
      const candidates = raw.filter((frame) => frame.e === data.e)
      // Today's frames must match without exceptions.
      const isToday = JSON.stringify(data).includes('"st"')
      if (isToday) today++
      assertShape(data, candidates, isToday ? {} : rules(data.e), String(data.e))
    }
    assert.equal(today, 3)
  })

  test('futures REST answers', async () => {
    const live = json('binance-futures/live-rest-2026-07.json') as Json
    const paths: [string, string, ShapeRules?][] = [
      ['GET /fapi/v1/premiumIndex?symbol=BTCUSDT', '/fapi/v1/premiumIndex?symbol=BTCUSDT'],
      // `rateType` was added on 2026-07-24, after this recording.
      [
        'GET /fapi/v1/fundingRate?symbol=BTCUSDT&limit=1',
        '/fapi/v1/fundingRate?symbol=BTCUSDT&limit=1',
        { mayAdd: ['rateType'] },
      ],
      [
        'GET /fapi/v1/klines?symbol=BTCUSDT&interval=1d&limit=1',
        '/fapi/v1/klines?symbol=BTCUSDT&interval=1d&limit=1',
      ],
    ]
    for (const [name, path, rules] of paths)
      assertShape(live[name], [await get('futures', path)], rules ?? {}, name)
    const row = async (path: string) => ((await get('futures', path)) as unknown[])[0]
    const interest = await row('/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=1')
    // The author of the recording cut this row.
    assertShape(
      live['GET /futures/data/openInterestHist?symbol=BTCUSDT (one row)'],
      [interest],
      { mayAdd: ['CMCCirculatingSupply'] },
      'openInterestHist',
    )
  })

  test('futures documentation samples', async () => {
    const sample = (name: string) => json(`binance-futures/doc-samples/http_futures_market_${name}.json`)
    assertShape(
      sample('premium_index'),
      [await get('futures', '/fapi/v1/premiumIndex?symbol=BTCUSDT')],
      {},
      'premiumIndex',
    )
    // Written in 2019, before `markPrice` and `rateType`.
    assertShape(
      sample('funding_rate'),
      [await get('futures', '/fapi/v1/fundingRate?symbol=BTCUSDT')],
      { mayAdd: ['markPrice', 'rateType'] },
      'fundingRate',
    )
    // The samples have `timestamp` as text; the live venue sends a number, and so does the sandbox.
    for (const [name, path] of [['open_interest_historical', 'openInterestHist']] as const) {
      const rows = (sample(name) as Json[]).map((row) => ({ ...row, timestamp: Number(row.timestamp) }))
      assertShape(
        rows,
        [await get('futures', `/futures/data/${path}?symbol=BTCUSDT&period=5m`)],
        { mayAdd: ['CMCCirculatingSupply'] },
        path,
      )
    }
  })

  test('perpetual venue: live frames, the recording of 2025 and older frames', () => {
    const all = [
      ...messages('hyperliquid/live-frames-2026-09.jsonl'),
      ...messages('hyperliquid/btc-raw-l2book-trades-20250126.jsonl'),
      ...messages('hyperliquid/tardis-messages-2024-2025.jsonl'),
    ]
    assertFrames(all, collected.perp, (frame) => {
      // Channels that are not recorded.
      if (
        ['activeSpotAssetCtx', 'allMids', 'allDexsAssetCtxs', 'bbo', 'post'].includes(String(frame.channel))
      )
        return 'not simulated'
      return {
        candidates: (candidate) => candidate.channel === frame.channel,
        ...(frame.channel === 'trades'
          ? { rules: OLD_PERP_TRADE }
          : frame.channel === 'activeAssetCtx'
            ? { rules: OLD_CONTEXT }
            : {}),
      }
    })
  })

  test('perpetual venue: REST answers', async () => {
    const live = json('hyperliquid/live-rest-2026-09.json') as Json
    const nowMs = ((await info({ type: 'exchangeStatus' })) as { time: number }).time
    const candles = (interval: string) =>
      info({
        type: 'candleSnapshot',
        req: { coin: 'BTC', interval, startTime: nowMs - 86_400_000 * 2, endTime: nowMs },
      })
    const funding = await info({ type: 'fundingHistory', coin: 'BTC', startTime: nowMs - 86_400_000 })
    const cases: Record<string, unknown> = {
      'meta_first_six_2026-09-25': await info({ type: 'meta' }),
      'candleSnapshot_btc_1h_2026-09-25': await candles('1h'),
      'fundingHistory_btc_2026-09-25': funding,
      'l2Book_btc_top5_2026-09-25': await info({
        type: 'l2Book',
        coin: 'BTC',
        nSigFigs: null,
        mantissa: null,
      }),
      'exchangeStatus_2026-09-24': await info({ type: 'exchangeStatus' }),
      candleSnapshot_btc_1d_earliest: ((await candles('1d')) as unknown[])[0],
    }
    for (const [name, answer] of Object.entries(cases)) assertShape(live[name], [answer], {}, name)

    const recorded = (name: string) =>
      (json(`hyperliquid/sdk-${name}.json`) as { response: unknown }).response
    assertShape(recorded('candleSnapshot'), [await candles('1h')], {}, 'candleSnapshot 2023')
    assertShape(recorded('fundingHistory-window'), [funding], {}, 'fundingHistory 2023')
    assertShape(recorded('fundingHistory-btc-1038rows-2023'), [funding], {}, 'fundingHistory 2023, long')
    // Recorded in 2023, without the time.
    assertShape(
      recorded('l2Book'),
      [await info({ type: 'l2Book', coin: 'BTC' })],
      { mayAdd: ['time'] },
      'l2Book 2023',
    )
    // Recorded in 2023, before margin tables.
    const newer = { mayAdd: ['marginTableId', 'isDelisted', 'marginTables', 'collateralToken'] }
    assertShape(recorded('meta'), [await info({ type: 'meta' })], newer, 'meta 2023')
  })
})
