/** What the rows and the meta say: names as asked, fields per source, nulls, ties, notes, ignored parameters. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FIELDS, ROUTES, type RouteRule, SOURCE_ORDER } from '../contract/market-table.ts'
import { assertError } from '../fakes/client.ts'
import { urlOf } from '../fakes/market-routes.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import {
  CONDITION,
  ETH_TICKER,
  FINAL,
  fillWorld,
  GAMMA_NUMBER,
  HOUR,
  iso,
  NOW,
  QUESTION,
  SLUG,
  TICKER,
  TOKENS,
} from '../fakes/market-world.ts'

let service: MarketService
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
})
after(() => service.stop())

type Row = Record<string, unknown>
const page = async (url: string) => {
  const answer = await service.get(url)
  assert.equal(answer.status, 200, `${url}: ${answer.text.slice(0, 300)}`)
  return { rows: answer.json.data as Row[], meta: answer.json.meta as Row, headers: answer.headers }
}
const fieldsOf = (row: Row | undefined) => Object.keys(row ?? {}).sort()
const listed = (fields: string) => fields.split(' ').sort()

test('rows and meta use the requested alias; by default cexa', async () => {
  for (const source of ['cexa', 'cexa_spot']) {
    const { rows, meta } = await page(`/v1/candles?symbol=BTC&source=${source}&limit=3`)
    assert.deepEqual([...new Set(rows.map((row) => row.source))], [source])
    assert.equal(meta.source, source)
    // Time after FINAL was not observed.
    const { meta: open } = await page(`/v1/candles?symbol=BTC&source=${source}&start=${iso(FINAL - HOUR)}`)
    const { gaps } = open.coverage as { gaps: Row[] }
    assert.deepEqual([...new Set(gaps.map((gap) => gap.source))], [source])
  }
  const merged = await page('/v1/candles?symbol=BTC&limit=20')
  assert.ok(merged.rows.some((row) => row.source === 'cexa'))
  assert.ok(!merged.rows.some((row) => row.source === 'cexa_spot'))
  assert.equal(merged.meta.source, null)
})

test('24h and 1d are the same candles, named as requested', async () => {
  const asked = await page('/v1/candles?symbol=BTC&source=cexa&interval=24h&limit=5')
  const stored = await page('/v1/candles?symbol=BTC&source=cexa&interval=1d&limit=5')
  assert.deepEqual([...new Set(asked.rows.map((row) => row.interval))], ['24h'])
  assert.equal(asked.meta.interval, '24h')
  assert.deepEqual(
    asked.rows.map((row) => ({ ...row, interval: '1d' })),
    stored.rows,
  )
  const held = await page('/v1/open-interest?symbol=BTC&source=perpdex&interval=24h&limit=5')
  const daily = await page('/v1/open-interest?symbol=BTC&source=perpdex&interval=1d&limit=5')
  assert.deepEqual(
    held.rows,
    daily.rows.map((row) => ({ ...row, interval: '24h' })),
  )
  const flow = await page('/v1/flow?symbol=BTC&interval=24h&limit=1')
  assert.equal(flow.rows[0]?.interval, '24h')
  const steps = await page('/v1/snapshots?source=perpdex&symbol=BTC&interval=24h&limit=1')
  assert.equal(steps.rows[0]?.interval, '24h')
  const left = await page('/v1/snapshots?source=perpdex&symbol=BTC&limit=1')
  assert.equal(left.rows[0]?.interval, '500ms')
})

test('rows have exactly the fields of the contract', async () => {
  const cases: [string, string][] = [
    ['/v1/candles?symbol=BTC&source=cexa', FIELDS.candle],
    ['/v1/candles?symbol=BTC&source=cexa_futures', FIELDS.candle],
    ['/v1/candles?symbol=BTC&source=perpdex', FIELDS.candle],
    ['/v1/candles?symbol=BTC&source=oracle&interval=5m', FIELDS.candle],
    ['/v1/candles?symbol=BTC&source=predmkt_a', FIELDS.predictionCandle],
    ['/v1/predmkt_b/BTC', FIELDS.predictionCandle],
    ['/v1/trades?symbol=BTC&source=perpdex', FIELDS.trade],
    ['/v1/trades?symbol=BTC&source=predmkt_a', FIELDS.trade],
    ['/v1/trades?symbol=BTC&source=predmkt_b', FIELDS.trade],
    ['/v1/flow?symbol=BTC&interval=1h', FIELDS.flow],
    ['/v1/open-interest?symbol=BTC', FIELDS.openInterest],
    [`/v1/open-interest?symbol=${TICKER}`, `${FIELDS.openInterest} market_id`],
    ['/v1/liquidations?symbol=BTC', FIELDS.liquidation],
    ['/v1/funding?symbol=BTC', FIELDS.funding],
    ['/v1/ticker?symbol=BTC', FIELDS.ticker],
    ['/v1/markets', FIELDS.market],
    ['/v1/snapshots?symbol=BTC&source=predmkt_a', FIELDS.snapshotA],
    ['/v1/snapshots?symbol=BTC&source=predmkt_b', FIELDS.snapshotB],
    ['/v1/snapshots?symbol=BTC&source=perpdex', FIELDS.snapshotPerp],
    ['/v1/predmkt_a/orderbook?symbol=BTC', `${FIELDS.snapshotA} orderbook_up orderbook_down`],
    ['/v1/predmkt_b/orderbook?symbol=BTC', `${FIELDS.snapshotB} orderbook_yes orderbook_no`],
    [
      '/v1/predmkt_a/orderbook?symbol=BTC&include_diffs=true',
      `${FIELDS.snapshotA} orderbook_up orderbook_down diffs`,
    ],
    ['/v1/predmkt_b/snapshots?symbol=BTC&include_diffs=true', `${FIELDS.snapshotB} diffs`],
  ]
  for (const [url, fields] of cases) {
    const { rows } = await page(url)
    assert.ok(rows.length > 0, url)
    for (const row of rows) assert.deepEqual(fieldsOf(row), listed(fields), url)
  }
})

test('every list has every meta field, and has_more, next_cursor, count and returned agree', async () => {
  const extra = (route: RouteRule) =>
    route.path === '/v1/liquidations'
      ? ['sampled']
      : 'active' in { ...route.params, ...route.bound }
        ? ['limit', 'offset', 'total']
        : []
  for (const route of ROUTES) {
    if (route.kind !== 'list') continue
    for (const limit of ['1', '500']) {
      const { rows, meta, headers } = await page(urlOf(route, { limit }))
      const note = meta.predmkt_a_note === undefined ? [] : ['predmkt_a_note']
      assert.deepEqual(fieldsOf(meta), [...listed(FIELDS.meta), ...note, ...extra(route)].sort(), route.path)
      assert.equal(meta.count, rows.length)
      assert.equal(meta.returned, rows.length)
      assert.equal(meta.has_more, meta.next_cursor !== null)
      assert.equal(headers.get('x-rows-returned'), String(rows.length))
      assert.equal(headers.get('x-next-cursor'), meta.next_cursor)
      assert.equal(headers.has('link'), meta.has_more)
      const coverage = meta.coverage as { complete: boolean; gaps: unknown[] }
      assert.equal(coverage.complete, coverage.gaps.length === 0)
      assert.equal(headers.get('x-coverage-complete'), String(coverage.complete))
      assert.equal(headers.get('x-clamped'), String(meta.clamped === true))
      const only: Record<string, string> = { '/v1/flow': 'cexa', '/v1/liquidations': 'cexa_futures' }
      const source = route.bound.source ?? route.query.source ?? only[route.path] ?? null
      assert.equal(meta.source, source, route.path)
      const isCandles = route.perRow === 3 && 'token_id' in route.params
      const isHourly = isCandles || /flow|open-interest/.test(route.path)
      const isSampled = /snapshots|orderbook/.test(route.path)
      const shown = isHourly ? '1h' : isSampled ? '500ms' : null
      assert.equal(meta.interval, shown, `${route.path}: asked, fixed or by default`)
      assert.deepEqual(meta.ignored, [])
    }
  }
})

test('fields that a source does not publish are null', async () => {
  const [cexa] = (await page('/v1/candles?symbol=BTC&source=cexa&limit=1&end=2026-06-10T12:00:00Z')).rows
  assert.deepEqual([cexa?.taker_buy_ratio, cexa?.funding_rate, cexa?.open_interest], [null, null, null])
  assert.equal(typeof cexa?.num_trades, 'number')
  const [futures] = (
    await page('/v1/candles?symbol=BTC&source=cexa_futures&limit=1&end=2026-06-10T12:00:00Z')
  ).rows
  assert.deepEqual(
    [futures?.taker_buy_ratio, futures?.funding_rate, futures?.open_interest],
    [0.512, -0.0001, 82345.12],
  )
  const [perp] = (await page('/v1/candles?symbol=BTC&source=perpdex&limit=1')).rows
  assert.deepEqual([perp?.num_trades, perp?.taker_buy_ratio, perp?.open_interest], [null, null, 411.5])
  const [oracle] = (await page('/v1/candles?symbol=BTC&source=oracle&interval=15m&limit=1')).rows
  assert.deepEqual([oracle?.volume, oracle?.num_trades], [null, null])
  for (const row of (await page('/v1/predmkt_a/candles?symbol=BTC')).rows) {
    assert.deepEqual(
      [row.num_trades, row.taker_buy_ratio, row.funding_rate, row.open_interest],
      [null, null, null, null],
    )
    assert.ok(Number(row.close) >= 0 && Number(row.close) <= 1)
  }
  const flow = await page('/v1/flow?symbol=BTC&interval=4h&limit=60')
  const quiet = flow.rows.find((row) => row.buy_volume === 0)
  assert.deepEqual([quiet?.vwap_buy, quiet?.buy_ratio, quiet?.net_volume], [null, 0, -10.25])
  assert.ok(flow.rows.some((row) => row.num_buys === null))
})

test('the current candle is open, every other one closed', async () => {
  const { rows } = await page('/v1/candles?symbol=BTC&source=cexa&limit=5')
  assert.deepEqual(
    rows.map((row) => [row.timestamp, row.closed]),
    [0, 1, 2, 3, 4].map((back) => [iso(FINAL - back * HOUR), back > 0]),
  )
})

test('other names of a parameter mean the same; two names with two values are 422', async () => {
  const [start, end] = ['2026-06-10T08:00:00Z', '2026-06-10T11:00:00Z']
  for (const path of ['/v1/perpdex/BTC', `/v1/predmkt_b/${TICKER}`]) {
    const own = await page(`${path}?start=${start}&end=${end}`)
    const foreign = await page(`${path}?start_time=${start}&end_time=${end}&offset=0&include_orderbook=true`)
    assert.deepEqual(foreign.rows, own.rows, path)
    assert.deepEqual([...(foreign.meta.ignored as string[])].sort(), ['include_orderbook', 'offset'])
    assert.deepEqual({ ...foreign.meta, ignored: [] }, own.meta)
    const both = await page(`${path}?start=${start}&start_time=${start}&end=${end}`)
    assert.deepEqual(both.rows, own.rows)
    const two = await service.get(`${path}?start=${start}&start_time=${end}`)
    assert.equal(assertError(two, 422, 'invalid_param').param, 'start_time')
    assertError(await service.get(`${path}?offset=1`), 422, 'invalid_param')
    // A page that was requested by another name can be continued like any other.
    const first = await page(`${path}?start_time=${start}&limit=1`)
    if (first.meta.next_cursor === null) continue
    const next = await page(`${path}?start_time=${start}&limit=1&after=${first.meta.next_cursor}`)
    assert.notDeepEqual(next.rows, first.rows)
  }
  assert.ok((await page(`/v1/perpdex/BTC?start_time=${start}&end_time=${end}`)).rows.length === 3)
  for (const rows of ['candles', 'trades', 'snapshots', 'orderbook']) {
    const path = `/v1/predmkt_a/${rows}`
    const named = await page(`${path}?symbol=BTC&condition_id=${CONDITION}&limit=5`)
    assert.ok(named.rows.length > 0)
    assert.deepEqual(named.rows, (await page(`${path}?symbol=BTC&market_id=${CONDITION}&limit=5`)).rows)
  }
  for (const [series, type] of [
    ['15m', '15m'],
    ['hourly', '1h'],
    ['daily', '24h'],
  ]) {
    const named = await page(`/v1/predmkt_b/snapshots?symbol=BTC&series=${series}&limit=5`)
    const typed = await page(`/v1/predmkt_b/snapshots?symbol=BTC&market_type=${type}&limit=5`)
    assert.deepEqual(named.rows, typed.rows)
    assert.equal(named.rows.length > 0, series === 'hourly')
  }
  const sides = await page('/v1/trades?symbol=BTC&source=perpdex&side=all&limit=50')
  assert.deepEqual(sides.rows, (await page('/v1/trades?symbol=BTC&source=perpdex&limit=50')).rows)
  assert.equal(new Set(sides.rows.map((row) => row.side)).size, 2)
})

test('a refusal is about the name and the value that were given', async () => {
  const day = (number: number) => `2026-06-${number}T00:00:00Z`
  for (const [url, param, words] of [
    [`/v1/perpdex/BTC?start_time=${day(11)}&end_time=${day(10)}`, 'start_time', /^start_time lies after/],
    ['/v1/predmkt_a/candles?symbol=BTC&condition_id=abc', 'condition_id', /known as abc/],
    ['/v1/predmkt_a/candles?symbol=BTC&market_id=abc', 'market_id', /known as abc/],
    ['/v1/perpdex/BTC?offset=5', 'offset', /^offset must be 0\.$/],
    ['/v1/predmkt_b/snapshots?symbol=BTC&series=weekly', 'series', /15m, hourly, daily/],
    ['/v1/snapshots/at?symbol=BTC&source=predmkt_a', 'time', /give it, or interval/],
    ['/v1/trades?symbol=BTC&side=both', 'side', /buy, sell, all/],
    ['/v1/open-interest?symbol=BTC&interval=25h', 'interval', /1d, 24h/],
    ['/v1/status?limit=0', 'limit', /from 1 to/],
  ] as const) {
    const { status, json } = await service.get(url)
    assert.ok(status >= 400 && status < 500, url)
    assert.equal(json.param, param, url)
    assert.match(String(json.message), words)
  }
})

test('snapshots/at with an interval in place of the time gives the newest of that duration', async () => {
  const at = async (query: string) => {
    const answer = await service.get(`/v1/snapshots/at?symbol=BTC&${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json as { data: Row | null; meta: Row }
  }
  for (const type of ['5m', '15m']) {
    const { data, meta } = await at(`source=predmkt_a&interval=${type}`)
    const [newest] = (await page(`/v1/snapshots?symbol=BTC&source=predmkt_a&market_type=${type}&limit=1`))
      .rows
    assert.deepEqual(data, newest)
    assert.deepEqual([meta.interval, meta.time, meta.ignored], [type, iso(NOW), []])
  }
  const timed = await at('source=predmkt_a&interval=15m&time=2026-06-10T11:59:30Z')
  assert.equal(timed.data?.market_type, '15m')
  assert.equal((await at('source=predmkt_a&interval=4h')).meta.reason, 'no_market')
  const perpetual = await at('source=perpdex&interval=5m')
  assert.deepEqual([perpetual.meta.ignored, perpetual.meta.interval], [['interval'], null])
  assert.ok(perpetual.data)
  const neither = await service.get('/v1/snapshots/at?symbol=BTC&source=predmkt_a')
  assert.equal(assertError(neither, 422, 'invalid_param').param, 'time')
})

test('a market shows the token of each leg, and what is final once it is resolved', async () => {
  const { json: over } = await service.get(`/v1/markets/${CONDITION}`)
  assert.deepEqual(
    [over.clob_token_up, over.clob_token_down, over.final_volume, over.final_liquidity, over.question],
    [TOKENS.up, TOKENS.down, 15234.2, null, QUESTION],
  )
  assert.deepEqual(
    [over.created_at, over.updated_at, over.tags],
    ['2026-06-09T12:00:00.000Z', '2026-06-10T12:00:10.000Z', ['Crypto', 'Up or Down']],
  )
  const { json: closed } = await service.get('/v1/markets/btc-updown-15m-1781091900')
  assert.deepEqual(
    [closed.clob_token_up, closed.clob_token_down, closed.final_volume],
    [TOKENS.up15, TOKENS.down15, null],
  )
  const { json: ticker } = await service.get(`/v1/markets/${TICKER}`)
  assert.deepEqual([ticker.clob_token_up, ticker.clob_token_down], [null, null])
})

test('markets count themselves: total, limit and offset', async () => {
  const first = await page('/v1/markets?limit=30')
  assert.deepEqual([first.meta.total, first.meta.limit, first.meta.offset], [69, 30, 0])
  const second = await page(`/v1/markets?limit=30&after=${first.meta.next_cursor}`)
  assert.deepEqual([second.meta.total, second.meta.offset], [69, 30])
  const third = await page(`/v1/markets?limit=30&after=${second.meta.next_cursor}`)
  assert.deepEqual([third.meta.total, third.meta.offset, third.rows.length], [69, 60, 9])
  assert.equal((await page('/v1/predmkt_a/markets')).meta.total, 2)
})

test('the exchange has a listing of its spot and of its futures symbols', async () => {
  for (const [path, source] of [
    ['/v1/cexa/spot', 'cexa'],
    ['/v1/cexa/futures', 'cexa_futures'],
  ] as const) {
    const { rows, meta, headers } = await page(path)
    assert.deepEqual(
      rows.map((row) => row.symbol),
      ['BTC', 'ETH', 'SOL', 'XRP'],
    )
    assert.ok(rows.every((row) => row.source === source && (row.intervals as string[]).includes('1s')))
    assert.deepEqual([meta.source, meta.count], [source, 4])
    assert.equal(headers.get('x-credits-used'), '25')
    assert.equal(rows[0]?.earliest_data, '2026-05-01T00:00:00.000Z')
    assertError(await service.get(`${path}?symbol=BTC`), 422, 'invalid_param')
  }
})

test('sources are labelled and name the tier of each candle interval', async () => {
  const { rows } = await page('/v1/sources')
  const oracle = rows.find((row) => row.source === 'oracle')
  assert.equal(oracle?.label, oracle?.display_name)
  assert.deepEqual(oracle?.tier_requirements, [
    { interval: '5m', min_tier: 'pro' },
    { interval: '15m', min_tier: 'free' },
  ])
  const spot = rows.find((row) => row.source === 'cexa_spot')?.tier_requirements as object[]
  assert.deepEqual(spot[0], { interval: '1s', min_tier: 'business' })
})

test('the note is on unfiltered prediction-market candles only', async () => {
  const noted = async (url: string) => typeof (await page(url)).meta.predmkt_a_note === 'string'
  assert.equal(await noted('/v1/predmkt_a/candles?symbol=BTC'), true)
  assert.equal(await noted('/v1/candles?symbol=BTC'), true)
  assert.equal(await noted('/v1/candles?symbol=BTC&source=cexa'), false)
  assert.equal(await noted('/v1/predmkt_b/BTC'), false)
  assert.equal(await noted(`/v1/predmkt_a/candles?symbol=BTC&market_id=${CONDITION}`), false)
  assert.equal(await noted(`/v1/predmkt_a/candles?symbol=BTC&token_id=${TOKENS.up}`), false)
})

test('market_id gives both legs, token_id one; every identifier of a market finds it', async () => {
  const both = await page(`/v1/predmkt_a/candles?symbol=BTC&market_id=${CONDITION}`)
  assert.deepEqual([...new Set(both.rows.map((row) => row.outcome))].sort(), ['Down', 'Up'])
  assert.ok(both.rows.every((row) => row.market_id === CONDITION))
  const one = await page(`/v1/predmkt_a/candles?symbol=BTC&token_id=${TOKENS.up}`)
  assert.equal(one.rows.length, new Set(one.rows.map((row) => row.timestamp)).size)
  for (const id of [
    CONDITION,
    CONDITION.toUpperCase().replace('0X', '0x'),
    SLUG,
    GAMMA_NUMBER,
    TOKENS.down,
  ]) {
    const found = await page(`/v1/candles?symbol=BTC&market_id=${id}`)
    assert.deepEqual(found.rows, both.rows, id)
    assert.equal((await service.get(`/v1/markets/${id}`)).json.market_id, CONDITION)
    const books = await page(`/v1/snapshots?symbol=BTC&source=predmkt_a&market_id=${id}&limit=3`)
    assert.ok(books.rows.length === 3 && books.rows.every((row) => row.market_id === CONDITION))
  }
  const ticker = await page(`/v1/predmkt_b/${TICKER}`)
  assert.ok(ticker.rows.length > 0 && ticker.rows.every((row) => row.market_id === TICKER))
  assert.equal(ticker.meta.symbol, TICKER)
})

test('trades and open interest take an identifier in place of the symbol', async () => {
  for (const id of [SLUG, CONDITION, GAMMA_NUMBER]) {
    const { rows } = await page(`/v1/trades?symbol=${id}`)
    assert.ok(rows.length > 0 && rows.every((row) => row.market_id === CONDITION), id)
  }
  const leg = await page(`/v1/trades?symbol=BTC&token_id=${TOKENS.down}`)
  assert.ok(leg.rows.length > 0 && leg.rows.every((row) => row.token_id === TOKENS.down))
  const sold = await page('/v1/trades?symbol=BTC&source=perpdex&side=sell&limit=50')
  assert.ok(sold.rows.length > 0 && sold.rows.every((row) => row.side === 'sell'))
  const open = await page(`/v1/open-interest?symbol=${TICKER}`)
  assert.ok(open.rows.length > 0 && open.rows.every((row) => row.market_id === TICKER))
  // The open interest of a symbol is the sum over its markets, so there is no row for a single market.
  assert.ok((await page('/v1/open-interest?symbol=BTC')).rows.every((row) => !('market_id' in row)))
  // Only predmkt_b has open interest per market.
  assertError(await service.get(`/v1/open-interest?symbol=${SLUG}`), 404, 'market_not_found')
  assertError(await service.get(`/v1/open-interest?symbol=${TICKER}&source=perpdex`), 404, 'market_not_found')
  assertError(await service.get(`/v1/trades?symbol=${TICKER}&source=predmkt_a`), 404, 'market_not_found')
  assertError(await service.get(`/v1/candles?symbol=BTC&market_id=BTC`), 404, 'market_not_found')
  const twice = await service.get(`/v1/trades?symbol=${SLUG}&market_id=${CONDITION}&limit=1`)
  assert.equal(twice.status, 200)
  for (const other of [TICKER, 'btc-updown-15m-1781091900'])
    assertError(
      await service.get(`/v1/trades?symbol=${other}&market_id=${CONDITION}`),
      404,
      'market_not_found',
    )
})

test('parameters without a meaning for the source are ignored and listed', async () => {
  const cases: [string, string[]][] = [
    [`/v1/candles?symbol=BTC&source=cexa&market_id=${CONDITION}&token_id=1`, ['market_id', 'token_id']],
    [`/v1/predmkt_b/BTC?token_id=1`, ['token_id']],
    [
      '/v1/snapshots?symbol=BTC&source=perpdex&depth=5&include_orderbook=true&market_type=5m',
      ['depth', 'include_orderbook', 'market_type'],
    ],
    ['/v1/snapshots?symbol=BTC&source=predmkt_b&depth=5', ['depth']],
    ['/v1/snapshots?symbol=BTC&source=predmkt_a&include_diffs=true', ['include_diffs']],
    ['/v1/predmkt_a/orderbook?symbol=BTC&include_diffs=true', []],
    ['/v1/snapshots?symbol=BTC&source=predmkt_a&depth=5', ['depth']],
    ['/v1/snapshots?symbol=BTC&source=predmkt_a&depth=5&include_orderbook=true', []],
    ['/v1/predmkt_a/orderbook?symbol=BTC&depth=5', []],
    ['/v1/perpdex/snapshots?symbol=BTC&market_id=x', ['market_id']],
    ['/v1/trades?symbol=BTC&source=perpdex&market_id=x', ['market_id']],
  ]
  for (const [url, ignored] of cases) {
    const { meta, rows } = await page(url)
    assert.deepEqual([...(meta.ignored as string[])].sort(), ignored, url)
    assert.ok(rows.length > 0, url)
  }
  const at = await service.get(
    '/v1/perpdex/snapshots/at?symbol=BTC&time=2026-06-10T11:59:00Z&include_orderbook=true',
  )
  assert.deepEqual((at.json.meta as Row).ignored, ['include_orderbook'])
  const ofMarket = await service.get(
    `/v1/snapshots/at?symbol=BTC&source=predmkt_a&market_id=${CONDITION}&interval=4h`,
  )
  const { ignored, interval } = ofMarket.json.meta as Row
  assert.deepEqual([ignored, interval], [['interval'], null])
  assert.equal((ofMarket.json.data as Row).market_id, CONDITION)
  // A wrong value is a fault even where it would be ignored.
  assertError(await service.get('/v1/snapshots?symbol=BTC&source=perpdex&depth=51'), 422, 'invalid_param')
})

type Levels = [number, number][]
type Book = { bids: Levels; asks: Levels }
const bookIn = (row: Row | undefined, name: string) => row?.[name] as Book

test('depth counts the levels per side; books are sorted; diffs turn one book into the next', async () => {
  for (const depth of [1, 10, 12, 50]) {
    const { rows } = await page(`/v1/predmkt_a/orderbook?symbol=BTC&market_type=5m&limit=4&depth=${depth}`)
    for (const row of rows) {
      const book = row.orderbook_up as Book
      assert.equal(book.bids.length, Math.min(depth, 14))
      assert.equal(book.asks.length, Math.min(depth, 14))
      assert.deepEqual(
        book.bids,
        [...book.bids].sort((a, b) => b[0] - a[0]),
      )
      assert.deepEqual(
        book.asks,
        [...book.asks].sort((a, b) => a[0] - b[0]),
      )
      assert.equal(book.bids[0]?.[0], row.best_bid)
    }
  }
  const fallback = await page('/v1/predmkt_a/orderbook?symbol=BTC&market_type=5m&limit=1')
  assert.equal(bookIn(fallback.rows[0], 'orderbook_up').bids.length, 10)
  for (const order of ['asc', 'desc']) {
    const { rows } = await page(
      `/v1/predmkt_b/orderbook?symbol=BTC&market_id=${TICKER}&include_diffs=true&limit=6&order=${order}&start=2026-06-10T11:59:10Z&end=2026-06-10T11:59:30Z`,
    )
    const inTime = order === 'asc' ? rows : rows.toReversed()
    for (let i = 1; i < inTime.length; i++) {
      const before = bookIn(inTime[i - 1], 'orderbook_yes').asks
      const after = bookIn(inTime[i], 'orderbook_yes').asks
      const diffs = inTime[i]?.diffs as { asks_added: Levels; asks_removed: Levels }
      const text = (levels: Levels) => levels.map(String)
      const kept = text(before).filter((level) => !text(diffs.asks_removed).includes(level))
      assert.deepEqual([...kept, ...text(diffs.asks_added)].sort(), text(after).sort())
      assert.ok(diffs.asks_added.length > 0)
    }
  }
})

test('snapshot steps give the last sample at or before the end of each step', async () => {
  const { rows } = await page(
    `/v1/snapshots?symbol=BTC&source=predmkt_a&market_type=5m&interval=1s&start=2026-06-10T11:59:10.500Z&end=2026-06-10T11:59:13Z`,
  )
  assert.deepEqual(
    rows.map((row) => [row.timestamp, row.interval]),
    ['11:59:11.000', '11:59:12.000', '11:59:13.000'].map((time) => [`2026-06-10T${time}Z`, '1s']),
  )
  const grid = await page('/v1/snapshots?symbol=BTC&source=perpdex&interval=500ms&limit=3')
  assert.deepEqual(
    grid.rows.map((row) => row.interval),
    ['500ms', '500ms', '500ms'],
  )
})

test('snapshots/at: the market whose window holds the time, shortest first; a named one; none', async () => {
  const at = async (query: string) => {
    const answer = await service.get(`/v1/snapshots/at?symbol=BTC&${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json as { data: Row | null; meta: Row }
  }
  const shortest = await at('source=predmkt_a&time=2026-06-10T11:59:30.700Z')
  assert.deepEqual([shortest.data?.market_type, shortest.data?.timestamp], ['5m', '2026-06-10T11:59:30.500Z'])
  assert.deepEqual(shortest.meta, {
    symbol: 'BTC',
    source: 'predmkt_a',
    interval: null,
    time: '2026-06-10T11:59:30.700Z',
    count: 1,
    returned: 1,
    has_more: false,
    next_cursor: null,
    clamped: null,
    clamped_reason: null,
    original_start: null,
    effective_start: null,
    ignored: [],
    coverage: {
      from: '2026-06-10T11:59:30.500Z',
      to: '2026-06-10T11:59:30.701Z',
      complete: true,
      gaps: [],
    },
    reason: null,
  })
  assert.deepEqual(fieldsOf(shortest.meta), [...listed(FIELDS.meta), 'time', 'reason'].sort())
  const named = await at(`source=predmkt_a&time=2026-06-10T11:59:30Z&market_id=btc-updown-15m-1781091900`)
  assert.equal(named.data?.market_type, '15m')
  const books = await at('source=predmkt_a&time=2026-06-10T11:59:30Z&include_orderbook=true')
  assert.deepEqual(Object.keys(books.data?.orderbook_up as object), ['bids', 'asks'])
  const none = await at('source=predmkt_a&time=2026-06-10T09:00:00Z')
  assert.deepEqual([none.data, none.meta.reason, none.meta.count], [null, 'no_market', 0])
  // The market runs from 11:55 on; its first sample came two minutes before its end.
  const early = await at(`source=predmkt_a&time=2026-06-10T11:56:00Z&market_id=${CONDITION}`)
  assert.deepEqual([early.data, early.meta.reason], [null, 'not_recorded'])
  const { from, to } = early.meta.coverage as { from: string; to: string }
  assert.deepEqual([from, to], ['2026-06-10T11:55:00.000Z', '2026-06-10T11:56:00.001Z'])
  assertError(
    await service.get(
      '/v1/snapshots/at?symbol=BTC&source=predmkt_a&time=2026-06-10T11:59:30Z&market_id=no-such-1',
    ),
    404,
    'market_not_found',
  )
})

test('order: newest first without a start, oldest first with one, as asked with order', async () => {
  for (const route of ROUTES) {
    // Markets are ordered by their end.
    if (!('order' in route.params) || !('start' in route.params)) continue
    const start = '2026-06-10T00:00:00Z'
    const times = async (changes: Record<string, string>) =>
      (await page(urlOf(route, { limit: '20', ...changes }))).rows.map((row) =>
        Date.parse(String(row.timestamp)),
      )
    const rising = (list: number[]) => list.every((time, i) => i === 0 || time >= (list[i - 1] ?? 0))
    const falling = (list: number[]) => rising(list.toReversed())
    assert.ok(falling(await times({})), route.path)
    assert.ok(rising(await times({ start })), route.path)
    const mixed = await times({ start, order: 'desc' })
    assert.ok(mixed.length > 1 && falling(mixed) && !rising(mixed), route.path)
    assert.ok(rising(await times({ order: 'asc' })), route.path)
  }
})

test('rows of one instant are ordered by source, instrument and sequence, in both directions', async () => {
  const key = (row: Row): [number, number, string] => [
    Date.parse(String(row.timestamp)),
    SOURCE_ORDER.indexOf(String(row.source)),
    String(row.token_id ?? row.market_id ?? ''),
  ]
  const compare = (a: Row, b: Row) => {
    const [[timeA, sourceA, idA], [timeB, sourceB, idB]] = [key(a), key(b)]
    return timeA - timeB || sourceA - sourceB || (idA < idB ? -1 : idA > idB ? 1 : 0)
  }
  for (const url of [
    '/v1/candles?symbol=BTC',
    '/v1/trades?symbol=BTC',
    '/v1/open-interest?symbol=BTC',
    '/v1/funding?symbol=BTC',
    '/v1/ticker?symbol=BTC',
  ]) {
    const range = '&start=2026-06-10T06:00:00Z&end=2026-06-10T12:00:00Z'
    const up = await page(`${url}${range}&limit=1000&order=asc`)
    const down = await page(`${url}${range}&limit=1000&order=desc`)
    assert.ok(up.rows.length > 5, url)
    assert.deepEqual(up.rows, up.rows.toSorted(compare), url)
    assert.deepEqual(down.rows, up.rows.toReversed(), url)
  }
})

test('a static segment wins over {symbol}', async () => {
  for (const path of ['/v1/predmkt_b/markets', '/v1/perpdex/markets']) {
    const { rows } = await page(path)
    assert.deepEqual(fieldsOf(rows[0]), listed(FIELDS.market), path)
  }
  assert.deepEqual(fieldsOf((await page('/v1/perpdex/funding?symbol=BTC')).rows[0]), listed(FIELDS.funding))
  assert.deepEqual(fieldsOf((await page('/v1/perpdex/trades?symbol=BTC')).rows[0]), listed(FIELDS.trade))
  assert.deepEqual(
    fieldsOf((await page('/v1/perpdex/open-interest?symbol=BTC')).rows[0]),
    listed(FIELDS.openInterest),
  )
  // The symbol is in the path and not a query parameter as well.
  assertError(await service.get('/v1/perpdex/BTC?symbol=BTC'), 422, 'invalid_param')
})

test('markets: filters, active and the bound lists', async () => {
  const all = await page('/v1/markets?limit=500')
  assert.ok(all.rows.some((row) => row.active === false) && all.rows.some((row) => row.active === true))
  const now = NOW
  for (const row of all.rows) {
    const [start, end] = [row.start_time, row.end_time].map((time) =>
      time === null ? null : Date.parse(String(time)),
    )
    const isOver = row.status === 'resolved' || (end !== null && end !== undefined && end <= now)
    assert.equal(row.active, !isOver, String(row.market_id))
    if (!isOver)
      assert.equal(row.status, start !== null && start !== undefined && start > now ? 'upcoming' : 'open')
    else if (row.status !== 'resolved') assert.equal(row.status, 'closed')
  }
  for (const filter of [
    'active=true',
    'active=false',
    'status=upcoming',
    'status=open',
    'status=closed',
    'status=resolved',
  ]) {
    const [name = '', value = ''] = filter.split('=')
    const { rows } = await page(`/v1/markets?limit=500&${filter}`)
    assert.ok(rows.length > 0, filter)
    assert.deepEqual(
      rows,
      all.rows.filter((row) => String(row[name]) === value),
      filter,
    )
  }
  assert.deepEqual((await page('/v1/markets?active=false&status=open')).rows, [])
  const activeB = await page('/v1/predmkt_b?limit=500')
  assert.ok(
    activeB.rows.length > 0 && activeB.rows.every((row) => row.active === true && row.source === 'predmkt_b'),
  )
  assert.deepEqual((await page('/v1/predmkt_b/markets?limit=500')).rows, activeB.rows)
  const fives = await page('/v1/predmkt_a/markets?market_type=5m')
  assert.deepEqual(
    fives.rows.map((row) => row.market_id),
    [CONDITION],
  )
  const eth = await page('/v1/markets?symbol=eth')
  assert.deepEqual(eth.rows.map((row) => row.market_id).sort(), ['ETH', ETH_TICKER].sort())
  const one = await service.get(`/v1/markets/${TICKER}`)
  assert.deepEqual(fieldsOf(one.json), listed(FIELDS.market))
  assert.deepEqual(
    one.json,
    all.rows.find((row) => row.market_id === TICKER),
  )
})

test('a perpetual shows the open interest that was recorded last', async () => {
  const { rows } = await page('/v1/open-interest?symbol=BTC&source=perpdex&interval=5m&limit=1')
  const last = rows[0]?.open_interest
  assert.equal(typeof last, 'number')
  for (const path of ['/v1/perpdex', '/v1/perpdex/markets', '/v1/markets?source=perpdex']) {
    const shown = Object.fromEntries((await page(path)).rows.map((row) => [row.market_id, row.open_interest]))
    assert.deepEqual(shown, { BTC: last, ETH: null, SOL: null, XRP: null }, path)
  }
  assert.equal((await service.get('/v1/markets/BTC?source=perpdex')).json.open_interest, last)
})

test('liquidations: both sides and each, from a value on; sampled', async () => {
  const start = `start=${iso(NOW - 25 * 24 * HOUR)}`
  const all = await page(`/v1/liquidations?symbol=BTC&${start}&limit=1000`)
  assert.equal(all.meta.sampled, true)
  assert.equal(all.meta.source, 'cexa_futures')
  for (const side of ['long', 'short']) {
    const { rows } = await page(`/v1/liquidations?symbol=BTC&${start}&limit=1000&side=${side}`)
    assert.deepEqual(
      rows,
      all.rows.filter((row) => row.side === side),
    )
  }
  assert.deepEqual((await page(`/v1/liquidations?symbol=BTC&${start}&limit=1000&side=all`)).rows, all.rows)
  for (const least of [0, 610_000, 610_000.01, 3_050_000, 9e9]) {
    const { rows } = await page(`/v1/liquidations?symbol=BTC&${start}&limit=1000&min_usd=${least}`)
    assert.deepEqual(
      rows,
      all.rows.filter((row) => Number(row.usd_value) >= least),
      String(least),
    )
  }
})

test('the symbols list takes earliest_data from the store', async () => {
  const body = (await service.get('/v1/symbols')).json as { symbols: Row[] }
  const btc = body.symbols.find((row) => row.symbol === 'BTC')
  assert.equal(btc?.earliest_data, '2026-05-01T00:00:00.000Z')
  assert.ok(Array.isArray(btc?.sources) && btc.sources.includes('cexa'))
  assert.equal(body.symbols.find((row) => row.symbol === 'XRP')?.earliest_data, null)
})

test('withdrawn paths are 404 and name their replacement', async () => {
  for (const [path, instead] of [
    ['/v1/orderbook', /snapshots/],
    ['/v1/oracle', /candles/],
    ['/v1/derived', /candles|funding|flow/],
  ] as const) {
    const body = assertError(await service.get(path), 404, 'not_found')
    assert.match(String(body.message), instead)
  }
})
