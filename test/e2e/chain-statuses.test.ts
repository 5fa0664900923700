/** Must hold: every status code of the address, transaction and webhook paths, over a real socket. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, test } from 'node:test'
import { formatKey } from '../../src/core/key-format.ts'
import { testAddress } from '../fakes/event-writer.ts'
import type { KeyWish } from '../fakes/keys.ts'
import { hang, type Receiver, startReceiver, until } from '../fakes/receiver.ts'
import { startTestService, type TestService, WIDE_PLAN } from '../fakes/service.ts'
import { startFakeNode } from '../fakes/wrpc-node.ts'

interface Path {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  scope: 'node' | 'webhooks'
  /** What the cheapest answer costs. */
  price: number
  body?: unknown
  /** The same call with something wrong in it. */
  wrong: { path?: string; body?: unknown; param: string }[]
}

const HOOK = '/v1/webhooks/wh_0123456789abcdef0123'
const ADDRESS = testAddress(1)
const mainnet = 'kaspa:qqeq69uvrh8fe0zl8sn3ykv7cjpt0zlgk2pd3kjwc6t9vc7pxnz5zxm2gsxnt'
const noHook = { path: '/v1/webhooks/nonsense', param: 'id' }
const PATHS: Path[] = [
  {
    method: 'GET',
    path: `/v1/transactions/${'ab'.repeat(32)}`,
    scope: 'node',
    price: 10,
    wrong: [
      { path: '/v1/transactions/abc', param: 'tx_id' },
      { path: `/v1/transactions/${'zz'.repeat(32)}`, param: 'tx_id' },
    ],
  },
  ...(['transactions', 'activity'] as const).map(
    (name): Path => ({
      method: 'GET',
      path: `/v1/addresses/${ADDRESS}/${name}`,
      scope: 'node',
      price: name === 'activity' ? 20 : 10,
      wrong: [
        { path: `/v1/addresses/${mainnet}/${name}`, param: 'address' },
        { path: `/v1/addresses/${ADDRESS.slice(0, -1)}/${name}`, param: 'address' },
        { path: `/v1/addresses/${ADDRESS}/${name}?limit=0`, param: 'limit' },
        { path: `/v1/addresses/${ADDRESS}/${name}?nothing=1`, param: 'nothing' },
      ],
    }),
  ),
  {
    method: 'GET',
    path: '/v1/webhooks',
    scope: 'webhooks',
    price: 0,
    wrong: [{ path: '/v1/webhooks?x=1', param: 'x' }],
  },
  {
    method: 'POST',
    path: '/v1/webhooks',
    scope: 'webhooks',
    price: 10,
    body: { url: 'https://example.com/', kinds: ['block_added'] },
    wrong: [
      { body: { url: 'https://10.0.0.1/', kinds: ['block_added'] }, param: 'url' },
      { body: { url: 'https://example.com/', kinds: [] }, param: 'kinds' },
    ],
  },
  { method: 'DELETE', path: HOOK, scope: 'webhooks', price: 0, wrong: [noHook] },
  {
    method: 'PATCH',
    path: HOOK,
    scope: 'webhooks',
    price: 0,
    body: { active: true },
    wrong: [{ ...noHook, body: { active: true } }],
  },
  {
    method: 'GET',
    path: `${HOOK}/deliveries`,
    scope: 'webhooks',
    price: 0,
    wrong: [
      { path: '/v1/webhooks/nonsense/deliveries', param: 'id' },
      { path: `${HOOK}/deliveries?limit=201`, param: 'limit' },
      { path: `${HOOK}/deliveries?cursor=!`, param: 'cursor' },
    ],
  },
  ...(['test', 'rotate'] as const).map(
    (name): Path => ({
      method: 'POST',
      path: `${HOOK}/${name}`,
      scope: 'webhooks',
      price: 0,
      wrong: [{ path: `/v1/webhooks/nonsense/${name}`, param: 'id' }],
    }),
  ),
  {
    method: 'POST',
    path: `${HOOK}/replay`,
    scope: 'webhooks',
    price: 0,
    body: { after_seq: 0 },
    wrong: [{ path: '/v1/webhooks/nonsense/replay', body: { after_seq: 0 }, param: 'id' }],
  },
]

let service: TestService
let expired: string
before(async () => {
  service = await startTestService({
    env: { TAPELINE_TRUSTED_PROXIES: '127.0.0.1' },
    plans: [WIDE_PLAN, { ...WIDE_PLAN, name: 'slow', requestsPerSecond: 1, requestsPerMinute: 60 }],
  })
  const accountId = await service.account()
  expired = await service.key({ accountId, expiresAtMs: Date.now() + 500 })
  await new Promise((resolve) => setTimeout(resolve, 500))
})
after(() => service.stop())

let sent = 0

