/** Must hold: every status code of the address, transaction and webhook paths, over a real socket. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { ENDPOINTS } from '../../src/api/endpoints/list.ts'
import { openapiDocument } from '../../src/api/publish/openapi.ts'
import { readTransaction } from '../../src/core/chain/transaction-json.ts'
import { formatKey } from '../../src/core/key-format.ts'
import { transactionId } from '../../src/parser/transaction-id.ts'
import { hash, writeNext } from '../../src/store/conformance/chain-engine.ts'
import { openDatabase } from '../../src/store/sqlite/open.ts'
import { testAddress } from '../fakes/event-writer.ts'
import type { KeyRequest } from '../fakes/keys.ts'
import { watchTurns } from '../fakes/loop-hold.ts'
import { hang, type Receiver, startReceiver } from '../fakes/receiver.ts'
import { startTestService, type TestService, WIDE_PLAN } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { startFakeNode } from '../fakes/wrpc-node.ts'
import { promisedMs } from '../promised-ms.ts'
import { until } from '../until.ts'

interface Path {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  scope: 'node' | 'webhooks'
  /** The price of the cheapest answer. */
  price: number
  body?: unknown
  /** The same call with a fault in it. */
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
    plans: [WIDE_PLAN, { ...WIDE_PLAN, name: 'slow', requestsPerSecond: 1, requestsPerMinute: 1 }],
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
      // Many failures from one address would be answered with growing delays.
      'X-Forwarded-For': `198.51.100.${1 + (++sent % 250)}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  note(method, path, response.status)
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) }
}

/** Which statuses each path of the node group has shown. */
const shown = new Map<string, Set<number>>()

function note(method: string, path: string, status: number): void {
  const [plain = ''] = path.split('?')
  const name = plain
    .replace(/^(.v1.transactions.)[^/]+$/, '$1{tx_id}')
    .replace(/^(.v1.addresses.)[^/]+(.*)$/, '$1{address}$2')
  if (method !== 'GET') return
  shown.set(name, (shown.get(name) ?? new Set()).add(status))
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
  const as = async (wanted: KeyRequest) => send(method, path, await service.key(wanted), body)

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

test('404 for a webhook that is not there, on every path that names one; an empty id is refused', async () => {
  const key = await service.key()
  for (const { method, path, body } of PATHS) {
    if (path.startsWith(HOOK)) refused(await send(method, path, key, body), 404, 'not_found')
  }
  refused(await send('GET', '/v1/webhooks/', key), 422, 'invalid_param')
})

test('409 while the same idempotency key is in progress, 422 with another body', async (t) => {
  const open = await startTestService({ env: { TAPELINE_ALLOW_PRIVATE_WEBHOOKS: 'on' } })
  t.after(() => open.stop())
  const receiver: Receiver = await startReceiver(hang)
  t.after(() => receiver.close())
  const headers = { 'X-API-Key': await open.key(), 'Content-Type': 'application/json' }
  const post = (path: string, key: string, body: string) =>
    fetch(`${open.url}${path}`, { method: 'POST', headers: { ...headers, 'Idempotency-Key': key }, body })
  const hook = JSON.stringify({ url: receiver.url, kinds: ['block_added'] })
  const { id } = (await (await post('/v1/webhooks', 'one', hook)).json()) as { id: string }
  assert.equal((await post('/v1/webhooks', 'one', hook.replace('block_added', 'mempool_entry'))).status, 422)
  const path = `/v1/webhooks/${id}/test`
  const first = post(path, 'two', '{}')
  while (receiver.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  const second = await post(path, 'two', '{}')
  assert.equal(second.status, 409)
  assert.equal(((await second.json()) as { error: string }).error, 'idempotency_conflict')
  await receiver.close()
  assert.equal(((await (await first).json()) as { delivered: boolean }).delivered, false)
})

/** A live environment in front of a scripted node. */
async function startLive(t: TestContext, env: Record<string, string> = {}) {
  const node = await startFakeNode({ networkId: 'testnet-10' })
  t.after(() => node.close())
  const chain = await startTestService({
    env: { TAPELINE_TEST: 'off', TAPELINE_NODES: node.url, TAPELINE_NETWORK: 'testnet-10', ...env },
  })
  t.after(() => chain.stop())
  const key = await chain.key({ environment: 'live' })
  const ask = async (path: string, as = key): Promise<Reply> => {
    const response = await fetch(`${chain.url}${path}`, { headers: { 'X-API-Key': as } })
    note('GET', path, response.status)
    return { status: response.status, headers: response.headers, body: await response.json() } as Reply
  }
  const isUp = async () =>
    ((await ask('/v1/status')).body.nodes as { synced: boolean }[]).every(({ synced }) => synced)
  await until('the node', isUp)
  return { node, chain, ask }
}

const HISTORY = `/v1/addresses/${ADDRESS}/transactions`
const ACTIVITY = `/v1/addresses/${ADDRESS}/activity`

const WAITING = {
  version: 0,
  inputs: [
    {
      previousOutpoint: { transactionId: 'ab'.repeat(32), index: 0 },
      signatureScript: '00'.repeat(66),
      sequence: 0,
      sigOpCount: 1,
    },
  ],
  outputs: [{ value: 1, scriptPublicKey: `000020${'7b'.repeat(32)}ac` }],
  lockTime: 0,
  subnetworkId: '00'.repeat(20),
  gas: 0,
  payload: '',
  mass: 0,
}
const waiting = readTransaction(WAITING)
assert.ok(waiting.ok)
const WAITING_ID = transactionId(waiting.transaction)
const LOOKUP = `/v1/transactions/${WAITING_ID}`

test('502 when the node gives no usable answer, 504 when it gives none, 503 when it is gone; none of it costs', async (t) => {
  const { node, ask } = await startLive(t, { TAPELINE_NODE_WAIT_SECONDS: '2' })
  const calls = [
    { path: LOOKUP, method: 'getMempoolEntry' },
    { path: ACTIVITY, method: 'getMempoolEntriesByAddresses' },
    { path: ACTIVITY, method: 'getUtxosByAddresses' },
  ]
  const good = () => {
    node.respond.set('getMempoolEntriesByAddresses', () => '{"entries":[]}')
    node.respond.set('getUtxosByAddresses', () => '{"entries":[]}')
  }
  // The scripted node answers `{}` to every call that is not scripted.
  for (const path of [LOOKUP, ACTIVITY]) refused(await ask(path), 502, 'upstream_error', 'malformed_answer')
  for (const { path, method } of calls) {
    good()
    node.respond.set(method, () => ({ error: 'a fault that nobody has seen' }))
    refused(await ask(path), 502, 'upstream_error')
    node.respond.set(method, () => undefined)
    const beganMs = performance.now()
    refused(await ask(path), 504, 'upstream_timeout')
    const tookMs = performance.now() - beganMs
    assert.ok(tookMs > 1_900 && tookMs < promisedMs(6_000), `${method} was given up after ${tookMs} ms`)
  }
  good()
  await node.die()
  for (const path of [LOOKUP, ACTIVITY]) {
    await until('503', async () => (await ask(path)).status === 503)
    refused(await ask(path), 503, 'upstream_unavailable')
  }
  assert.equal((await ask(HISTORY)).status, 200, 'the index needs no node')
})

test('the price is exact: index 10, mempool 15, history 10 + 1 a row, activity 20 + 1 a row; 402 below it', async (t) => {
  const { node, chain, ask } = await startLive(t)
  const left = async (as: string) => {
    const { body } = await ask('/v1/limits', as)
    return (body.credits as { remaining: number }).remaining
  }
  const pays = async (path: string, credits: number, price: number) => {
    const key = await chain.key({ environment: 'live', credits })
    const preview = await ask(`${path}${path.includes('?') ? '&' : '?'}dry_run=true`, key)
    assert.equal(preview.body.credits, price, `preview of ${path}`)
    const reply = await ask(path, key)
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    assert.equal(reply.headers.get('x-credits-charged'), String(price))
    assert.equal(reply.headers.get('x-credits-used'), String(price))
    assert.equal(reply.body.credits_used, price)
    assert.equal(reply.headers.get('x-credits-remaining'), String(credits - price))
    assert.equal(await left(key), credits - price)
    return reply.body
  }
  const refuses = async (path: string, credits: number) => {
    const key = await chain.key({ environment: 'live', credits })
    refused(await ask(path, key), 402, 'credits_exhausted')
    assert.equal(await left(key), credits)
  }

  node.respond.set('getMempoolEntry', () => ({ error: `Transaction ${WAITING_ID} not found` }))
  node.respond.set('getSinkBlueScore', () => '{"blueScore":0}')
  refused(await ask(LOOKUP), 404, 'transaction_not_found')
  const entry = JSON.stringify({ mempoolEntry: { fee: 7, is_orphan: false, transaction: WAITING } })
  for (const unfit of [entry.replace('"lockTime":0', '"lockTime":1'), entry.replace('"fee":7,', '')]) {
    node.respond.set('getMempoolEntry', () => unfit)
    refused(await ask(LOOKUP), 502, 'upstream_error', 'malformed_answer')
  }
  node.respond.set('getMempoolEntry', () => entry)
  const pending = await pays(LOOKUP, 15, 15)
  assert.deepEqual([pending.source, pending.status, pending.fee_sompi], ['mempool', 'pending', 7])
  node.respond.set('getMempoolEntry', () =>
    entry.replace('"fee":7,"is_orphan":false', '"fee":0,"is_orphan":true'),
  )
  assert.equal((await pays(LOOKUP, 15, 15)).fee_sompi, null, 'the node does not know the fee of an orphan')
  await refuses(LOOKUP, 14)

  const database = storesIn(chain.folder).chain('live')
  t.after(() => database.close())
  const block = (n: number) => ({ hash: hash(n), blueScore: n, daaScore: n, timeMs: n * 1_000 })
  const effect = { received: 5n, sent: 0n, direction: 'receive', amount: 5n, counterparty: null } as const
  const transactions = [0xab, 2, 3].map((n) => ({
    txId: n === 0xab ? WAITING_ID : hash(n),
    parsed: `{"tx_id":"${hash(n)}","inputs":[],"outputs":[],"tags":[]}`,
    fee: 1n,
    effects: [{ address: ADDRESS, event: null, ...effect }],
    blockHash: hash(2),
    blockTimeMs: 2_000,
  }))
  await writeNext(database.chain, { atMs: 1, start: block(1), added: [{ ...block(2), transactions }] })
  const indexed = await pays(LOOKUP, 10, 10)
  assert.deepEqual([indexed.source, indexed.status], ['index', 'confirmed'])
  await refuses(LOOKUP, 9)
  assert.equal(((await pays(HISTORY, 100, 13)).items as unknown[]).length, 3)
  assert.equal(((await pays(`${HISTORY}?limit=2`, 12, 12)).items as unknown[]).length, 2)
  await refuses(HISTORY, 10)

  const amounts = [10, 20].map((amount, index) => ({
    outpoint: { transactionId: hash(index), index },
    utxoEntry: { amount, scriptPublicKey: '0000aa', blockDaaScore: index, isCoinbase: false },
  }))
  const both = { sending: [{ transaction: WAITING }], receiving: [{ transaction: WAITING }] }
  node.respond.set('getUtxosByAddresses', () => JSON.stringify({ entries: amounts }))
  node.respond.set('getMempoolEntriesByAddresses', () =>
    JSON.stringify({ entries: [{ address: ADDRESS, ...both }] }),
  )
  const { items } = await pays(ACTIVITY, 100, 23)
  assert.deepEqual(
    (items as { kind: string; amount: number | null }[]).map(({ kind, amount }) => [kind, amount]),
    [
      ['mempool', null],
      ['utxo', 20],
      ['utxo', 10],
    ],
  )
  await pays(`${ACTIVITY}?limit=1`, 21, 21)
  await refuses(ACTIVITY, 20)
})

test('500 tells nothing of what went wrong inside, and costs nothing', async (t) => {
  const { node, chain, ask } = await startLive(t)
  node.respond.set('getMempoolEntry', () => ({ error: `Transaction ${WAITING_ID} not found` }))
  assert.equal((await ask(HISTORY)).status, 200)
  const file = openDatabase({ file: join(chain.folder, 'live-chain.db') })
  t.after(() => file.close())
  file.exec('ALTER TABLE transactions RENAME TO transactions_gone; ALTER TABLE addresses RENAME TO gone')
  for (const path of [LOOKUP, HISTORY]) {
    const reply = await ask(path)
    refused(reply, 500, 'internal_error')
    assert.doesNotMatch(JSON.stringify(reply.body), /table|sqlite|transactions_gone|prepare|src/i)
  }
})

test('an address with thousands of waiting transactions does not hold up the service', async (t) => {
  const { node, chain } = await startLive(t)
  const key = await chain.key({ environment: 'live' })
  const ask = (path: string) => fetch(`${chain.url}${path}`, { headers: { 'X-API-Key': key } })
  const waiting = Array.from({ length: 6_000 }, (_, lockTime) => ({
    fee: 1,
    isOrphan: false,
    transaction: { ...WAITING, inputs: [...WAITING.inputs, ...WAITING.inputs], lockTime },
  }))
  const entries = [{ address: ADDRESS, sending: waiting.slice(0, 3_000), receiving: waiting.slice(2_990) }]
  const text = JSON.stringify({ entries })
  node.respond.set('getMempoolEntriesByAddresses', () => text)
  node.respond.set('getUtxosByAddresses', () => '{"entries":[]}')
  await until('an answer', async () => (await ask(`/v1/addresses/${ADDRESS}/activity`)).ok)
  // Processor time, so that the load of other programs does not count.
  const stop = watchTurns()
  const answer = await ask(`/v1/addresses/${ADDRESS}/activity?limit=5`)
  const holdMs = stop()
  const { items } = (await answer.json()) as { items: { kind: string; tx_id: string }[] }
  assert.deepEqual([items.length, new Set(items.map(({ tx_id }) => tx_id)).size], [5, 5])
  assert.ok(items.every(({ kind }) => kind === 'mempool'))
  assert.equal(answer.headers.get('x-credits-charged'), '25')
  assert.ok(holdMs < 250, `the loop was held for ${holdMs} ms`)
})

test('a caller who has the page of an address already gets 304 and pays nothing', async (t) => {
  const { node, chain } = await startLive(t)
  node.respond.set('getMempoolEntriesByAddresses', () => '{"entries":[]}')
  node.respond.set('getUtxosByAddresses', () => '{"entries":[]}')
  const headers = { 'X-API-Key': await chain.key({ environment: 'live' }), 'If-None-Match': '*' }
  for (const tail of ['transactions', 'activity']) {
    const path = `/v1/addresses/${ADDRESS}/${tail}`
    const response = await fetch(`${chain.url}${path}`, { headers })
    note('GET', path, response.status)
    assert.deepEqual([response.status, response.headers.get('x-credits-charged')], [304, '0'], path)
  }
})

test('every status that the contract names for these paths was seen above', () => {
  const { paths } = openapiDocument(ENDPOINTS) as {
    paths: Record<string, { get?: { responses: Record<string, unknown> } }>
  }
  for (const path of [
    '/v1/transactions/{tx_id}',
    '/v1/addresses/{address}/transactions',
    '/v1/addresses/{address}/activity',
  ]) {
    const declared = Object.keys(paths[path]?.get?.responses ?? {}).map(Number)
    assert.ok(declared.length >= 8, `${path}: ${declared}`)
    const missing = declared.filter((status) => !shown.get(path)?.has(status))
    // Internal failures are answered alike on every path; this path reads nothing that a test could break.
    assert.deepEqual(missing, path.endsWith('activity') ? [500] : [], path)
    const undeclared = [...(shown.get(path) ?? [])].filter((status) => !declared.includes(status))
    assert.deepEqual(undeclared, [], path)
  }
})
