/** Every parameter of every market route: its bounds, enumeration, default, wrong types and error code. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ParamRule, ROUTES, type RouteRule, SCOPED, UNIFIED } from '../contract/market-table.ts'
import { ask, assertError } from '../fakes/client.ts'
import { urlOf } from '../fakes/market-routes.ts'
import { type MarketService, startMarketService } from '../fakes/market-service.ts'
import { CONDITION, fillWorld, NOW, TICKER, TOKENS } from '../fakes/market-world.ts'

let service: MarketService
before(async () => {
  service = await startMarketService({ nowMs: NOW, fill: fillWorld })
})
after(() => service.stop())

/** How many spellings of a value the short form tries for each parameter, taking turns; the long form tries all. */
const SPELLINGS = process.env.TAPELINE_SOAK === undefined ? 3 : Number.POSITIVE_INFINITY
const given = new Map<readonly string[], number>()
function some(values: readonly string[]): readonly string[] {
  if (values.length <= SPELLINGS) return values
  const from = given.get(values) ?? 0
  given.set(values, from + SPELLINGS)
  return Array.from({ length: SPELLINGS }, (_, n) => values[(from + n) % values.length] ?? '')
}

const NO_INTEGERS = ['-5', '1.5', '1e2', '0x10', 'ten', 'null', '1 ', '99999999999999999999']
const FLAGS = ['true', 'false', '1', '0', 'True', 'FALSE', 'yes', 'No']
const NO_FLAGS = ['y', 'on', 'truee', '2', 'null', ' true']

const entries = (route: RouteRule) => Object.entries(route.params) as [string, ParamRule][]

test('the table has the 21 platform-scoped routes, and each answers 200 to its least query', async () => {
  assert.equal(SCOPED.length, 21)
  assert.equal(new Set(ROUTES.map((route) => route.path)).size, ROUTES.length)
  for (const route of ROUTES) {
    const answer = await service.get(urlOf(route))
    assert.equal(answer.status, 200, `${route.path}: ${answer.text.slice(0, 300)}`)
    if (route.kind === 'list') assert.ok(Array.isArray(answer.json.data), route.path)
  }
})

test('whole numbers: below, at and above each bound, and each wrong type', async () => {
  for (const route of ROUTES) {
    for (const [name, rule] of entries(route)) {
      if (rule.kind !== 'integer') continue
      const allowed = rule.min === rule.max ? `must be ${rule.min}` : `${rule.min} to ${rule.max}`
      for (const value of [rule.min, rule.max, `+${rule.max}`]) {
        const answer = await service.get(urlOf(route, { [name]: String(value) }))
        assert.equal(answer.status, 200, `${route.path} ${name}=${value}: ${answer.text.slice(0, 200)}`)
      }
      const wrong = [rule.min - 1, rule.max + 1, ...some(NO_INTEGERS)]
      for (const value of wrong) {
        const answer = await service.get(urlOf(route, { [name]: String(value) }))
        const body = assertError(answer, 422, 'invalid_param')
        assert.equal(body.param, name, `${route.path} ${name}=${value}`)
        assert.match(String(body.message), new RegExp(allowed))
        assert.equal(answer.headers.get('x-credits-used'), '0')
      }
    }
  }
})

test('a left-out limit is the default of the contract', async () => {
  for (const route of UNIFIED) {
    const limit = route.params.limit
    if (limit?.kind !== 'integer') continue
    const start = route.history ? { start: '2026-05-11' } : {}
    const sized = { ...start, ...(route.path === '/v1/snapshots' ? { source: 'predmkt_b' } : {}) }
    const answer = await service.get(urlOf(route, sized))
    assert.equal(answer.headers.get('x-rows-returned'), String(limit.default), urlOf(route, sized))
    assert.equal(answer.headers.get('x-rows-capped'), 'false', 'the own limit is no cap')
    const meta = answer.json.meta as Record<string, unknown>
    assert.equal(meta.has_more, true)
  }
})

