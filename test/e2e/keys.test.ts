/** Who may enter: every state of a key, over a real socket. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, assertError } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { setClock } from '../fakes/set-clock.ts'
import { promisedMs } from '../promised-ms.ts'
import { until } from '../until.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service.stop())

const limits = (asked: Parameters<typeof ask>[1] = {}, query = '') =>
  ask(`${service.url}/v1/limits${query}`, asked)

test('a capped key sees what is left of its own credits and of those of the account', async () => {
  const accountId = await service.account()
  const own = await service.key({ accountId, creditCap: 100 })
  const open = await service.key({ accountId })
  const limitsOf = async (key: string) => (await limits({ key })).json
  await ask(`${service.url}/v1/sources`, { key: open })
  await ask(`${service.url}/v1/sources`, { key: own })
  const capped = await limitsOf(own)
  const { resets_at } = capped.credits as { resets_at: string }
  assert.deepEqual(capped.credits, { used: 25, limit: 100, remaining: 75, resets_at })
  assert.deepEqual(capped.account_credits, {
    used: 50,
    limit: 50_000_000,
    remaining: 50_000_000 - 50,
    resets_at,
  })
  const plain = await limitsOf(open)
  assert.deepEqual(plain.credits, capped.account_credits)
  assert.equal('account_credits' in plain, false)
})

test('a valid key is served, with every header of a metered answer', async () => {
  const answer = await limits({ key: await service.key({ plan: 'developer', name: 'mine' }) })
  assert.equal(answer.status, 200, answer.text)
  const header = (name: string) => answer.headers.get(name) ?? ''
  assert.match(header('x-request-id'), /^req_/)
  assert.equal(header('x-plan'), 'developer')
  assert.equal(header('x-credits-used'), '0')
  assert.equal(header('x-credits-charged'), '0')
  assert.equal(header('x-credits-remaining'), '10000000')
  assert.equal(header('x-ratelimit-limit'), '25')
  assert.equal(header('x-ratelimit-remaining'), '24')
  assert.match(header('x-ratelimit-reset'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(header('ratelimit'), '"second";r=24;t=1')
  assert.equal(header('ratelimit-policy'), '"second";q=25;w=1, "minute";q=1500;w=60')
  assert.equal((answer.json.key as Record<string, unknown>).name, 'mine')
})

test('a missing key has a reason of its own: 401 unauthorized, reason missing', async () => {
  for (const headers of [
    {},
    { 'X-API-Key': '' },
    { Authorization: 'Basic abc' },
    { Authorization: 'Bearer' },
  ]) {
    const answer = await limits({ headers: headers as Record<string, string> })
    assert.equal(assertError(answer, 401, 'unauthorized').reason, 'missing')
    assert.match(answer.headers.get('www-authenticate') ?? '', /X-API-Key/)
    assert.equal(answer.headers.get('x-plan'), null)
  }
})

test('the checksum distinguishes a typo from a wrong key', async () => {
  const key = await service.key()
  const typo = key.slice(0, 20) + (key[20] === 'a' ? 'b' : 'a') + key.slice(21)
  const body = assertError(await limits({ key: typo }), 401, 'unauthorized')
  assert.equal(body.reason, 'malformed')
  assert.match(String(body.message), /checksum/)
  for (const text of ['nonsense', key.slice(0, -1), `${key}x`, key.replace('svc_test_', 'svc_prod_')]) {
    assert.equal(assertError(await limits({ key: text }), 401, 'unauthorized').reason, 'malformed')
  }
})

test('a well-formed key that does not exist is unknown', async () => {
  const other = await startTestService()
  const foreign = await other.key()
  await other.stop()
  assert.equal(assertError(await limits({ key: foreign }), 401, 'unauthorized').reason, 'unknown')
})

test('a revoked key is refused within one second, also while it is in use', async () => {
  const accountId = await service.account()
  const { key, record } = await service.parts.accounts.createKey({
    accountId,
    environment: 'test',
    name: 'r',
  })
  assert.equal((await limits({ key })).status, 200, 'a new key works at once')
  await service.parts.accounts.revokeKey(record.id)
  await until('401', async () => (await limits({ key })).status === 401, promisedMs(1_000))
  assert.equal(assertError(await limits({ key }), 401, 'unauthorized').reason, 'revoked')
})

test('an expired key is refused from the moment of its expiry on', async () => {
  const clock = setClock(Date.now())
  const dated = await startTestService({ clock })
  try {
    const expiresAtMs = clock.now() + 700
    const key = await dated.key({ expiresAtMs })
    const asked = () => ask(`${dated.url}/v1/limits`, { key })
    clock.set(expiresAtMs - 1)
    const before = await asked()
    assert.equal(before.status, 200)
    assert.equal((before.json.key as Record<string, unknown>).expires_at, new Date(expiresAtMs).toISOString())
    clock.set(expiresAtMs)
    assert.equal(assertError(await asked(), 401, 'unauthorized').reason, 'expired')
  } finally {
    await dated.stop()
  }
})

test('past due pauses the keys of an account, payment resumes them', async () => {
  const accountId = await service.account()
  const key = await service.key({ accountId })
  assert.equal((await limits({ key })).status, 200)
  await service.parts.accounts.pause(accountId, 'payment_past_due')
  await until('403', async () => (await limits({ key })).status === 403, promisedMs(1_000))
  const body = assertError(await limits({ key }), 403, 'tier_restricted')
  assert.equal(body.reason, 'key_paused')
  assert.match(String(body.message), /past due/)
  await service.parts.accounts.resume(accountId)
  await until('200', async () => (await limits({ key })).status === 200, promisedMs(1_000))
})

test('header wins over bearer, bearer over api-key, api-key over api_key', async () => {
  const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((name) => service.key({ name })))
  const used = async (headers: Record<string, string>, query: string) => {
    const answer = await limits({ headers }, query)
    assert.equal(answer.status, 200, answer.text)
    return (answer.json.key as Record<string, unknown>).name
  }
  const header = { 'X-API-Key': a ?? '' }
  const bearer = { Authorization: `Bearer ${b}` }
  assert.equal(await used({ ...header, ...bearer }, `?api-key=${c}&api_key=${d}`), 'a')
  assert.equal(await used(bearer, `?api-key=${c}&api_key=${d}`), 'b')
  assert.equal(await used({}, `?api_key=${d}&api-key=${c}`), 'c')
  assert.equal(await used({}, `?api_key=${d}`), 'd')
  assert.equal(await used({ authorization: `bearer   ${b}` }, ''), 'b')
})

test('a wrong key in the header is not saved by a right one in the query', async () => {
  const key = await service.key()
  const answer = await limits({ key: 'wrong' }, `?api-key=${key}`)
  assert.equal(assertError(answer, 401, 'unauthorized').reason, 'malformed')
})

test('a key with an allow-list works from its ranges only', async () => {
  const inside = await service.key({ allowedCidrs: ['10.0.0.0/8', '127.0.0.0/8'] })
  assert.equal((await limits({ key: inside })).status, 200)
  const outside = await service.key({ allowedCidrs: ['10.0.0.0/8', '2001:db8::/32'] })
  const body = assertError(await limits({ key: outside }), 403, 'tier_restricted')
  assert.equal(body.reason, 'ip_not_allowed')
})

test('a forwarded address counts only behind a trusted proxy', async () => {
  const key = await service.key({ allowedCidrs: ['203.0.113.0/24'] })
  const headers = { 'X-Forwarded-For': '203.0.113.7' }
  assertError(await limits({ key, headers }), 403, 'tier_restricted')
  const proxied = await startTestService({ env: { TAPELINE_TRUSTED_PROXIES: '127.0.0.1/32, 10.1.0.0/16' } })
  try {
    const own = await proxied.key({ allowedCidrs: ['203.0.113.0/24'] })
    const from = async (chain: string) =>
      (await ask(`${proxied.url}/v1/limits`, { key: own, headers: { 'X-Forwarded-For': chain } })).status
    assert.equal(await from('203.0.113.7'), 200)
    assert.equal(await from('203.0.113.7, 10.1.2.3'), 200, 'over two trusted proxies')
    assert.equal(await from('203.0.113.7, 198.51.100.1'), 403, 'what a stranger forwards is not believed')
    assert.equal(await from('nonsense'), 403)
  } finally {
    await proxied.stop()
  }
})

test('a key limited to scopes is refused elsewhere, and works where any key does', async () => {
  const node = await service.key({ scopes: ['node', 'webhooks'] })
  const body = assertError(await ask(`${service.url}/v1/symbols`, { key: node }), 403, 'tier_restricted')
  assert.equal(body.reason, 'scope')
  assert.equal((await limits({ key: node })).status, 200)
  const market = await service.key({ scopes: ['market'] })
  assert.equal((await ask(`${service.url}/v1/symbols`, { key: market })).status, 200)
})

test('a key of an environment that is not running gets 503 with the reason', async () => {
  const live = await service.key({ environment: 'live' })
  const answer = await limits({ key: live })
  const body = assertError(answer, 503, 'environment_unavailable')
  assert.match(String(body.message), /live environment is not running/)
  assert.equal(body.reason, 'live')
  const liveOnly = await startTestService({ env: { TAPELINE_TEST: 'off', TAPELINE_LOG_LEVEL: 'silent' } })
  try {
    const key = await liveOnly.key()
    assertError(await ask(`${liveOnly.url}/v1/limits`, { key }), 503, 'environment_unavailable')
  } finally {
    await liveOnly.stop()
  }
})

test('open endpoints need no key, and a wrong one does not matter', async () => {
  for (const path of ['/health', '/v1/health', '/ready', '/openapi.json', '/docs']) {
    assert.equal((await ask(service.url + path, { key: 'nonsense' })).status, 200, path)
  }
  const health = (await ask(`${service.url}/v1/health`)).json
  assert.equal(health.status, 'ok')
  assert.equal(health.version, '0.0.0-test')
  assert.equal(typeof health.uptime_seconds, 'number')
})

test('repeated failed authentication from one address is answered ever more slowly; a good key is not', async () => {
  const guarded = await startTestService({ env: { TAPELINE_TRUSTED_PROXIES: '127.0.0.1' } })
  try {
    const key = await guarded.key()
    const timed = async (asked: Parameters<typeof ask>[1]) => {
      const startedMs = performance.now()
      const { status } = await ask(`${guarded.url}/v1/limits`, asked)
      return { status, ms: performance.now() - startedMs }
    }
    const bad = { key: 'nonsense', headers: { 'X-Forwarded-For': '198.51.100.9' } }
    for (let i = 0; i < 20; i++) assert.equal((await timed(bad)).status, 401)
    const first = await timed(bad)
    const second = await timed(bad)
    assert.equal(first.status, 401)
    assert.ok(first.ms >= 95, `${first.ms} ms`)
    assert.ok(second.ms >= 195, `${second.ms} ms`)
    // The fastest of several: a busy machine delays single answers, the throttle would delay all of them.
    const quickest = async (status: number, asked: Parameters<typeof ask>[1]) => {
      let bestMs = Number.POSITIVE_INFINITY
      for (let i = 0; i < 15 && bestMs >= 90; i++) {
        const answer = await timed(asked)
        assert.equal(answer.status, status)
        bestMs = Math.min(bestMs, answer.ms)
      }
      return bestMs
    }
    assert.ok((await quickest(200, { ...bad, key })) < 90, 'a good key from the same address is not slowed')
    const neighbour = { ...bad, headers: { 'X-Forwarded-For': '198.51.100.10' } }
    assert.ok((await quickest(401, neighbour)) < 90, 'another address is not slowed')
  } finally {
    await guarded.stop()
  }
})
