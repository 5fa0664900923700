/** Each plan against each gate: intervals, history depth, row cap, min_usd and the ticker. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { useTurnTime } from '../../src/kit/turns.ts'
import {
  CANDLE_INTERVALS,
  PLAN_INTERVALS,
  PLANS,
  type Plan,
  ROUTES,
  ROW_CAP,
  type RouteRule,
} from '../contract/market-table.ts'
import { assertError } from '../fakes/client.ts'
import { urlOf } from '../fakes/market-routes.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import {
  BOOKS_FIRST,
  BOOKS_LAST,
  DAY,
  FIRST,
  fillWorld,
  HOUR,
  iso,
  MINUTE,
  NOW,
} from '../fakes/market-world.ts'

let service: MarketService
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
})
after(() => service.stop())

const TIER_OF: Record<Plan, string> = { free: 'free', developer: 'pro', business: 'business' }
const canCall = (route: RouteRule, plan: Plan) =>
  route.minPlan === undefined || PLANS.indexOf(plan) >= PLANS.indexOf(route.minPlan)

type Meta = Record<string, unknown>
const metaOf = (answer: { json: Record<string, unknown> }) => answer.json.meta as Meta

test('candles finer than the plan allows are 403 with the tier that has them', async () => {
  const paths = [
    '/v1/candles?symbol=BTC',
    '/v1/predmkt_a/candles?symbol=BTC',
    '/v1/perpdex/BTC?x',
    '/v1/predmkt_b/BTC?x',
  ]
  for (const plan of PLANS) {
    for (const path of paths) {
      for (const interval of ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h']) {
        const answer = await service.get(
          `${path.replace('?x', '?')}&interval=${interval}`.replace('?&', '?'),
          { plan },
        )
        const hasBars = !path.includes('predmkt') || CANDLE_INTERVALS.predmkt_a?.includes(interval)
        // A path without such candles says so to every plan.
        if (!hasBars) assertError(answer, 400, 'invalid_interval')
        else if (!PLAN_INTERVALS[plan].includes(interval)) {
          const body = assertError(answer, 403, 'tier_restricted')
          const needs: Plan | undefined =
            PLANS.find((other) => PLAN_INTERVALS[other].includes(interval)) ?? 'business'
          assert.equal(body.required_tier, TIER_OF[needs], `${plan} ${path} ${interval}`)
          assert.equal(body.param, 'interval')
          assert.ok('upgrade_url' in body)
        } else assert.equal(answer.status, 200, `${plan} ${path} ${interval}`)
      }
    }
  }
})

test('a source without the interval is 400 invalid_interval and names what it has', async () => {
  for (const [source, intervals] of Object.entries(CANDLE_INTERVALS)) {
    for (const interval of ['1s', '1m', '5m', '15m', '1h', '4h', '1d', '24h']) {
      const url = `/v1/candles?symbol=BTC&source=${source}&interval=${interval}`
      if (intervals.includes(interval)) {
        assert.equal((await service.get(url)).status, 200, `${source} ${interval}`)
        continue
      }
      // No plan is suggested that would not allow it either.
      for (const plan of PLANS) {
        const body = assertError(await service.get(url, { plan }), 400, 'invalid_interval')
        assert.deepEqual([body.param, body.allowed], ['interval', intervals])
        assert.match(String(body.message), new RegExp(`^interval must be one of .* for ${source}\\.$`))
      }
    }
  }
})

test('candles and trades move an older start to the window of the plan and say so', async () => {
  for (const route of ROUTES) {
    const { history } = route
    if (history?.older !== 'clamp') continue
    for (const plan of PLANS) {
      const days: number = history.days[plan] ?? 0
      const window: number = NOW - days * DAY
      const inside = await service.get(urlOf(route, { start: iso(window) }), { plan })
      assert.equal(inside.status, 200)
      assert.notEqual(metaOf(inside).clamped_reason, 'plan_history', `${route.path} ${plan}`)
      // A client's clock may be a moment behind ours.
      const grace = await service.get(urlOf(route, { start: iso(window - 50_000) }), { plan })
      assert.notEqual(metaOf(grace).clamped_reason, 'plan_history')
      for (const start of [window - 2 * MINUTE, window - 5 * DAY, FIRST - 400 * DAY]) {
        const answer = await service.get(urlOf(route, { start: iso(start) }), { plan })
        assert.equal(answer.status, 200, answer.text.slice(0, 200))
        const meta = metaOf(answer)
        assert.deepEqual(
          [meta.clamped, meta.clamped_reason, meta.original_start, meta.effective_start],
          [true, 'plan_history', iso(start), iso(window)],
          `${route.path} ${plan}`,
        )
        assert.equal(answer.headers.get('x-clamped'), 'true')
        assert.equal(answer.headers.get('cache-control'), 'private, no-cache')
        const rows = answer.json.data as { timestamp: string }[]
        assert.ok(rows.every((row) => Date.parse(row.timestamp) >= window))
      }
      for (const [start, end] of [
        [window - 3 * DAY, window - 2 * MINUTE],
        [window - 20 * DAY, window - DAY],
        [undefined, window - DAY],
      ] as const) {
        const range = { ...(start === undefined ? {} : { start: iso(start) }), end: iso(end) }
        const body = assertError(await service.get(urlOf(route, range), { plan }), 403, 'tier_restricted')
        assert.equal(body.earliest_start, iso(window))
        assert.equal(body.param, start === undefined ? 'end' : 'start')
        // A plan that reaches the end of the range serves it with a moved start, so no higher plan is required.
        const needs: Plan | undefined = PLANS.find((other) => NOW - (history.days[other] ?? 0) * DAY <= end)
        assert.equal(body.required_tier, needs && TIER_OF[needs], `${route.path} ${plan} ${end}`)
        if (needs !== undefined) {
          assert.equal((await service.get(urlOf(route, range), { plan: needs })).status, 200)
        }
      }
    }
  }
})

test('the other endpoints refuse: longer than the depth 400, shorter but older 403 or 402', async () => {
  for (const route of ROUTES) {
    const { history } = route
    if (history?.older !== 'refuse' || !('start' in route.params)) continue
    for (const plan of PLANS.filter((one) => canCall(route, one))) {
      const days: number | null = history.days[plan]
      if (days === null) {
        const old = await service.get(urlOf(route, { start: iso(BOOKS_FIRST - 900 * DAY) }), { plan })
        assert.equal(old.status, 200, `${route.path} has no depth on ${plan}`)
        continue
      }
      const window: number = NOW - days * DAY
      const fits = await service.get(urlOf(route, { start: iso(window) }), { plan })
      assert.equal(fits.status, 200, `${route.path} ${plan}: ${fits.text.slice(0, 200)}`)
      assert.equal(metaOf(fits).clamped, null)
      const future = { start: iso(window), end: iso(NOW + DAY) }
      assert.equal((await service.get(urlOf(route, future), { plan })).status, 200, 'it counts as now')
      const tooLong = await service.get(urlOf(route, { start: iso(window - 2 * MINUTE) }), { plan })
      const long = assertError(tooLong, 400, 'invalid_time_range')
      assert.equal(long.earliest_start, iso(window))
      const begin = window - DAY
      for (const end of [window - HOUR, window + HOUR]) {
        const answer = await service.get(urlOf(route, { start: iso(begin), end: iso(end) }), { plan })
        const body = assertError(answer, history.refusal.status, history.refusal.code)
        assert.equal(body.earliest_start, iso(window))
        const needs: Plan | undefined = PLANS.find((other) => {
          const reach: number | null = history.days[other]
          return reach === null || NOW - reach * DAY <= begin
        })
        assert.equal(body.required_tier, needs && TIER_OF[needs], `${route.path} ${plan}`)
        assert.equal(answer.headers.get('x-credits-used'), '0')
      }
    }
  }
})

test('snapshots/at before the window of the plan is 402 plan_required with the tier that reaches', async () => {
  for (const path of ['/v1/snapshots/at', '/v1/perpdex/snapshots/at', '/v1/predmkt_a/snapshots/at']) {
    const source = path === '/v1/snapshots/at' ? '&source=perpdex' : ''
    const at = (time: number) => `${path}?symbol=BTC${source}&time=${iso(time)}`
    const free = assertError(await service.get(at(NOW - 8 * DAY), { plan: 'free' }), 402, 'plan_required')
    assert.deepEqual([free.required_tier, free.param], ['pro', 'time'])
    assert.equal(free.earliest_start, iso(NOW - 7 * DAY))
    assert.equal((await service.get(at(NOW - 8 * DAY), { plan: 'developer' })).status, 200)
    const old = assertError(
      await service.get(at(NOW - 31 * DAY), { plan: 'developer' }),
      402,
      'plan_required',
    )
    assert.equal(old.required_tier, 'business')
    assert.equal((await service.get(at(NOW - 31 * DAY), { plan: 'business' })).status, 200)
  }
})

test('snapshots/at never shows a row from before the window of the plan', async () => {
  // The only sample at or before that time lies before the window.
  const time = iso(NOW - 7 * DAY + MINUTE)
  const free = await service.get(`/v1/snapshots/at?source=perpdex&symbol=BTC&time=${time}`, { plan: 'free' })
  assert.equal(free.status, 200)
  assert.equal(free.json.data, null)
  assert.equal(metaOf(free).reason, 'plan_history')
  const business = await service.get(`/v1/snapshots/at?source=perpdex&symbol=BTC&time=${time}`)
  assert.notEqual(business.json.data, null)
})

test('without a start the page begins at the window of the plan', async () => {
  for (const route of ROUTES) {
    const { history } = route
    if (history === undefined || !('start' in route.params)) continue
    for (const plan of PLANS.filter((one) => canCall(route, one))) {
      const days: number | null = history.days[plan]
      if (days === null) continue
      const answer = await service.get(urlOf(route, { order: 'asc', limit: '1' }), { plan })
      const meta = metaOf(answer) as { clamped: null; coverage: { from: string } }
      assert.equal(meta.clamped, null, `${route.path} ${plan}`)
      assert.equal(meta.coverage.from, iso(NOW - days * DAY), `${route.path} ${plan}`)
      const [row] = answer.json.data as { timestamp: string }[]
      assert.ok(row === undefined || Date.parse(row.timestamp) >= NOW - days * DAY)
    }
  }
})

test('a start before the first row is moved to it: clamped, before_earliest_data', async () => {
  // The world begins 40 days ago, the hourly candles of prediction markets half a day ago.
  const answer = await service.get(`/v1/predmkt_a/candles?symbol=BTC&start=${iso(NOW - 3 * DAY)}`)
  const meta = metaOf(answer)
  assert.deepEqual(
    [meta.clamped, meta.clamped_reason, meta.original_start, meta.effective_start],
    [true, 'before_earliest_data', iso(NOW - 3 * DAY), '2026-06-10T00:00:00.000Z'],
  )
})

test('the row cap of the plan cuts a page and is reported; the requested limit is not', async () => {
  for (const plan of PLANS) {
    const url = '/v1/candles?symbol=BTC&limit=10000'
    const answer = await service.get(url, { plan })
    const all = await service.get(url)
    const expected = Math.min(ROW_CAP[plan], Number(all.headers.get('x-rows-returned')))
    if (plan === 'business') {
      assert.ok(Number(all.headers.get('x-rows-returned')) < 2_500)
      continue
    }
    assert.equal(answer.headers.get('x-rows-returned'), String(expected), plan)
    assert.equal(answer.headers.get('x-rows-capped'), 'true')
    assert.equal(metaOf(answer).has_more, true)
    const own = await service.get(`/v1/candles?symbol=BTC&limit=${ROW_CAP[plan]}`, { plan })
    assert.equal(own.headers.get('x-rows-capped'), 'false')
    assert.equal(own.headers.get('x-rows-returned'), String(ROW_CAP[plan]))
  }
  // A page below the cap is not cut, whatever the limit is.
  const few = await service.get('/v1/candles?symbol=BTC&source=cexa&interval=4h&limit=10000', {
    plan: 'free',
  })
  assert.equal(few.headers.get('x-rows-capped'), 'false')
})

test('the business cap is 2,500 rows', async () => {
  const rows = Array.from({ length: 2_600 }, (_, i) => ({
    time: Math.floor(NOW / 1_000 - 5_000 + i) * 1_000,
    bidPrice: 1,
    bidSize: 1,
    askPrice: 2,
    askSize: 1,
  }))
  const feed = { dataset: 'ticker', source: 'cexa', symbol: 'SOL', interval: '' } as const
  await service.store.write({ rows: [{ feed, rows }] })
  const answer = await service.get('/v1/ticker?symbol=SOL&limit=3600', { plan: 'business' })
  assert.equal(answer.headers.get('x-rows-returned'), '2500')
  assert.equal(answer.headers.get('x-rows-capped'), 'true')
  const all = await service.get('/v1/ticker?symbol=SOL&limit=3600')
  assert.equal(all.headers.get('x-rows-returned'), '2600')
})

test('a small balance cuts the page to what it pays', async () => {
  const key = await service.key({ plan: 'business', credits: 50 + 3 * 7 + 2 })
  const answer = await service.get('/v1/candles?symbol=BTC&source=cexa', { key })
  assert.equal(answer.headers.get('x-rows-returned'), '7')
  assert.equal(answer.headers.get('x-rows-capped'), 'true')
  assert.equal(answer.headers.get('x-credits-used'), '71')
  assert.equal(answer.headers.get('x-credits-remaining'), '2')
  assertError(await service.get('/v1/candles?symbol=BTC&source=cexa', { key }), 402, 'credits_exhausted')
})

test('min_usd needs business, the ticker pro; every other list is open to all plans', async () => {
  for (const plan of PLANS) {
    const filtered = await service.get('/v1/liquidations?symbol=BTC&min_usd=1000', { plan })
    if (plan === 'business') assert.equal(filtered.status, 200)
    else {
      const body = assertError(filtered, 403, 'tier_restricted')
      assert.deepEqual([body.required_tier, body.param], ['business', 'min_usd'])
    }
    for (const route of ROUTES) {
      const answer = await service.get(urlOf(route), { plan })
      if (canCall(route, plan)) assert.equal(answer.status, 200, `${route.path} ${plan}`)
      else assert.equal(assertError(answer, 403, 'tier_restricted').required_tier, 'pro')
    }
  }
})

test('the plan decides before the parameters are read, and the parameters before the balance', async () => {
  assertError(await service.get('/v1/ticker?symbol=DOGE', { plan: 'free' }), 403, 'tier_restricted')
  const poor = await service.key({ plan: 'free', credits: 1 })
  assertError(await service.get('/v1/candles?symbol=DOGE', { key: poor }), 400, 'invalid_symbol')
  assertError(await service.get('/v1/candles?symbol=BTC', { key: poor }), 402, 'credits_exhausted')
})

test('perpdex books outside the recorded time are 501 with the available range; cexa books always are', async () => {
  const end = iso(BOOKS_FIRST - DAY)
  for (const url of [
    `/v1/snapshots?source=perpdex&symbol=BTC&start=${iso(BOOKS_FIRST - 2 * DAY)}&end=${end}`,
    `/v1/perpdex/snapshots?symbol=BTC&start=${iso(BOOKS_FIRST - 2 * DAY)}&end=${end}`,
    `/v1/snapshots/at?source=perpdex&symbol=BTC&time=${end}`,
    `/v1/perpdex/snapshots/at?symbol=BTC&time=${end}`,
  ]) {
    const answer = await service.get(url)
    const body = assertError(answer, 501, 'data_not_available')
    assert.deepEqual(body.available_range, { from: iso(BOOKS_FIRST), to: iso(BOOKS_LAST) })
    assert.equal(answer.headers.get('x-credits-used'), '0')
  }
  const later = `start=${iso(BOOKS_LAST + MINUTE)}&end=${iso(BOOKS_LAST + 2 * MINUTE)}`
  service.clock.set(NOW + 10 * MINUTE)
  const body = assertError(
    await service.get(`/v1/perpdex/snapshots?symbol=BTC&${later}`),
    501,
    'data_not_available',
  )
  assert.deepEqual(body.available_range, { from: iso(BOOKS_FIRST), to: iso(BOOKS_LAST) })
  service.clock.set(NOW)
  assertError(await service.get('/v1/snapshots?source=cexa&symbol=BTC'), 501, 'data_not_available')
  assertError(
    await service.get('/v1/snapshots/at?source=cexa&symbol=BTC&time=2026-06-10'),
    501,
    'data_not_available',
  )
  assertError(await service.get('/v1/perpdex/snapshots?symbol=XRP'), 501, 'data_not_available')
})

test('where nothing was ever recorded the coverage shows it, on a plan without a window too', async () => {
  for (const url of [
    '/v1/flow?symbol=XRP&interval=1h&end=2020-01-01',
    '/v1/flow?symbol=BTC&interval=5m&end=2020-01-01',
  ]) {
    const answer = await service.get(url)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers.get('x-coverage-complete'), 'false', url)
    const { coverage } = metaOf(answer) as { coverage: { complete: boolean; gaps: unknown[] } }
    assert.equal(coverage.complete, false)
    assert.equal(coverage.gaps.length, 1)
  }
})

test('sampled snapshots count as heavy calls in flight, also where they cost nothing', async () => {
  const key = await service.key({ plan: 'free' })
  const path = '/v1/snapshots?symbol=BTC&source=predmkt_b&interval=24h'
  const requests = ['', '&dry_run=true'].flatMap((rest) => Array.from({ length: 10 }, () => path + rest))
  // Every turn of the loop runs one step of the reads, as on a very slow machine.
  let nowMs = 0
  const giveBack = useTurnTime(() => (nowMs += 1_000))
  try {
    const answers = await Promise.all(
      requests.map((url, at) => service.get(`${url}&limit=${100 - at}`, { key })),
    )
    const refused = answers.filter(({ status }) => status !== 200)
    assert.ok(refused.length > 0 && refused.length < answers.length, `${refused.length} refused`)
    for (const answer of refused) {
      assert.equal(assertError(answer, 429, 'rate_limited').reason, 'heavy_calls_in_flight')
      assert.equal(answer.headers.get('retry-after'), '1')
    }
    const plain = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        service.get(`${path.replace('24h', '500ms')}&limit=${100 - at}`, { key }),
      ),
    )
    for (const { status } of plain) assert.equal(status, 200)
  } finally {
    giveBack()
  }
  assert.equal((await service.get(path, { key })).status, 200)
})