test('an empty parameter is refused by its name: with its own 400 where it has one, else with 422', async () => {
  const own: Record<string, string> = {
    symbol: 'invalid_symbol',
    source: 'invalid_source',
    interval: 'invalid_interval',
    side: 'invalid_side',
  }
  for (const route of ROUTES) {
    const gate = route.kind === 'list' ? ['dry_run', 'format'] : ['dry_run']
    for (const name of [...Object.keys(route.params), ...Object.keys(route.bound), ...gate]) {
      const code = own[name]
      const answer = await service.get(urlOf(route, { [name]: '' }))
      const body = assertError(answer, code === undefined ? 422 : 400, code ?? 'invalid_param')
      assert.equal(body.param, name, route.path)
    }
  }
})

test('enumerations: every value passes, anything else has the code of the contract', async () => {
  for (const route of ROUTES) {
    for (const [name, rule] of entries(route)) {
      if (rule.kind !== 'enum') continue
      for (const value of rule.values) {
        const answer = await service.get(urlOf(route, { [name]: value }))
        const cexaBooks = value === 'cexa' && route.path.startsWith('/v1/snapshots')
        const noOracleHour = name === 'source' && value === 'oracle'
        const another = route.path === '/v1/markets/{identifier}' && value !== 'predmkt_a'
        const expected = cexaBooks ? 501 : noOracleHour ? 400 : another ? 404 : 200
        assert.equal(
          answer.status,
          expected,
          `${urlOf(route, { [name]: value })}: ${answer.text.slice(0, 200)}`,
        )
      }
      for (const value of [
        'nonsense',
        rule.values[0]?.toUpperCase() === rule.values[0] ? 'x' : (rule.values[0] ?? '').toUpperCase(),
        `${rule.values[0]},${rule.values[0]}`,
        ' ',
      ]) {
        const answer = await service.get(urlOf(route, { [name]: value }))
        const body = assertError(answer, rule.status, rule.code)
        assert.equal(body.param, name)
        assert.ok(
          Array.isArray(body.allowed) &&
            rule.values.every((one) => (body.allowed as unknown[]).includes(one)),
          `${route.path} ${name}`,
        )
      }
      if (rule.required) {
        assertError(await service.get(urlOf(route, { [name]: null })), rule.status, rule.code)
        assertError(await service.get(urlOf(route, { [name]: '' })), rule.status, rule.code)
      }
    }
  }
})

test('the symbol: any case, missing, empty and unknown', async () => {
  for (const route of ROUTES) {
    const rule = route.params.symbol
    if (rule?.kind !== 'symbol') continue
    for (const value of ['BTC', 'btc', 'Btc', 'ETH', 'SOL', 'XRP']) {
      const changes = { symbol: value }
      const missing = route.bound.source === 'perpdex' || route.query.source === 'perpdex'
      const expected = missing && /snapshots/.test(route.path) && value.toUpperCase() !== 'BTC' ? 501 : 200
      const answer = await service.get(urlOf(route, changes))
      assert.equal(answer.status, expected, `${urlOf(route, changes)}: ${answer.text.slice(0, 200)}`)
      if (expected === 200) {
        assert.equal((answer.json.meta as { symbol: string }).symbol, value.toUpperCase())
      }
    }
    for (const value of ['DOGE', 'BTCUSDT', 'B', '1', 'BTC ETH']) {
      const body = assertError(await service.get(urlOf(route, { symbol: value })), 400, 'invalid_symbol')
      assert.deepEqual(body.allowed, ['BTC', 'ETH', 'SOL', 'XRP'])
    }
    if (rule.required) {
      assertError(await service.get(urlOf(route, { symbol: null })), 400, 'invalid_symbol')
      assertError(await service.get(urlOf(route, { symbol: '' })), 400, 'invalid_symbol')
    }
    const looksLikeOne = await service.get(urlOf(route, { symbol: 'KXNOSUCH-26JUN-T1' }))
    if (rule.orIdentifier) assertError(looksLikeOne, 404, 'market_not_found')
    else assertError(looksLikeOne, 400, 'invalid_symbol')
  }
})