interface Reply {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

async function send(method: string, path: string, key: string, body?: unknown, headers = {}): Promise<Reply> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(key === '' ? {} : { 'X-API-Key': key }),
      // Many failures from one address would be answered ever more slowly.
      'X-Forwarded-For': `198.51.100.${1 + (++sent % 250)}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) }
}

/** An error has its code, a sentence and the request's id, and costs nothing. */
function refused(reply: Reply, status: number, error: string, reason?: string): void {
  assert.equal(reply.status, status, JSON.stringify(reply.body))
  assert.equal(reply.body.error, error)
  if (reason !== undefined) assert.equal(reply.body.reason, reason)
  assert.ok(String(reply.body.message).length > 10)
  assert.equal(reply.body.request_id, reply.headers.get('x-request-id'))
  assert.ok(['0', null].includes(reply.headers.get('x-credits-charged')))
}

for (const { method, path, scope, price, body, wrong } of PATHS) {
  const name = `${method} ${path.replace(ADDRESS, '{address}').replace(HOOK, '/v1/webhooks/{id}').slice(0, 60)}`
  const as = async (wish: KeyWish) => send(method, path, await service.key(wish), body)

  test(`${name}: 401 for a missing, malformed, unknown, revoked and expired key`, async () => {
    refused(await send(method, path, '', body), 401, 'unauthorized', 'missing')
    refused(await send(method, path, 'svc_test_x', body), 401, 'unauthorized', 'malformed')
    refused(await send(method, path, formatKey('test', randomBytes), body), 401, 'unauthorized', 'unknown')
    refused(await send(method, path, expired, body), 401, 'unauthorized', 'expired')
    const owner = await service.account()
    const gone = await service.key({ accountId: owner })
    for (const { id } of await service.parts.accounts.listKeys(owner)) {
      await service.parts.accounts.revokeKey(id)
    }
    refused(await send(method, path, gone, body), 401, 'unauthorized', 'revoked')
  })

  test(`${name}: 403 for the plan, the scope and the network address; 402 without credits`, async () => {
    const free = await as({ plan: 'free' })
    refused(free, 403, 'tier_restricted')
    assert.equal(free.body.required_tier, 'pro')
    const otherScope = scope === 'node' ? 'webhooks' : 'node'
    refused(await as({ scopes: [otherScope] }), 403, 'tier_restricted', 'scope')
    refused(await as({ allowedCidrs: ['203.0.113.0/24'] }), 403, 'tier_restricted', 'ip_not_allowed')
    const paused = await service.account()
    const key = await service.key({ accountId: paused })
    await service.parts.accounts.pause(paused, 'operator')
    refused(await send(method, path, key, body), 403, 'tier_restricted', 'key_paused')
    const poor = await as({ credits: 0 })
    if (price > 0) refused(poor, 402, 'credits_exhausted')
    else assert.notEqual(poor.status, 402)
  })

  test(`${name}: 405 with what is allowed, 422 with the parameter, 415 and 413 for a body`, async () => {
    const key = await service.key()
    const put = await send('PUT', path, key, {})
    refused(put, 405, 'method_not_allowed')
    assert.ok(put.headers.get('allow')?.split(', ').includes(method))
    for (const fault of wrong) {
      const reply = await send(method, fault.path ?? path, key, fault.body ?? body)
      refused(reply, 422, 'invalid_param')
      assert.equal(reply.body.param, fault.param, JSON.stringify(reply.body))
    }
    if (body === undefined) return
    refused(await send(method, path, key, '{', {}), 422, 'invalid_param')
    refused(
      await send(method, path, key, '{}', { 'Content-Type': 'text/plain' }),
      415,
      'unsupported_media_type',
    )
    refused(await send(method, path, key, ' '.repeat(1_048_577)), 413, 'payload_too_large')
  })

  test(`${name}: 429 with the time to wait, 503 where the key's environment is not running`, async () => {
    const slow = await service.key({ plan: 'slow' })
    const replies = await Promise.all([1, 2].map(() => send(method, path, slow, body)))
    const limited = replies.find(({ status }) => status === 429) ?? replies[0]
    assert.ok(limited)
    refused(limited, 429, 'rate_limited')
    assert.equal(limited.headers.get('retry-after'), String(limited.body.retry_after))
    assert.ok(Number(limited.body.retry_after) >= 1)
    assert.equal(limited.headers.get('x-ratelimit-remaining'), '0')
    refused(await as({ environment: 'live' }), 503, 'environment_unavailable')
  })
}

test('404 for a webhook that is not there, on every path that names one', async () => {
  const key = await service.key()
  for (const { method, path, body } of PATHS) {
    if (path.startsWith(HOOK)) refused(await send(method, path, key, body), 404, 'not_found')
  }
  refused(await send('GET', '/v1/webhooks/', key), 404, 'not_found')
})

