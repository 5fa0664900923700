/** Bodies and idempotency of a POST, over a real socket. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { noCredits } from '../../src/contract/costs.ts'
import { StoreUnavailableError, WritesRefusedError } from '../../src/core/store-unavailable.ts'
import { type Answer, ask, askRaw, assertError } from '../fakes/client.ts'
import { TEST_ENDPOINTS, testServices } from '../fakes/endpoints.ts'
import { WIDE_PLAN } from '../fakes/service.ts'
import { setClock } from '../fakes/set-clock.ts'
import { type SmallService, startSmallService } from '../fakes/small-service.ts'
import { until } from '../until.ts'

const services = testServices()
const clock = setClock(Date.UTC(2026, 2, 14, 4))
let service: SmallService
let key: string
before(async () => {
  service = await startSmallService({ endpoints: TEST_ENDPOINTS, services, clock, bodyLimitBytes: 2_000 })
  key = await service.key()
})
after(() => service.stop())

const GOOD = JSON.stringify({ url: 'https://a', size: 1 })
const post = (body: string | undefined, headers: Record<string, string> = {}) =>
  ask(`${service.url}/v1/things`, {
    method: 'POST',
    key,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  })

test('a good body is taken, with a charset or a +json type too', async () => {
  const answer = await post(GOOD)
  assert.equal(answer.status, 201, answer.text)
  assert.equal(answer.headers.get('x-credits-charged'), '10')
  assert.equal(answer.headers.get('location'), `/v1/things/${services.runs}`)
  for (const type of ['application/json; charset=utf-8', 'application/vnd.tapeline+json']) {
    assert.equal((await post(GOOD, { 'Content-Type': type })).status, 201, type)
  }
})

test('an oversized body is 413, announced or not, and the handler does not run', async () => {
  const runs = services.runs
  const body = JSON.stringify({ url: 'x'.repeat(3_000), size: 1 })
  assert.match(String(assertError(await post(body), 413, 'payload_too_large').message), /2000 bytes/)
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(body))
      controller.close()
    },
  })
  const response = await fetch(`${service.url}/v1/things`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    body: stream,
    duplex: 'half',
  } as RequestInit)
  assert.equal(response.status, 413)
  assert.equal(services.runs, runs)
})

test('a wrong or missing content type is 415', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    'application/jsonx',
    '',
  ]) {
    assertError(await post(GOOD, { 'Content-Type': type }), 415, 'unsupported_media_type')
  }
  const bytes = await ask(`${service.url}/v1/things`, { method: 'POST', key, body: Buffer.from(GOOD) })
  assertError(bytes, 415, 'unsupported_media_type')
})

test('broken JSON and an empty body are 422', async () => {
  for (const body of ['{"url": ', 'null x', '']) {
    assert.equal(assertError(await post(body), 422, 'invalid_param').param, 'body')
  }
  assertError(await post('[]'), 422, 'invalid_param')
})

test('a body with several faults lists every one', async () => {
  const answer = await post(JSON.stringify({ url: 'x', size: 99, kinds: [1], colour: 'red' }))
  const body = assertError(answer, 422, 'invalid_param')
  const params = (body.errors as { param: string }[]).map((fault) => fault.param)
  assert.deepEqual([...new Set(params)].sort(), ['colour', 'kinds.0', 'size', 'url'])
  const missing = assertError(await post('{}'), 422, 'invalid_param')
  assert.deepEqual((missing.errors as { param: string }[]).map((fault) => fault.param).sort(), [
    'size',
    'url',
  ])
})

test('an unknown parameter of a POST is refused; dry_run is for GET only', async () => {
  const answer = await ask(`${service.url}/v1/things?dry_run=true`, { method: 'POST', key })
  assert.equal(assertError(answer, 422, 'invalid_param').param, 'dry_run')
})

test('the same Idempotency-Key gives the first answer again, for nothing', async () => {
  const headers = { 'Idempotency-Key': 'once' }
  const first = await post(GOOD, headers)
  const runs = services.runs
  const again = await post(GOOD, headers)
  assert.equal(again.status, 201)
  assert.equal(again.text, first.text)
  assert.equal(services.runs, runs)
  assert.equal(first.headers.get('idempotent-replayed'), null)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(again.headers.get('x-credits-charged'), '0')
  assert.equal(again.headers.get('location'), first.headers.get('location'))
  assert.equal(again.headers.get('content-type'), first.headers.get('content-type'))
  assert.notEqual(again.headers.get('x-request-id'), first.headers.get('x-request-id'))
})

test('the same Idempotency-Key for another resource is another request', async () => {
  const rotate = (id: string) =>
    ask(`${service.url}/v1/things/${id}/rotate`, {
      method: 'POST',
      key,
      headers: { 'Idempotency-Key': 'rotate' },
    })
  const [a, b, again] = [await rotate('a'), await rotate('b'), await rotate('a')]
  assert.deepEqual([a.status, b.status], [200, 200], b.text)
  assert.notEqual(b.text, a.text)
  assert.equal(b.headers.get('idempotent-replayed'), null)
  assert.equal(again.text, a.text)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
})

test('the same Idempotency-Key for another spelling of the path is the same request', async () => {
  const spellings = {
    '/v1/things': ['/v1/%74hings', '/v1/things#a', 'http://other/v1/things'],
    '/v1/things/c/rotate': ['/v1/things/%63/rotate', '/v1/th%69ngs/c/rotate'],
  }
  for (const [path, others] of Object.entries(spellings)) {
    const body = path === '/v1/things' ? GOOD : ''
    const head = [
      `X-API-Key: ${key}`,
      'Idempotency-Key: spelled',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    const send = (target: string) =>
      askRaw(
        service.url,
        `POST ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head.join('\r\n')}\r\n\r\n${body}`,
      )
    assert.doesNotMatch(await send(path), /Idempotent-Replayed/)
    for (const other of others) assert.match(await send(other), /\r\nIdempotent-Replayed: true\r\n/, other)
  }
})

test('the same Idempotency-Key with another body is 422', async () => {
  const headers = { 'Idempotency-Key': 'other-body' }
  await post(GOOD, headers)
  assertError(await post(JSON.stringify({ url: 'https://b', size: 2 }), headers), 422, 'idempotency_conflict')
})

test('the same Idempotency-Key in progress is 409; afterwards it is the answer', async () => {
  const headers = { 'Idempotency-Key': 'in-progress' }
  const gate = Promise.withResolvers<void>()
  services.wait = () => gate.promise
  const runs = services.runs
  const first = post(GOOD, headers)
  while (services.runs === runs) await new Promise((resolve) => setTimeout(resolve, 5))
  assertError(await post(GOOD, headers), 409, 'idempotency_conflict')
  services.wait = async () => {}
  gate.resolve()
  assert.equal((await first).status, 201)
  assert.equal((await post(GOOD, headers)).headers.get('idempotent-replayed'), 'true')
  assert.equal(services.runs, runs + 1)
})

test('a failed request frees its Idempotency-Key', async () => {
  const headers = { 'Idempotency-Key': 'fails-first' }
  services.wait = async () => {
    throw new Error('no')
  }
  assertError(await post(GOOD, headers), 500, 'internal_error')
  services.wait = async () => {}
  const second = await post(GOOD, headers)
  assert.equal(second.status, 201)
  assert.equal(second.headers.get('idempotent-replayed'), null)
})

test('an answer that only says that something is down frees its Idempotency-Key', async () => {
  const headers = { 'Idempotency-Key': 'down-first' }
  services.status = 503
  const first = await post(GOOD, headers)
  delete services.status
  assert.deepEqual([first.status, first.headers.get('x-credits-charged')], [503, '0'])
  const second = await post(GOOD, headers)
  assert.equal(second.status, 201)
  assert.equal(second.headers.get('idempotent-replayed'), null)
})

test('what may have been carried out keeps its Idempotency-Key, and does not run again at once', async () => {
  for (const [mayBeDone, status] of [
    [true, 409],
    [false, 201],
  ] as const) {
    const headers = { 'Idempotency-Key': `cut-off-${mayBeDone}` }
    const { runs } = services
    services.wait = async () => {
      throw new StoreUnavailableError('cut off', { mayBeDone })
    }
    const first = await post(GOOD, headers)
    services.wait = async () => {}
    assert.equal(first.status, 503)
    assert.equal((await post(GOOD, headers)).status, status)
    assert.equal(services.runs, runs + (mayBeDone ? 1 : 2))
  }
})

test('what a POST has reserved is free again when it has failed', async () => {
  const poor = await service.key({ credits: 10 })
  const create = () =>
    ask(`${service.url}/v1/things`, {
      method: 'POST',
      key: poor,
      headers: { 'Content-Type': 'application/json' },
      body: GOOD,
    })
  services.wait = async () => {
    throw new Error('no')
  }
  const failed = await create()
  services.wait = async () => {}
  assert.equal(failed.status, 500)
  assert.equal((await create()).status, 201)
})

test('two accounts may use the same Idempotency-Key, and it is forgotten after 24 hours', async () => {
  const headers = { 'Idempotency-Key': 'shared' }
  await post(GOOD, headers)
  const other = await ask(`${service.url}/v1/things`, {
    method: 'POST',
    key: await service.key(),
    headers: { 'Content-Type': 'application/json', ...headers },
    body: GOOD,
  })
  assert.equal(other.headers.get('idempotent-replayed'), null)
  clock.advance(24 * 3_600_000 - 1)
  assert.equal((await post(GOOD, headers)).headers.get('idempotent-replayed'), 'true')
  clock.advance(1)
  assert.equal((await post(GOOD, headers)).headers.get('idempotent-replayed'), null)
})

test('an Idempotency-Key of a wrong form is 422', async () => {
  for (const text of ['a b', 'x'.repeat(256), '']) {
    assertError(await post(GOOD, { 'Idempotency-Key': text }), 422, 'invalid_param')
  }
})

test('scopes hold for a POST too', async () => {
  const market = await service.key({ scopes: ['market'] })
  const answer = await ask(`${service.url}/v1/things`, { method: 'POST', key: market, body: GOOD })
  assert.equal(assertError(answer, 403, 'tier_restricted').reason, 'scope')
})

test('POST paths have their own Allow', async () => {
  const answer = await ask(`${service.url}/v1/things`, { key })
  assertError(answer, 405, 'method_not_allowed')
  assert.equal(answer.headers.get('allow'), 'POST, OPTIONS')
})

test('an answer above 64 kB is not stored: its repeat is 409 with the reason, and never runs again', async () => {
  const long = (characters: number, idempotencyKey: string) =>
    ask(`${service.url}/v1/long`, {
      method: 'POST',
      key,
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
      body: JSON.stringify({ characters }),
    })
  // {"text":"…"} adds eleven bytes.
  for (const [characters, isKept] of [
    [65_536 - 11, true],
    [65_537 - 11, false],
    [2_000_000, false],
  ] as const) {
    const name = `long-${characters}`
    const first = await long(characters, name)
    assert.equal(first.status, 200, first.text.slice(0, 100))
    const { runs } = services
    for (let repeat = 0; repeat < 3; repeat++) {
      const again = await long(characters, name)
      if (isKept) {
        assert.equal(again.text, first.text)
        assert.equal(again.headers.get('idempotent-replayed'), 'true')
      } else {
        const body = assertError(again, 409, 'idempotency_conflict')
        assert.equal(body.reason, 'reply_too_large')
        assert.match(String(body.message), /was carried out.*65536 bytes/)
      }
      assert.equal(again.headers.get('x-credits-charged'), '0')
    }
    assert.equal(services.runs, runs, `${characters}`)
  }
})

test('what one account can fill the store with is bounded by its plan, and then nothing is carried out', async () => {
  const small = await startSmallService({
    endpoints: TEST_ENDPOINTS,
    services,
    clock,
    plans: [{ name: 'wide', extends: 'business', requestsPerSecond: 1, requestsPerMinute: 6_000_000 }],
  })
  try {
    const mine = await small.key()
    const accountId = (await small.accounts.list())[0]?.id ?? ''
    // As many as 10,000 requests with different keys would leave behind.
    for (let from = 0; from < 10_000; from += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          small.store.claimIdempotency({
            id: `claim-${from + i}`,
            accountId,
            maxEntries: 10_000,
            bodyHash: 'x',
            claimMs: 0,
            rememberedMs: 86_400_000,
          }),
        ),
      )
    }
    const { runs } = services
    const things = (headers: Record<string, string>) =>
      ask(`${small.url}/v1/things`, {
        method: 'POST',
        key: mine,
        headers: { 'Content-Type': 'application/json', ...headers },
        body: GOOD,
      })
    const refused = await things({ 'Idempotency-Key': 'one-more' })
    assert.equal(assertError(refused, 429, 'rate_limited').reason, 'idempotency_quota')
    assert.equal(services.runs, runs)
    clock.advance(1_000)
    assert.equal((await things({})).status, 201, 'without a key it goes on')
    clock.advance(86_400_000)
    await small.accounts.setCredits(accountId, 1_000)
    assert.equal((await things({ 'Idempotency-Key': 'one-more' })).status, 201, 'and with one after a day')
  } finally {
    await small.stop()
  }
})

test('what was carried out and charged is answered, also when its answer cannot be kept', async () => {
  const small = await startSmallService({
    endpoints: TEST_ENDPOINTS,
    services,
    clock,
    wrapStore: (store) => ({
      ...store,
      finishIdempotency: () => Promise.reject(new Error('disk I/O error')),
    }),
  })
  try {
    const key = await small.key({ credits: 1_000 })
    const { runs } = services
    const things = () =>
      ask(`${small.url}/v1/things`, {
        method: 'POST',
        key,
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'unkept' },
        body: GOOD,
      })
    const answer = await things()
    assert.equal(answer.status, 201)
    assert.equal(answer.headers.get('x-credits-charged'), '10')
    assert.equal((await things()).status, 409, 'the claim stays for a while')
    assert.equal(services.runs, runs + 1)
  } finally {
    await small.stop()
  }
})

test('what was carried out while the store refuses writes is answered, and charged when it takes them', async () => {
  let isFull = true
  const small = await startSmallService({
    endpoints: TEST_ENDPOINTS,
    services,
    clock,
    wrapStore: (store) => ({
      ...store,
      settle: (batch) => (isFull ? Promise.reject(new WritesRefusedError('full')) : store.settle(batch)),
    }),
  })
  try {
    const key = await small.key({ credits: 1_000 })
    const headers = { 'Content-Type': 'application/json' }
    const answer = await ask(`${small.url}/v1/things`, { method: 'POST', key, headers, body: GOOD })
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.headers.get('x-credits-charged'), '10')
    isFull = false
    await small.ledger.flush()
    const [account] = await small.accounts.list()
    assert.ok(account)
    assert.equal((await small.accounts.balance(account, 'test')).used, 10)
  } finally {
    await small.stop()
  }
})

test('of POSTs at the same time no more are carried out than the credits pay for', async () => {
  const poor = await service.key({ credits: 25 })
  const { runs } = services
  services.wait = () => delay(200)
  try {
    const create = () =>
      ask(`${service.url}/v1/things`, {
        method: 'POST',
        key: poor,
        headers: { 'Content-Type': 'application/json' },
        body: GOOD,
      })
    const answers = await Promise.all([create(), create(), create(), create()])
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [201, 201, 402, 402])
    assert.equal(services.runs, runs + 2)
  } finally {
    services.wait = async () => {}
  }
})

test('of what an account may run only one at a time, a second call is 429 with its reason and takes no slot', async (t) => {
  const things = TEST_ENDPOINTS.find(({ path }) => path === '/v1/things') ?? assert.fail()
  const ends: (() => void)[] = []
  const run = () =>
    new Promise<never>((resolve) =>
      ends.push(() => resolve({ kind: 'object', value: { runs: 1 }, status: 201 } as never)),
    )
  const single = { ...things, cost: noCredits, isLongRead: () => true, oneAtATime: 'thing_running', run }
  const long = { ...single, path: '/v1/long', oneAtATime: undefined }
  const own = await startSmallService({
    endpoints: [single, long] as unknown as typeof TEST_ENDPOINTS,
    services,
    plans: [{ ...WIDE_PLAN, heavyCallsInFlight: 2 }],
  })
  t.after(() => own.stop())
  const [one, other] = [await own.key(), await own.key()]
  const call = (path: string, by: string) =>
    ask(`${own.url}${path}`, {
      ...{ method: 'POST', key: by, body: GOOD, headers: { 'Content-Type': 'application/json' } },
    })
  const first = call('/v1/things', one)
  await until('it runs', () => ends.length === 1)
  for (let i = 0; i < 3; i++) {
    const refused = await call('/v1/things', one)
    assert.equal(assertError(refused, 429, 'rate_limited').reason, 'thing_running')
    assert.equal(refused.headers.get('retry-after'), '1')
  }
  const beside = [call('/v1/long', one), call('/v1/things', other)]
  await until('they run', () => ends.length === 3)
  for (const end of ends) end()
  for (const answer of await Promise.all([first, ...beside])) assert.equal(answer.status, 201, answer.text)
  const next = call('/v1/things', one)
  await until('it runs again', () => ends.length === 4)
  ends[3]?.()
  assert.equal((await next).status, 201)
})

test('a refusal for unread answers counts as one request, also where the body says how many it is', async (t) => {
  const things = TEST_ENDPOINTS.find(({ path }) => path === '/v1/things') ?? assert.fail()
  const batch = { ...things, demand: () => ({ requests: 2, units: {}, heavyCalls: 0 }) }
  const own = await startSmallService({
    endpoints: [batch] as unknown as typeof TEST_ENDPOINTS,
    services,
    clock,
  })
  t.after(() => own.stop())
  const ownKey = await own.key()
  const [account] = await own.accounts.list()
  const read = own.unread.hold(account?.id ?? '', 129 * 1024 * 1024)
  const call = () =>
    ask(`${own.url}/v1/things`, {
      ...{ method: 'POST', key: ownKey, body: GOOD, headers: { 'Content-Type': 'application/json' } },
    })
  const left = (answer: Answer) => Number(answer.headers.get('x-ratelimit-remaining'))
  const [first, second] = [await call(), await call()]
  assert.equal(assertError(second, 429, 'rate_limited').reason, 'unread_answers')
  assert.equal(left(first) - left(second), 1)
  read()
  const served = await call()
  assert.deepEqual([served.status, left(second) - left(served)], [201, 2])
})