test('the symbol in a path: an asset, an identifier of the venue, an unknown one and a word', async () => {
  for (const venue of ['predmkt_b', 'perpdex']) {
    assert.equal((await service.get(`/v1/${venue}/btc`)).status, 200)
    assertError(await service.get(`/v1/${venue}/DOGE`), 400, 'invalid_symbol')
  }
  assert.equal((await service.get(`/v1/predmkt_b/${TICKER}`)).status, 200)
  assert.equal((await service.get(`/v1/predmkt_b/${TICKER.toLowerCase()}`)).status, 200)
  assertError(await service.get('/v1/predmkt_b/KXNOSUCH-26JUN-T1'), 404, 'market_not_found')
  // A market of another venue is not a market of this one.
  assertError(await service.get(`/v1/predmkt_b/${CONDITION}`), 404, 'market_not_found')
  assertError(await service.get('/v1/perpdex/KXNOSUCH-26JUN-T1'), 400, 'invalid_symbol')
})

const GOOD_TIMES = [
  '2026-06-10T11:00:00Z',
  '2026-06-10T11:00:00.000Z',
  '2026-06-10T11:00Z',
  '2026-06-10T13:00:00+02:00',
  '2026-06-10T13:00:00+0200',
  '2026-06-10T06:00:00-05:00',
  '2026-06-10 11:00:00Z',
  '2026-06-10',
  '1781089200',
  '1781089200000',
]
const BAD_TIMES = [
  'yesterday',
  '2026-06-10T11:00:00',
  '2026-13-01',
  '2026-02-30',
  '2026-06-10T24:00:00Z',
  '2026-06-10T11:60:00Z',
  '2026-06-10T11:00:00+15:00',
  '10/06/2026',
  '12345',
  '-1781089200',
  '1781089200.5',
  '0050-01-01',
  'NaN',
]

test('times: every form of the contract passes, anything else is 422', async () => {
  for (const route of ROUTES) {
    for (const [name, rule] of entries(route)) {
      if (rule.kind !== 'time') continue
      for (const value of some(GOOD_TIMES)) {
        const answer = await service.get(urlOf(route, { [name]: value }))
        assert.equal(answer.status, 200, `${urlOf(route, { [name]: value })}: ${answer.text.slice(0, 200)}`)
      }
      for (const value of some(BAD_TIMES)) {
        const body = assertError(await service.get(urlOf(route, { [name]: value })), 422, 'invalid_param')
        assert.equal(body.param, name)
      }
      if (rule.required) {
        assertError(await service.get(urlOf(route, { [name]: null })), 422, 'invalid_param')
      }
    }
  }
})

test('the same instant in every spelling gives the same page', async () => {
  const pages = new Set<string>()
  for (const value of GOOD_TIMES.filter((time) => time !== '2026-06-10')) {
    const query = new URLSearchParams({
      symbol: 'BTC',
      source: 'cexa',
      start: value,
      end: '2026-06-10T12:00:00Z',
    })
    pages.add((await service.get(`/v1/candles?${query}`)).text)
  }
  assert.equal(pages.size, 1)
})

test('flags: true, false, 1, 0, yes and no in any case; anything else is 422', async () => {
  for (const route of ROUTES) {
    const flags = entries(route).filter(([, rule]) => rule.kind === 'boolean')
    for (const [name] of [...flags, ['dry_run'] as const]) {
      for (const value of some(FLAGS)) {
        assert.equal(
          (await service.get(urlOf(route, { [name]: value }))).status,
          200,
          `${route.path} ${name}`,
        )
      }
      for (const value of some(NO_FLAGS)) {
        const body = assertError(await service.get(urlOf(route, { [name]: value })), 422, 'invalid_param')
        assert.equal(body.param, name)
      }
    }
  }
})

test('min_usd: zero and above; below, and anything that is no number, is 422', async () => {
  for (const value of ['0', '0.5', '1830000', '1e3', '.5']) {
    assert.equal((await service.get(`/v1/liquidations?symbol=BTC&min_usd=${value}`)).status, 200, value)
  }
  for (const value of ['-0.01', 'NaN', 'Infinity', '1,000', '0x10', 'lots', '1e999']) {
    const query = new URLSearchParams({ symbol: 'BTC', min_usd: value })
    const body = assertError(await service.get(`/v1/liquidations?${query}`), 422, 'invalid_param')
    assert.equal(body.param, 'min_usd')
  }
})

