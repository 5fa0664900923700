/** Rate limits over a real socket: exact with an injected clock, and true with the real one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type Answer, ask, assertError } from '../fakes/client.ts'
import { TEST_ENDPOINTS, testServices } from '../fakes/endpoints.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { setClock } from '../fakes/set-clock.ts'
import { type SmallService, startSmallService } from '../fakes/small-service.ts'
import { until } from '../until.ts'

const START_MS = Date.UTC(2026, 2, 14, 4)
const clock = setClock(START_MS)
let still: SmallService
let real: TestService
before(async () => {
  still = await startSmallService({
    endpoints: TEST_ENDPOINTS,
    services: testServices(),
    clock,
    plans: [{ name: 'slow', extends: 'free', requestsPerSecond: 3, requestsPerMinute: 5 }],
  })
  real = await startTestService()
})
after(async () => {
  await still.stop()
  await real.stop()
})

test('Retry-After is exact: refused until then, served from then on', async () => {
  const key = await still.key({ plan: 'free' })
  const request = () => ask(`${still.url}/v1/free`, { key })
  for (let i = 0; i < 5; i++) {
    const answer = await request()
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('x-ratelimit-limit'), '5')
    assert.equal(answer.headers.get('x-ratelimit-remaining'), String(4 - i))
    clock.advance(100)
  }
  const refused = await request()
  const body = assertError(refused, 429, 'rate_limited')
  assert.equal(body.retry_after, 1)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.equal(refused.headers.get('x-ratelimit-remaining'), '0')
  assert.equal(refused.headers.get('x-ratelimit-reset'), new Date(START_MS + 1_400).toISOString())
  assert.equal(refused.headers.get('ratelimit'), '"second";r=0;t=1')
  assert.equal(refused.headers.get('x-credits-charged'), '0')
  clock.set(START_MS + 999)
  assert.equal((await request()).status, 429)
  clock.set(START_MS + 1_000)
  assert.equal((await request()).status, 200)
  assert.equal((await request()).status, 429, 'only the first of the five has left the window')
})

test('the minute window is reported where it is nearer to exhaustion', async () => {
  const start = clock.now() + 10_000 - (clock.now() % 1_000)
  clock.set(start)
  const key = await still.key({ plan: 'slow' })
  const request = () => ask(`${still.url}/v1/free`, { key })
  for (let i = 0; i < 5; i++) {
    assert.equal((await request()).status, 200)
    clock.advance(1_000)
  }
  const refused = await request()
  assert.equal(refused.headers.get('x-ratelimit-limit'), '5')
  assert.equal(assertError(refused, 429, 'rate_limited').retry_after, 55)
  assert.equal(refused.headers.get('retry-after'), '55')
  clock.set(start + 59_999)
  assert.equal((await request()).status, 429)
  clock.set(start + 60_000)
  assert.equal((await request()).status, 200)
})

test('all keys of an account and environment share one rate; the other environment has its own', async () => {
  const accountId = (await still.accounts.create({ email: 'shared@example.com', plan: 'free' })).id
  clock.advance(120_000)
  const [a, b] = [await still.key({ accountId }), await still.key({ accountId })]
  for (let i = 0; i < 5; i++) await ask(`${still.url}/v1/free`, { key: i % 2 ? a : b })
  assertError(await ask(`${still.url}/v1/free`, { key: a }), 429, 'rate_limited')
  assertError(await ask(`${still.url}/v1/free`, { key: b }), 429, 'rate_limited')
  const live = await still.key({ accountId, environment: 'live' })
  assertError(await ask(`${still.url}/v1/free`, { key: live }), 503, 'environment_unavailable')
})

test('over a real socket, waiting for Retry-After works; /v1/sources answers rate_limit_exceeded', async () => {
  let [accountId, key] = ['', '']
  let burst: Answer[] = []
  // On a busy machine a burst may take longer than the one second that the limit is about.
  for (let tookMs = Number.POSITIVE_INFINITY; tookMs > 900; ) {
    accountId = await real.account('free')
    key = await real.key({ accountId })
    const startedMs = performance.now()
    burst = await Promise.all(Array.from({ length: 8 }, () => ask(`${real.url}/v1/sources`, { key })))
    tookMs = performance.now() - startedMs
  }
  const refused = burst.filter((answer) => answer.status === 429)
  assert.equal(burst.filter((answer) => answer.status === 200).length, 5)
  assert.equal(refused.length, 3)
  for (const answer of refused) {
    assertError(answer, 429, 'rate_limit_exceeded')
    assert.equal(answer.headers.get('x-credits-charged'), '0')
  }
  const seconds = Number(refused[0]?.headers.get('retry-after'))
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  assert.equal((await ask(`${real.url}/v1/sources`, { key })).status, 200)
  assert.equal((await ask(`${real.url}/v1/limits`, { key })).status, 200)
  // Written a moment after the answer.
  const expected = { credits: 150, requests: 6, rateLimited: 3 }
  let usage: Awaited<ReturnType<typeof usageOf>> | undefined
  const isSettled = async () => {
    usage = await usageOf(real, accountId)
    return isDeepStrictEqual(usage, expected)
  }
  await until('the usage is written', isSettled).catch(() => {})
  assert.deepEqual(usage, expected)
})

test('too many failed keys are 429 with the code of the path', async () => {
  for (const [path, kind] of [
    ['/v1/sources', 'rate_limit_exceeded'],
    ['/v1/limits', 'rate_limited'],
  ] as const) {
    const burst = await Promise.all(Array.from({ length: 40 }, () => ask(`${real.url}${path}`, { key: 'x' })))
    const refused = burst.filter((answer) => answer.status === 429)
    assert.ok(refused.length > 0)
    for (const answer of refused) assertError(answer, 429, kind)
  }
})

async function usageOf(service: TestService, accountId: string) {
  const rows = await service.parts.accounts.usage(accountId, Date.now() - 1e8, Date.now())
  const row = rows.find(({ endpoint }) => endpoint === 'GET /v1/sources')
  return { credits: row?.credits, requests: row?.requests, rateLimited: row?.rateLimited }
}