test('409 while the same idempotency key is in progress, 422 with another body', async (t) => {
  const open = await startTestService({ env: { TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' } })
  t.after(() => open.stop())
  const receiver: Receiver = await startReceiver(hang)
  t.after(() => receiver.close())
  const headers = { 'X-API-Key': await open.key(), 'Content-Type': 'application/json' }
  const post = (path: string, key: string, body: string) =>
    fetch(`${open.url}${path}`, { method: 'POST', headers: { ...headers, 'Idempotency-Key': key }, body })
  const wish = JSON.stringify({ url: receiver.url, kinds: ['block_added'] })
  const { id } = (await (await post('/v1/webhooks', 'one', wish)).json()) as { id: string }
  assert.equal((await post('/v1/webhooks', 'one', wish.replace('block_added', 'mempool_entry'))).status, 422)
  const path = `/v1/webhooks/${id}/test`
  const first = post(path, 'two', '{}')
  while (receiver.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  const second = await post(path, 'two', '{}')
  assert.equal(second.status, 409)
  assert.equal(((await second.json()) as { error: string }).error, 'idempotency_conflict')
  await receiver.close()
  assert.equal(((await (await first).json()) as { delivered: boolean }).delivered, false)
})

test('502 when the node gives no usable answer, 504 when it gives none, 503 when it is gone; none of it costs', async (t) => {
  const node = await startFakeNode({ networkId: 'testnet-10' })
  t.after(() => node.close())
  const chain = await startTestService({
    env: { TAPELINE_TEST: 'off', TAPELINE_NODES: node.url, TAPELINE_NETWORK: 'testnet-10' },
  })
  t.after(() => chain.stop())
  const key = await chain.key({ environment: 'live' })
  const ask = async (path: string) => {
    const response = await fetch(`${chain.url}${path}`, { headers: { 'X-API-Key': key } })
    return { status: response.status, headers: response.headers, body: await response.json() } as Reply
  }
  const calls = [
    { path: `/v1/transactions/${'ab'.repeat(32)}`, method: 'getMempoolEntry' },
    { path: `/v1/addresses/${ADDRESS}/activity`, method: 'getMempoolEntriesByAddresses' },
  ]
  const isUp = async () =>
    ((await ask('/v1/status')).body.nodes as { synced: boolean }[]).every(({ synced }) => synced)
  await until('the node', isUp, 20_000)
  // The scripted node answers `{}` to whatever it is not told about.
  for (const { path } of calls) refused(await ask(path), 502, 'upstream_error', 'malformed_answer')
  for (const { path, method } of calls) {
    node.respond.set(method, () => ({ error: 'a fault that nobody has seen' }))
    refused(await ask(path), 502, 'upstream_error')
    node.respond.set(method, () => undefined)
  }
  // Calls that may be large are given a minute.
  const silentCalls = process.env.TAPELINE_SOAK === undefined ? calls.slice(0, 1) : calls
  for (const silent of await Promise.all(silentCalls.map(({ path }) => ask(path)))) {
    refused(silent, 504, 'upstream_timeout')
  }
  await node.die()
  for (const { path } of calls) {
    await until('503', async () => (await ask(path)).status === 503, 20_000)
    refused(await ask(path), 503, 'upstream_unavailable')
  }
})

test('an address with thousands of waiting transactions does not hold up the service', async (t) => {
  const node = await startFakeNode({ networkId: 'testnet-10' })
  t.after(() => node.close())
  const chain = await startTestService({
    env: { TAPELINE_TEST: 'off', TAPELINE_NODES: node.url, TAPELINE_NETWORK: 'testnet-10' },
  })
  t.after(() => chain.stop())
  const key = await chain.key({ environment: 'live' })
  const ask = (path: string) => fetch(`${chain.url}${path}`, { headers: { 'X-API-Key': key } })
  const input = {
    previousOutpoint: { transactionId: 'ab'.repeat(32), index: 0 },
    signatureScript: '00'.repeat(66),
    sequence: 0,
    sigOpCount: 1,
  }
  const waiting = Array.from({ length: 6_000 }, (_, lockTime) => ({
    fee: 1,
    isOrphan: false,
    transaction: {
      version: 0,
      inputs: [input, input],
      outputs: [{ value: 1, scriptPublicKey: `000020${'7b'.repeat(32)}ac` }],
      lockTime,
      subnetworkId: '00'.repeat(20),
      gas: 0,
      payload: '',
      mass: 0,
    },
  }))
  const entries = [{ address: ADDRESS, sending: waiting.slice(0, 3_000), receiving: waiting.slice(2_990) }]
  const text = JSON.stringify({ entries })
  node.respond.set('getMempoolEntriesByAddresses', () => text)
  node.respond.set('getUtxosByAddresses', () => '{"entries":[]}')
  await until('an answer', async () => (await ask(`/v1/addresses/${ADDRESS}/activity`)).ok, 20_000)
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const answer = await ask(`/v1/addresses/${ADDRESS}/activity?limit=5`)
  delay.disable()
  const { items } = (await answer.json()) as { items: { kind: string; tx_id: string }[] }
  assert.deepEqual([items.length, new Set(items.map(({ tx_id }) => tx_id)).size], [5, 5])
  assert.ok(items.every(({ kind }) => kind === 'mempool'))
  assert.equal(answer.headers.get('x-credits-charged'), '25')
  assert.ok(delay.max / 1e6 < 250, `the loop was held for ${delay.max / 1e6} ms`)
})