test('identifiers: an unknown one is 404, one that cannot be any is 422', async () => {
  for (const route of ROUTES) {
    for (const [name, rule] of entries(route)) {
      if (rule.kind !== 'identifier' || route.bound.source === 'perpdex') continue
      const source = 'source' in route.params ? { source: 'predmkt_a' } : {}
      if (name === 'token_id' && route.bound.source === 'predmkt_b') continue
      const unknown = name === 'token_id' ? '123456789' : 'no-such-market-1'
      assertError(await service.get(urlOf(route, { ...source, [name]: unknown })), 404, 'market_not_found')
      for (const value of ['a b', "'; DROP TABLE markets", 'x'.repeat(201), 'ü']) {
        assertError(await service.get(urlOf(route, { ...source, [name]: value })), 422, 'invalid_param')
      }
    }
  }
  assertError(await service.get('/v1/markets/no-such-market-1'), 404, 'market_not_found')
  assertError(await service.get(`/v1/predmkt_a/markets/${TICKER}`), 404, 'market_not_found')
  assertError(await service.get('/v1/markets/a%20b'), 422, 'invalid_param')
  // A market of another symbol counts as unknown.
  assertError(
    await service.get(`/v1/candles?symbol=ETH&source=predmkt_a&market_id=${CONDITION}`),
    404,
    'market_not_found',
  )
  assertError(
    await service.get(`/v1/snapshots?symbol=ETH&source=predmkt_a&market_id=${CONDITION}`),
    404,
    'market_not_found',
  )
  assertError(
    await service.get(`/v1/candles?symbol=BTC&market_id=${CONDITION}&token_id=${TOKENS.up15}`),
    404,
    'market_not_found',
  )
})

test('every word for true and for false means what it says', async () => {
  const rows = async (path: string) => (await service.get(path)).headers.get('x-rows-returned')
  const preview = async (word: string) =>
    (await service.get(`/v1/markets?dry_run=${word}`)).json.dry_run === true
  for (const word of ['true', 'TRUE', 'True', '1', 'yes', 'YES']) {
    assert.equal(
      await rows(`/v1/markets?limit=500&active=${word}`),
      await rows('/v1/markets?limit=500&active=true'),
    )
    assert.equal(await preview(word), true, word)
  }
  for (const word of ['false', 'FALSE', 'False', '0', 'no', 'No']) {
    assert.equal(
      await rows(`/v1/markets?limit=500&active=${word}`),
      await rows('/v1/markets?limit=500&active=false'),
    )
    assert.equal(await preview(word), false, word)
  }
  assert.notEqual(
    await rows('/v1/markets?limit=500&active=true'),
    await rows('/v1/markets?limit=500&active=false'),
  )
})

test('one parameter that is wrong in two ways is counted once', async () => {
  for (const venue of ['predmkt_b', 'perpdex']) {
    for (const symbol of ['BTC', 'ETH']) {
      const body = assertError(await service.get(`/v1/${venue}/BTC?symbol=${symbol}`), 422, 'invalid_param')
      assert.match(String(body.message), /^symbol is part of the path here: leave it out of the query\.$/)
    }
    const both = assertError(await service.get(`/v1/${venue}/DOGE?symbol=BTC`), 400, 'invalid_symbol')
    assert.doesNotMatch(String(both.message), /parameters are wrong/)
    assert.match(String(both.message), /part of the path.*must be one of/)
  }
  const twice = assertError(await service.get('/v1/candles?symbol=BTC&limit=0&limit=0'), 422, 'invalid_param')
  assert.equal((twice.errors as unknown[]).length, 1)
  assert.doesNotMatch(String(twice.message), /parameters are wrong/)
})

test('a start in the future is 400 invalid_time_range, with and without an end', async () => {
  for (const route of ROUTES) {
    if (!('start' in route.params)) continue
    for (const changes of [
      { start: new Date(NOW + 1).toISOString() },
      { start: new Date(NOW + 60_000).toISOString() },
      { start: '2030-01-01', end: '2031-01-01' },
    ]) {
      const body = assertError(await service.get(urlOf(route, changes)), 400, 'invalid_time_range')
      assert.equal(body.param, 'start')
      assert.match(String(body.message), /future/)
    }
    const now = await service.get(urlOf(route, { start: new Date(NOW).toISOString() }))
    assert.equal(now.status, 200, now.text)
  }
})

