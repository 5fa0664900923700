/** Prices, balances, row caps and plan gates, over a real socket. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DAY_MS } from '../../src/core/time.ts'
import { createLogger } from '../../src/kit/log.ts'
import { ask, askRaw, assertError } from '../fakes/client.ts'
import { TEST_ENDPOINTS, testServices } from '../fakes/endpoints.ts'
import { WIDE_PLAN } from '../fakes/service.ts'
import { type SmallService, startSmallService } from '../fakes/small-service.ts'
import { until } from '../until.ts'

const services = testServices()
let lines = ''
let service: SmallService
before(async () => {
  const log = createLogger({
    level: 'trace',
    write: (line) => {
      lines += line
    },
  })
  const fast = { requestsPerSecond: 1_000, requestsPerMinute: 60_000 }
  service = await startSmallService({
    endpoints: TEST_ENDPOINTS,
    services,
    log,
    plans: [
      WIDE_PLAN,
      { name: 'free', ...fast },
      { name: 'developer', ...fast },
      { name: 'enterprise', extends: 'business', maxRowsPerRequest: 10_000, creditsPerMonth: 100_000_000 },
    ],
  })
})
after(() => service.stop())

const get = (path: string, key: string, headers: Record<string, string> = {}) =>
  ask(service.url + path, { key, headers })

const post = (path: string, key: string, body: object) =>
  ask(service.url + path, {
    ...{ method: 'POST', key, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) },
  })
const create = (key: string) => post('/v1/things', key, { url: 'https://example.com', size: 1 })

test('a page costs its base and its rows, and the headers say so', async () => {
  const key = await service.key({ credits: 100_000 })
  const answer = await get('/v1/list?symbol=btc&limit=7', key)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('x-credits-charged'), '71')
  assert.equal(answer.headers.get('x-credits-used'), '71')
  assert.equal(answer.headers.get('x-credits-remaining'), '99929')
  assert.equal(answer.headers.get('x-rows-returned'), '7')
  assert.equal(answer.headers.get('x-rows-capped'), 'false')
  assert.equal(answer.headers.get('x-coverage-complete'), 'true')
  assert.equal(answer.headers.get('x-clamped'), 'false')
  assert.equal(answer.headers.get('x-next-cursor'), 'c7')
  assert.equal(answer.headers.get('link'), '</v1/list?symbol=btc&limit=7&after=c7>; rel="next"')
  assert.equal((answer.json.meta as Record<string, unknown>).symbol, 'BTC')
  const dearer = await get('/v1/list?symbol=BTC&limit=7&full=true', key)
  assert.equal(dearer.headers.get('x-credits-charged'), '120')
})

test('a key in the query does not travel in the Link header', async () => {
  const key = await service.key()
  const answer = await ask(`${service.url}/v1/list?symbol=BTC&limit=1&api-key=${key}`)
  assert.equal(answer.headers.get('link'), '</v1/list?symbol=BTC&limit=1&after=c1>; rel="next"')
})

test('the Link header has the path of the resource, however the request spells it', async () => {
  const key = await service.key()
  for (const path of ['/v1/list', '/v1/l%69st', 'http://other/v1/list']) {
    const head = `GET ${path}?symbol=BTC&limit=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: ${key}`
    const answer = await askRaw(service.url, `${head}\r\n\r\n`)
    assert.match(answer, /\r\nLink: <\/v1\/list\?symbol=BTC&limit=1&after=c1>; rel="next"\r\n/)
  }
})

test('the plan caps the rows, and only then the answer is called capped', async () => {
  const caps = { free: 100, developer: 1_000, business: 2_500, enterprise: 10_000 }
  for (const [plan, cap] of Object.entries(caps)) {
    const answer = await get('/v1/list?symbol=BTC&limit=10000', await service.key({ plan }))
    assert.equal(answer.headers.get('x-rows-returned'), String(cap), plan)
    assert.equal(answer.headers.get('x-rows-capped'), String(cap < 10_000), plan)
  }
  services.rows = 100
  const all = await get('/v1/list?symbol=BTC&limit=10000', await service.key({ plan: 'free' }))
  services.rows = 10_000
  assert.equal(all.headers.get('x-rows-capped'), 'false', 'nothing was cut')
})

test('a small balance cuts the page; below base plus one row it is 402', async () => {
  const key = await service.key({ credits: 50 + 3 * 4 + 2 })
  const cut = await get('/v1/list?symbol=BTC&limit=10', key)
  assert.equal(cut.headers.get('x-rows-returned'), '4')
  assert.equal(cut.headers.get('x-rows-capped'), 'true')
  assert.equal(cut.headers.get('x-credits-charged'), '62')
  assert.equal(cut.headers.get('x-credits-remaining'), '2')
  const refused = await get('/v1/list?symbol=BTC&limit=10', key)
  const body = assertError(refused, 402, 'credits_exhausted')
  assert.equal(body.reason, 'balance')
  assert.match(String(body.message), /at least 53 credits; 2 are left/)
  assert.match(String(body.resets_at), /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/)
  assert.equal(body.upgrade_url, '/upgrade')
  assert.equal(refused.headers.get('x-credits-charged'), '0')
  assert.equal(refused.headers.get('x-credits-remaining'), '2')
})

test('the last credits pay for an answer that costs exactly them', async () => {
  const key = await service.key({ credits: 20 })
  assert.equal((await get('/v1/paid', key)).headers.get('x-credits-remaining'), '10')
  assert.equal((await get('/v1/paid', key)).headers.get('x-credits-remaining'), '0')
  assertError(await get('/v1/paid', key), 402, 'credits_exhausted')
})

test('what turns out to cost more than is left runs once', async () => {
  const { runs } = services
  assertError(await get('/v1/lookup', await service.key({ credits: 14 })), 402, 'credits_exhausted')
  assert.equal(services.runs, runs + 1)
  assert.equal((await get('/v1/lookup', await service.key({ credits: 15 }))).status, 200)
})

test('at balance 0 free endpoints, HEAD and previews work', async () => {
  const key = await service.key({ credits: 0 })
  assert.equal((await get('/v1/free', key)).status, 200)
  const head = await ask(`${service.url}/v1/paid`, { method: 'HEAD', key })
  assert.equal(head.status, 200)
  assert.equal(head.headers.get('x-credits-charged'), '0')
  assert.equal((await get('/v1/paid?dry_run=true', key)).status, 200)
  assertError(await get('/v1/paid', key), 402, 'credits_exhausted')
})

test('at balance 0 a page that the caller has already is still 304; another tag is 402', async () => {
  const page = await get('/v1/list?symbol=BTC&limit=10', await service.key({ plan: 'business' }))
  const tag = page.headers.get('etag') ?? ''
  const poor = await service.key({ plan: 'business', credits: 0 })
  const ifNot = (value: string) =>
    ask(`${service.url}/v1/list?symbol=BTC&limit=10`, { key: poor, headers: { 'If-None-Match': value } })
  const unchanged = await ifNot(tag)
  assert.equal(unchanged.status, 304)
  assert.equal(unchanged.headers.get('x-credits-charged'), '0')
  assertError(await ifNot('"other"'), 402, 'credits_exhausted')
})

test('a balance for a part of the page does not cut one that the caller has already', async () => {
  const page = await get('/v1/list?symbol=BTC&limit=10', await service.key({ plan: 'business' }))
  const tag = page.headers.get('etag') ?? ''
  const poor = await service.key({ plan: 'business', credits: 50 + 3 * 4 })
  const ifNot = (value: string) =>
    get('/v1/list?symbol=BTC&limit=10', poor, { 'If-None-Match': value }).then(({ status, headers }) =>
      [status, ...['x-rows-returned', 'x-credits-charged'].map((name) => headers.get(name))].join(' '),
    )
  assert.equal(await ifNot(tag), '304 10 0')
  assert.equal(await ifNot('"other"'), '200 4 62')
})

test('what is free stays free while more is reserved than is left', async (t) => {
  const accountId = (await service.accounts.create({ email: 'reserved@example.com', plan: 'business' })).id
  await service.accounts.setCredits(accountId, 10)
  const key = await service.key({ accountId })
  const posted = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  services.wait = () => {
    posted.resolve()
    return asked.promise
  }
  t.after(() => {
    services.wait = async () => {}
  })
  const creating = create(key)
  await posted.promise
  await service.accounts.setCredits(accountId, 5)
  const free = () => get('/v1/free', key)
  await until('the new credits', async () => (await free()).headers.get('x-credits-remaining') === '5')
  assert.equal((await free()).status, 200)
  const statuses = [0, 1].map(async (calls) => (await post('/v1/calls', key, { calls })).status)
  assert.deepEqual(await Promise.all(statuses), [200, 402])
  asked.resolve()
  await creating
})

test('a page that is read while a POST runs is cut to what the POST leaves', async (t) => {
  const key = await service.key({ credits: 10 + 62 })
  const runs: (() => void)[] = []
  services.wait = () =>
    runs.length < 2 ? new Promise<void>((resolve) => void runs.push(resolve)) : Promise.resolve()
  t.after(() => {
    services.wait = async () => {}
  })
  const listed = get('/v1/slow-list?limit=7', key)
  await until('the page is read', () => runs.length === 1)
  const created = create(key)
  await until('the POST runs', () => runs.length === 2)
  runs[0]?.()
  const list = await listed
  runs[1]?.()
  const read = ['x-rows-returned', 'x-credits-charged', 'x-credits-remaining'].map((name) =>
    list.headers.get(name),
  )
  assert.deepEqual([list.status, ...read], [200, '4', '62', '10'])
  assert.equal((await created).headers.get('x-credits-charged'), '10')
})

test('a page that costs exactly what a POST leaves is not refused in the moment in which that is charged', async (t) => {
  const key = await service.key({ credits: 10 + 62 })
  const runs: (() => void)[] = []
  let isHeld = true
  services.wait = () => (isHeld ? new Promise<void>((resolve) => void runs.push(resolve)) : Promise.resolve())
  t.after(() => {
    services.wait = async () => {}
  })
  // It starts while all credits are left, and its balance is read again after the POST has taken its share.
  const listed = get('/v1/slow-list?limit=10', key)
  await until('the page is read', () => runs.length === 1)
  const posted = create(key)
  await until('the POST runs', () => runs.length === 2)
  isHeld = false
  for (const go of runs.reverse()) go()
  assert.equal((await posted).headers.get('x-credits-charged'), '10')
  const list = await listed
  assert.equal(list.status, 200, list.text)
  assert.equal(list.headers.get('x-credits-charged'), '62')
})

test("a key's own cap ends before the account's balance", async () => {
  const accountId = (await service.accounts.create({ email: 'cap@example.com', plan: 'business' })).id
  const capped = await service.key({ accountId, creditCap: 25 })
  const open = await service.key({ accountId })
  assert.equal((await get('/v1/paid', capped)).headers.get('x-credits-remaining'), '15')
  assert.equal((await get('/v1/paid', capped)).status, 200)
  const body = assertError(await get('/v1/paid', capped), 402, 'credits_exhausted')
  assert.equal(body.reason, 'key_cap')
  assert.equal((await get('/v1/paid', open)).headers.get('x-credits-remaining'), String(50_000_000 - 30))
})

test('dry_run returns rows and price, and charges nothing', async () => {
  const key = await service.key({ plan: 'free', credits: 1_000 })
  const answer = await get('/v1/list?symbol=BTC&limit=200&dry_run=true', key)
  assert.deepEqual(answer.json, {
    dry_run: true,
    rows: 100,
    credits: 350,
    credits_remaining: 1_000,
    clamped: false,
    rows_affordable: 316,
    would_be_capped: true,
  })
  assert.equal(services.rowLimit, 101, 'no more is counted than it takes to see that the page would be cut')
  assert.equal(answer.headers.get('x-credits-charged'), '0')
  assert.equal(answer.headers.get('x-credits-remaining'), '1000')
  const real = await get('/v1/list?symbol=BTC&limit=200&dry_run=false', key)
  assert.equal(real.headers.get('x-credits-charged'), '350')
})

test('an unchanged page is 304, without a body and for nothing', async () => {
  const key = await service.key({ credits: 1_000 })
  const first = await get('/v1/list?symbol=BTC&limit=3', key)
  const etag = first.headers.get('etag') ?? ''
  assert.match(etag, /^"[\w-]+"$/, 'a strong tag')
  assert.equal(first.headers.get('cache-control'), 'private, no-cache')
  const again = await get('/v1/list?symbol=BTC&limit=3', key, { 'If-None-Match': etag })
  assert.equal(again.status, 304)
  assert.equal(again.text, '')
  assert.equal(again.headers.get('etag'), etag)
  assert.equal(again.headers.get('x-credits-charged'), '0')
  assert.equal(again.headers.get('x-credits-remaining'), first.headers.get('x-credits-remaining'))
  const other = await get('/v1/list?symbol=BTC&limit=4', key, { 'If-None-Match': etag })
  assert.equal(other.status, 200)
  services.sealed = true
  const sealed = await get('/v1/list?symbol=BTC&limit=3', key)
  services.sealed = false
  assert.equal(sealed.headers.get('cache-control'), 'private, max-age=31536000, immutable')
})

test('only 200 and 201 are charged', async () => {
  const key = await service.key({ credits: 1_000 })
  for (const [path, status] of [
    ['/v1/unavailable', 503],
    ['/v1/broken', 500],
    ['/v1/upstream', 504],
    ['/v1/list', 400],
    ['/v1/list?symbol=BTC&limit=0', 422],
  ] as const) {
    const answer = await get(path, key)
    assert.equal(answer.status, status, path)
    assert.equal(answer.headers.get('x-credits-charged'), '0', path)
    assert.equal(answer.headers.get('x-credits-remaining'), '1000', path)
  }
})

test('an unexpected failure shows only the request id; the log has both', async () => {
  const answer = await get('/v1/broken', await service.key())
  const body = assertError(answer, 500, 'internal_error')
  assert.doesNotMatch(answer.text, /hunter2|database/)
  assert.match(lines, /hunter2/, 'the operator can find it')
  assert.ok(lines.includes(String(body.request_id)))
})

test('the plan of the endpoint is checked before the parameters', async () => {
  const free = await service.key({ plan: 'free' })
  const body = assertError(await get('/v1/pro?nonsense=1', free), 403, 'tier_restricted')
  assert.equal(body.required_tier, 'pro')
  assert.equal(body.upgrade_url, '/upgrade')
  const pro = await service.key({ plan: 'developer' })
  assertError(await get('/v1/pro', pro), 400, 'invalid_symbol')
  assert.equal((await get('/v1/pro?symbol=BTC', pro)).status, 200)
})

test('parameters and intervals above the plan are refused, after validation', async () => {
  const free = await service.key({ plan: 'free' })
  const usd = assertError(await get('/v1/list?symbol=BTC&min_usd=5', free), 403, 'tier_restricted')
  assert.equal(usd.param, 'min_usd')
  assert.equal(usd.required_tier, 'business')
  assertError(await get('/v1/list?symbol=BTC&min_usd=x', free), 422, 'invalid_param')
  const fine = assertError(await get('/v1/list?symbol=BTC&interval=5m', free), 403, 'tier_restricted')
  assert.equal(fine.param, 'interval')
  assert.equal(fine.required_tier, 'pro')
  assert.equal((await get('/v1/list?symbol=BTC&interval=15m', free)).status, 200)
  const pro = await service.key({ plan: 'developer' })
  assert.equal((await get('/v1/list?symbol=BTC&interval=5m', pro)).status, 200)
  const finer = assertError(await get('/v1/list?symbol=BTC&interval=1m', pro), 403, 'tier_restricted')
  assert.equal(finer.required_tier, 'business')
})

test('every kind of wrong value has its code; a special one leads, all are listed', async () => {
  const key = await service.key()
  for (const [query, status, code, param] of [
    ['', 400, 'invalid_symbol', 'symbol'],
    ['symbol=DOGE', 400, 'invalid_symbol', 'symbol'],
    ['symbol=BTC&source=nyse', 400, 'invalid_source', 'source'],
    ['symbol=BTC&interval=2h', 400, 'invalid_interval', 'interval'],
    ['symbol=BTC&start=2026-03-15&end=2026-03-14', 400, 'invalid_time_range', 'start'],
    ['symbol=BTC&start=yesterday', 422, 'invalid_param', 'start'],
    ['symbol=BTC&limit=10001', 422, 'invalid_param', 'limit'],
    ['symbol=BTC&limit=1.5', 422, 'invalid_param', 'limit'],
    ['symbol=BTC&full=maybe', 422, 'invalid_param', 'full'],
    ['symbol=BTC&format=xml', 422, 'invalid_param', 'format'],
  ] as const) {
    const body = assertError(await get(`/v1/list?${query}`, key), status, code)
    assert.equal(body.param, param, query)
  }
  const many = await get('/v1/list?symbol=DOGE&limit=0&depth=51&full=x&format=xml&limt=3', key)
  const body = assertError(many, 400, 'invalid_symbol')
  const faults = body.errors as { param: string; error: string; suggestion?: string }[]
  assert.deepEqual(faults.map(({ param }) => param).sort(), [
    'depth',
    'format',
    'full',
    'limit',
    'limt',
    'symbol',
  ])
  assert.equal(faults.find(({ param }) => param === 'limt')?.suggestion, 'limit')
  assert.deepEqual(body.allowed, ['BTC', 'ETH', 'SOL', 'XRP'])
})

test('a parameter without a meaning for the source is ignored and listed', async () => {
  const key = await service.key()
  const ignored = async (query: string) =>
    ((await get(`/v1/list?symbol=BTC&limit=1&${query}`, key)).json.meta as { ignored: string[] }).ignored
  assert.deepEqual(await ignored('source=perpdex&depth=5'), ['depth'])
  assert.deepEqual(await ignored('source=cexa_spot&depth=5'), [])
  assert.deepEqual(await ignored('source=perpdex'), [])
})

test('an alias binds its parameters; the same value may be given, another not', async () => {
  const key = await service.key()
  assert.equal((await get('/v1/perpdex/list?symbol=BTC&source=perpdex', key)).status, 200)
  const body = assertError(await get('/v1/perpdex/list?symbol=BTC&source=cexa', key), 400, 'invalid_source')
  assert.deepEqual(body.allowed, ['perpdex'])
  for (const same of ['full=true', 'full=1']) {
    assert.equal((await get(`/v1/full/list?symbol=BTC&${same}`, key)).status, 200, same)
  }
  assertError(await get('/v1/full/list?symbol=BTC&full=false', key), 422, 'invalid_param')
})

test('a range before the window is refused where the endpoint refuses', async () => {
  const key = await service.key({ plan: 'free' })
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString()
  const longer = assertError(await get(`/v1/list?symbol=BTC&start=${day(8)}`, key), 400, 'invalid_time_range')
  assert.match(String(longer.earliest_start), /^\d{4}-/)
  const before = await get(`/v1/list?symbol=BTC&start=${day(8)}&end=${day(6)}`, key)
  const body = assertError(before, 403, 'tier_restricted')
  assert.equal(body.required_tier, 'pro')
  assert.ok(Math.abs(Date.parse(String(body.earliest_start)) - (Date.now() - 7 * DAY_MS)) < 5_000)
  assert.equal((await get(`/v1/list?symbol=BTC&start=${day(7)}`, key)).status, 200)
  assert.equal((await get('/v1/list?symbol=BTC', key)).status, 200)
})

test('an older start is moved to the window where the endpoint clamps', async () => {
  const key = await service.key({ plan: 'free' })
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
  const answer = await get(`/v1/clamping?start=${ago(30)}`, key)
  assert.equal(answer.headers.get('x-clamped'), 'true')
  const [row] = answer.json.data as { n: number }[]
  assert.ok(Math.abs((row?.n ?? 0) - (Date.now() - 7 * DAY_MS)) < 5_000)
  const wholly = await get(`/v1/clamping?start=${ago(30)}&end=${ago(20)}`, key)
  assert.equal(assertError(wholly, 403, 'tier_restricted').required_tier, 'business')
  const nobody = await get(`/v1/clamping?start=${ago(300)}&end=${ago(200)}`, key)
  assert.equal(assertError(nobody, 403, 'tier_restricted').required_tier, undefined)
  assert.equal((await get(`/v1/clamping?start=${ago(3)}`, key)).headers.get('x-clamped'), 'false')
})

test('lists come as NDJSON and CSV by Accept or format', async () => {
  const key = await service.key()
  const ndjson = await get('/v1/list?symbol=BTC&limit=6', key, { Accept: 'application/x-ndjson' })
  assert.equal(ndjson.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  const rows = ndjson.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { n: number })
  assert.deepEqual(
    rows.map(({ n }) => n),
    [0, 1, 2, 3, 4, 5],
  )
  assert.equal(ndjson.headers.get('x-next-cursor'), 'c6')
  const csv = await get('/v1/list?symbol=BTC&limit=6&format=csv', key)
  assert.match(csv.headers.get('content-type') ?? '', /^text\/csv/)
  assert.equal(csv.text, 'n,text\r\n0,plain\r\n1,"a,b"\r\n2,"say ""x"""\r\n3,"two\nlines"\r\n4,""\r\n5,\r\n')
  const wins = await get('/v1/list?symbol=BTC&limit=1&format=json', key, { Accept: 'text/csv' })
  assert.ok(Array.isArray(wins.json.data))
  const weighed = await get('/v1/list?symbol=BTC&limit=1', key, {
    Accept: 'text/csv;q=0.1, application/json',
  })
  assert.ok(Array.isArray(weighed.json.data))
  assert.match(csv.headers.get('vary') ?? '', /\bAccept\b/)
})