test('the intervals that a refusal allows are those that work', async () => {
  for (const source of ['predmkt_a', 'predmkt_b', 'oracle', 'perpdex']) {
    const wrong = source === 'perpdex' ? '2h' : '1s'
    const refused = await service.get(`/v1/candles?symbol=BTC&source=${source}&interval=${wrong}`)
    const { allowed } = assertError(refused, 400, 'invalid_interval') as { allowed: string[] }
    assert.equal(allowed.includes('24h'), source !== 'oracle')
    for (const interval of allowed) {
      const answer = await service.get(`/v1/candles?symbol=BTC&source=${source}&interval=${interval}`)
      assert.equal(answer.status, 200, `${source} ${interval}`)
    }
  }
})

test('an unknown parameter is 422 and names the nearest one; a repeated one is 422', async () => {
  for (const route of ROUTES) {
    const unknown = await service.get(urlOf(route, { dry_rum: 'true' }))
    const body = assertError(unknown, 422, 'invalid_param')
    assert.match(String(body.message), /dry_run/, route.path)
    const url = urlOf(route, { dry_run: 'false' })
    const twice = assertError(await service.get(`${url}&dry_run=false`), 422, 'invalid_param')
    assert.equal(twice.param, 'dry_run')
  }
  const all = assertError(
    await service.get('/v1/candles?symbol=BTC&limit=0&foo=1&start=x'),
    422,
    'invalid_param',
  )
  assert.deepEqual((all.errors as { param: string }[]).map((fault) => fault.param).sort(), [
    'foo',
    'limit',
    'start',
  ])
})

test('the name that another service has for a parameter is refused with the name here', async () => {
  const own = { from: 'start', until: 'end', cursor: 'after', exchange: 'source', pair: 'symbol' }
  for (const [other, name] of Object.entries(own)) {
    const body = assertError(await service.get(`/v1/candles?symbol=BTC&${other}=x`), 422, 'invalid_param')
    assert.equal(body.message, `${other} is not a parameter of this endpoint. It is called ${name} here.`)
    assert.equal(body.suggestion, name)
  }
  // An operation without such a parameter suggests none.
  const body = assertError(await service.get('/v1/sources?exchange=x'), 422, 'invalid_param')
  assert.doesNotMatch(String(body.message), /source here/)
})

test('what a path fixes may be repeated with the same value and with no other', async () => {
  for (const route of SCOPED) {
    for (const [name, value] of Object.entries(route.bound)) {
      const same = await service.get(urlOf(route, { [name]: value }))
      assert.equal(same.status, 200, `${urlOf(route, { [name]: value })}: ${same.text.slice(0, 200)}`)
      if (name === 'source') {
        for (const other of ['predmkt_a', 'predmkt_b', 'perpdex', 'cexa', 'nonsense']) {
          if (other === value) continue
          const body = assertError(await service.get(urlOf(route, { source: other })), 400, 'invalid_source')
          assert.deepEqual(body.allowed, [value])
        }
      } else assertError(await service.get(urlOf(route, { [name]: 'false' })), 422, 'invalid_param')
    }
  }
})

test('start after end is 400 invalid_time_range; start at end is an empty page', async () => {
  for (const route of ROUTES) {
    if (!('start' in route.params)) continue
    const wrong = urlOf(route, { start: '2026-06-10T11:00:00.001Z', end: '2026-06-10T11:00:00Z' })
    assertError(await service.get(wrong), 400, 'invalid_time_range')
    const equal = urlOf(route, { start: '2026-06-10T11:58:01.100Z', end: '2026-06-10T11:58:01.100Z' })
    const answer = await service.get(equal)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.json.data, [])
  }
})

test('end is exclusive everywhere and inclusive on snapshots; start is inclusive', async () => {
  const cases = [
    ['/v1/candles?symbol=BTC&source=cexa', '2026-06-10T10:00:00Z', '2026-06-10T11:00:00Z', 1],
    ['/v1/flow?symbol=BTC&interval=1h', '2026-06-10T10:00:00Z', '2026-06-10T11:00:00Z', 1],
    ['/v1/open-interest?symbol=BTC&source=perpdex', '2026-06-10T10:00:00Z', '2026-06-10T11:00:00Z', 1],
    ['/v1/funding?symbol=BTC&source=perpdex', '2026-06-10T10:00:00Z', '2026-06-10T11:00:00Z', 1],
    ['/v1/liquidations?symbol=BTC', '2026-06-10T08:00:00.123Z', '2026-06-10T10:00:00.123Z', 1],
    ['/v1/ticker?symbol=BTC&source=cexa', '2026-06-10T11:59:10Z', '2026-06-10T11:59:11Z', 1],
    ['/v1/trades?symbol=BTC&source=predmkt_b', '2026-06-10T11:58:00Z', '2026-06-10T11:59:00Z', 1],
    ['/v1/snapshots?symbol=BTC&source=perpdex', '2026-06-10T11:59:10Z', '2026-06-10T11:59:10.500Z', 2],
    [
      '/v1/predmkt_a/orderbook?symbol=BTC&market_type=5m',
      '2026-06-10T11:59:10Z',
      '2026-06-10T11:59:10.500Z',
      2,
    ],
  ] as const
  for (const [url, start, end, rows] of cases) {
    const answer = await service.get(`${url}&start=${start}&end=${end}`)
    assert.equal(answer.headers.get('x-rows-returned'), String(rows), `${url}: ${answer.text.slice(0, 200)}`)
  }
})

test('a missing, malformed or unknown key is 401 on every route, in header and query', async () => {
  const key = await service.key()
  const unknown = `${key.slice(0, -6)}aaaaaa`
  let caller = 0
  const from = () => ({ 'X-Forwarded-For': `10.1.${caller >> 8}.${caller++ & 255}` })
  for (const route of ROUTES) {
    const url = `${service.url}${urlOf(route)}`
    const joint = url.includes('?') ? '&' : '?'
    assertError(await ask(url, { headers: from() }), 401, 'unauthorized')
    assertError(await ask(url, { key: 'svc_test_x', headers: from() }), 401, 'unauthorized')
    assertError(await ask(url, { key: unknown, headers: from() }), 401, 'unauthorized')
    assertError(await ask(`${url}${joint}api-key=${unknown}`, { headers: from() }), 401, 'unauthorized')
    for (const asked of [
      ask(url, { key }),
      ask(`${url}${joint}api-key=${key}`),
      ask(`${url}${joint}api_key=${key}`),
      ask(url, { headers: { Authorization: `Bearer ${key}` } }),
      ask(`${url}${joint}api-key=${unknown}`, { key }),
    ]) {
      assert.equal((await asked).status, 200, route.path)
    }
  }
})

test('an empty balance is 402, a spent rate 429 with Retry-After, a wrong method 405, on every route', async () => {
  for (const route of ROUTES) {
    const poor = await service.key({ plan: 'business', credits: route.base + route.perRow - 1 })
    const refused = await service.get(urlOf(route), { key: poor })
    const body = assertError(refused, 402, 'credits_exhausted')
    assert.equal(refused.headers.get('x-credits-used'), '0')
    assert.equal(body.reason, 'balance')
    const exact = await service.key({ plan: 'business', credits: route.base + route.perRow })
    const served = await service.get(urlOf(route), { key: exact })
    assert.equal(served.status, 200, `${route.path}: ${served.text}`)
    const slow = await service.key({ plan: 'once', name: route.path })
    assert.equal((await service.get(urlOf(route), { key: slow })).status, 200)
    const limited = await service.get(urlOf(route), { key: slow })
    const late = assertError(limited, 429, 'rate_limited')
    assert.equal(limited.headers.get('retry-after'), String(late.retry_after))
    assert.ok(Number(late.retry_after) >= 1)
    const posted = await service.get(urlOf(route), { method: 'POST' })
    assertError(posted, 405, 'method_not_allowed')
    assert.match(posted.headers.get('allow') ?? '', /GET/)
  }
})
