/** Transaction lookup and the address endpoints over a real socket, on nodes that simulate a busy chain. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningSandboxNode, startSandboxNode } from '../../sandbox/node/run.ts'
import { encodeAddress } from '../../src/core/chain/address.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type Answer, ask, assertError } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { until } from '../until.ts'

interface Item {
  tx_id: string
  direction: string
  amount_sompi: number
  asset: string
  status: string
  counterparty: string | null
  block_time: string | null
  event_kind: string
}

/** Deeper than any reorganisation of this chain, even several in a row. */
const SETTLED_BLOCKS = 40n

let node: RunningSandboxNode
let service: TestService
let key: string
let users: string[]

before(async () => {
  node = await startSandboxNode({
    seed: 21,
    transactionsPerSecond: 15,
    reorgsPerMinute: 20,
    coinbaseMaturity: 50,
  })
  service = await startTestService({ env: { TAPELINE_NODES: node.url, TAPELINE_NETWORK: 'testnet-10' } })
  key = await liveKey({})
  users = node.wallets().flatMap(({ name, address }) => (name === 'faucet' ? [] : address))
  await until('some history', async () => (await history(users[0] ?? '')).length >= 5)
})

after(async () => {
  await service.stop()
  await node.close()
})

const liveKey = (wish: { plan?: string; credits?: number }) => service.key({ environment: 'live', ...wish })
const get = (path: string, asked: Parameters<typeof ask>[1] = {}): Promise<Answer> =>
  ask(`${service.url}${path}`, { key, ...asked })
const credits = (answer: Answer) => Number(answer.headers.get('x-credits-charged'))

async function history(address: string, query = ''): Promise<Item[]> {
  const answer = await get(`/v1/addresses/${address}/transactions${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json.items as Item[]
}

/** At least six rows that no reorganisation can move any more, newest first. */
async function settledRows(address: string): Promise<Item[]> {
  let rows: Item[] = []
  await until('settled rows', async () => {
    const newest = node.truth.chain().at(-1)?.blueScore ?? 0n
    const settled = new Set(
      node.truth
        .address(address)
        .transactions.filter(({ acceptingBlueScore: score }) => score + SETTLED_BLOCKS < newest)
        .map(({ transactionId }) => transactionId),
    )
    rows = (await history(address, '?limit=200')).filter(
      ({ tx_id, status }) => status === 'confirmed' && settled.has(tx_id),
    )
    return rows.length >= 6
  })
  return rows
}

const NAMES = ['transactions', 'address_history'] as const
const PATHS = () => [
  `/v1/transactions/${'ab'.repeat(32)}`,
  `/v1/addresses/${users[0]}/transactions`,
  `/v1/addresses/${users[0]}/activity`,
]

test('without a key 401, on the free plan 403 with the tier that is needed, wrong method 405', async () => {
  const free = await liveKey({ plan: 'free' })
  for (const path of PATHS()) {
    assertError(await ask(`${service.url}${path}`), 401, 'unauthorized')
    const refused = assertError(await get(path, { key: free }), 403, 'tier_restricted')
    assert.equal(refused.required_tier, 'pro')
    assertError(await get(path, { method: 'DELETE' }), 405, 'method_not_allowed')
  }
  const limits = (await get('/v1/limits')).json as { features: Record<string, boolean> }
  for (const name of NAMES) assert.equal(limits.features[name], true)
  const atFree = (await get('/v1/limits', { key: free })).json as { features: Record<string, boolean> }
  for (const name of NAMES) assert.equal(atFree.features[name], false)
})

test('a wrong id or address is 422 with the reason, and costs nothing', async () => {
  const own = users[0] ?? ''
  const mistyped = `${own.slice(0, -1)}${own.endsWith('q') ? 'p' : 'q'}`
  const cases: [string, string, string][] = [
    ['/v1/transactions/xyz', 'tx_id', 'format'],
    [`/v1/transactions/${'a'.repeat(63)}`, 'tx_id', 'format'],
  ]
  for (const tail of ['transactions', 'activity']) {
    cases.push(
      [`/v1/addresses/${own.split(':')[1]}/${tail}`, 'address', 'prefix'],
      [`/v1/addresses/bitcoin:${own.split(':')[1]}/${tail}`, 'address', 'prefix'],
      [`/v1/addresses/${mistyped}/${tail}`, 'address', 'checksum'],
      [`/v1/addresses/${own.toUpperCase()}/${tail}`, 'address', 'prefix'],
      [`/v1/addresses/kaspatest:qqqq/${tail}`, 'address', 'length'],
      [
        `/v1/addresses/kaspa:qr0lr4ml9fn3chekrqmjdkergxl93l4wrk3dankcgvjq776s9wn9jkdskewva/${tail}`,
        'address',
        'network',
      ],
    )
  }
  for (const [path, param, reason] of cases) {
    const answer = await get(path)
    const body = assertError(answer, 422, 'invalid_param')
    assert.equal(body.param, param, path)
    assert.equal(body.reason, reason, `${path}: ${answer.text}`)
    assert.equal(credits(answer) || 0, 0)
  }
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limt=5', 'limt'],
    ['cursor=abc', 'cursor'],
  ]) {
    const body = assertError(await get(`/v1/addresses/${own}/transactions?${query}`), 422, 'invalid_param')
    assert.equal(body.param, param)
  }
})

test('history and activity are lists like every other: link, cursor, tag, coverage and three formats', async () => {
  const path = `/v1/addresses/${users[0]}/transactions`
  const first = await get(`${path}?limit=2`)
  assert.equal(first.status, 200, first.text)
  const { next_cursor: cursor, coverage } = first.json as {
    next_cursor: string
    coverage: { complete: boolean }
  }
  assert.equal(first.headers.get('x-next-cursor'), cursor)
  assert.equal(first.headers.get('link'), `<${path}?limit=2&cursor=${cursor}>; rel="next"`)
  assert.equal(first.headers.get('x-rows-returned'), '2')
  assert.equal(first.headers.get('x-rows-capped'), 'false')
  assert.equal(first.headers.get('x-coverage-complete'), String(coverage.complete))
  assert.equal(first.headers.get('x-clamped'), 'false')
  assert.match(first.headers.get('etag') ?? '', /^"[\w-]{32}"$/)
  // New rows may move to the next page when they are accepted.
  const settled = new Set((await settledRows(users[0] ?? '')).map((item) => item.tx_id))
  const idsOf = ({ json }: Answer) => (json.items as Item[]).map((item) => item.tx_id)
  const linked = ({ headers }: Answer) => get(/<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? '')
  let page = first
  while (!idsOf(page).every((txId) => settled.has(txId))) page = await linked(page)
  const both = [...idsOf(page), ...idsOf(await linked(page))]
  assert.equal(new Set(both).size, 4, 'the link leads to the next page')

  // The oldest rows do not move while the chain grows.
  const all = await history(users[0] ?? '', '?limit=200')
  const old = await get(`${path}?limit=200&cursor=${cursor}&format=ndjson`)
  assert.equal(old.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  const lines = old.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Item)
  assert.deepEqual(Object.keys(lines[0] ?? {}), Object.keys(all[0] ?? {}))
  assert.equal(old.headers.get('x-rows-returned'), String(lines.length))
  assert.equal(credits(old), 10 + lines.length)
  const again = await get(`${path}?limit=200&cursor=${cursor}&format=ndjson`, {
    headers: { 'If-None-Match': old.headers.get('etag') ?? '' },
  })
  const changed = again.status !== 304
  // A status in the page may have changed in between; then the bytes differ as well.
  if (changed) assert.notEqual(again.headers.get('etag'), old.headers.get('etag'))
  else assert.deepEqual([credits(again), again.text], [0, ''])
  const csv = await get(`${path}?limit=3`, { headers: { Accept: 'text/csv' } })
  const [head, ...rows] = csv.text.trimEnd().split('\r\n')
  assert.equal(head, 'tx_id,direction,amount_sompi,asset,status,counterparty,block_time,event_kind')
  assert.equal(rows.length, 3)
  assertError(await get(`${path}?format=xml`), 422, 'invalid_param')

  const activity = await get(`/v1/addresses/${users[0]}/activity?limit=1&format=ndjson`)
  assert.equal(activity.text.trimEnd().split('\n').length, 1)
  for (const name of ['etag', 'x-coverage-complete', 'x-clamped', 'x-rows-returned', 'x-rows-capped']) {
    assert.ok(activity.headers.has(name), name)
  }
})

test('a confirmed transaction comes from the index for 10 credits, with its acceptance', async () => {
  const item = (await settledRows(users[0] ?? '')).at(-1)
  assert.ok(item)
  const answer = await get(`/v1/transactions/${item.tx_id.toUpperCase()}`)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(credits(answer), 10)
  const body = answer.json as Record<string, unknown> & { parsed: Record<string, unknown> }
  assert.equal(body.tx_id, item.tx_id)
  assert.equal(body.source, 'index')
  assert.equal(body.credits_used, 10)
  assert.match(String(body.block_time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/)
  assert.equal(body.block_time, item.block_time)
  const truth = node.truth.transaction(item.tx_id)
  assert.equal(body.status === 'confirmed', truth !== undefined)
  assert.equal(body.accepting_block_hash, truth?.acceptingBlockHash ?? null)
  assert.ok(Number(body.confirmations) >= 0)
  assert.equal(body.parsed.tx_id, item.tx_id)
  assert.ok(Array.isArray(body.parsed.outputs) && Array.isArray(body.parsed.tags))
  const preview = await get(`/v1/transactions/${item.tx_id}?dry_run=true`)
  assert.equal(preview.json.credits, 10)
  assert.equal(credits(preview), 0)
})

test('an unknown transaction is 404 for nothing; one that only the mempool has costs 15', async () => {
  const unknown = await get(`/v1/transactions/${'ab'.repeat(32)}`)
  assertError(unknown, 404, 'transaction_not_found')
  assert.equal(credits(unknown) || 0, 0)
  await node.setDwell(1000)
  try {
    let seen = false
    for (let round = 0; round < 20 && !seen; round++) {
      const id = await node.pay(users[1] ?? '', 100_000_000n)
      assert.ok(id)
      const answer = await get(`/v1/transactions/${id}`)
      if (answer.status === 404) continue
      assert.equal(answer.status, 200, answer.text)
      const fromMempool = answer.json.source === 'mempool'
      assert.equal(credits(answer), fromMempool ? 15 : 10)
      assert.equal(answer.json.credits_used, fromMempool ? 15 : 10)
      assert.equal(answer.json.status, 'pending')
      assert.equal(answer.json.block_time, null)
      assert.equal(answer.json.confirmations, 0)
      seen ||= fromMempool
      if (fromMempool) {
        await until('the index', async () => (await get(`/v1/transactions/${id}`)).json.source === 'index')
        const [row] = await history(users[1] ?? '', '?limit=1')
        assert.equal(row?.event_kind, row?.status === 'confirmed' ? 'utxos_changed' : 'mempool_entry')
      }
    }
    assert.ok(seen, 'the fallback was used')
  } finally {
    await node.setDwell(8)
  }
})

test('too few credits are 402; what is left of them cuts the page', async () => {
  const address = users[0] ?? ''
  const poor = await liveKey({ credits: 9 })
  for (const path of PATHS()) assertError(await get(path, { key: poor }), 402, 'credits_exhausted')
  const some = await liveKey({ credits: 13 })
  const page = await get(`/v1/addresses/${address}/transactions?limit=5`, { key: some })
  assert.equal(page.status, 200, page.text)
  assert.equal((page.json.items as Item[]).length, 3)
  assert.equal(credits(page), 13)
  assert.equal(page.headers.get('x-rows-capped'), 'true')
  assert.equal(page.headers.get('x-credits-remaining'), '0')
})

test('rows agree with the node, cost 10 plus 1 each, and say since when they are complete', async () => {
  const address = users[2] ?? ''
  const answer = await get(`/v1/addresses/${address}/transactions?limit=7`)
  const items = answer.json.items as Item[]
  assert.equal(credits(answer), 10 + items.length)
  assert.equal(answer.json.credits_used, 10 + items.length)
  assert.equal(answer.headers.get('x-rows-returned'), String(items.length))
  assert.match(String(answer.json.coverage_from), /\+00:00$/)
  assert.equal(answer.json.address, address)
  const truth = new Map(node.truth.address(address).transactions.map((tx) => [tx.transactionId, tx]))
  for (const item of items) {
    assert.equal(item.asset, 'TKAS')
    assert.ok(['receive', 'send', 'self'].includes(item.direction))
    const found = truth.get(item.tx_id)
    if (item.status !== 'confirmed' || found === undefined) continue
    const net = found.received - found.sent
    assert.equal(BigInt(item.amount_sompi), net < 0n ? -net : net)
    if (item.direction !== 'self') assert.equal(item.direction, net < 0n ? 'send' : 'receive')
    assert.notEqual(item.counterparty, address)
  }
  const nobody = encodeAddress({ prefix: 'kaspatest', version: 0, payload: new Uint8Array(32).fill(7) })
  const empty = await get(`/v1/addresses/${nobody}/transactions`)
  assert.deepEqual([empty.json.items, empty.json.next_cursor, credits(empty)], [[], null, 10])
})

test('a walk of any page size gives every row once, in order, while rows arrive and statuses change', async () => {
  for (const [round, limit] of [1, 3, 7, 50].entries()) {
    const address = users[round] ?? ''
    const there = (await settledRows(address)).map((item) => item.tx_id)
    const walked: Item[] = []
    let cursor: string | null = null
    let spent = 0
    do {
      const query: string = cursor === null ? `?limit=${limit}` : `?limit=${limit}&cursor=${cursor}`
      const answer: Answer = await get(`/v1/addresses/${address}/transactions${query}`)
      assert.equal(answer.status, 200, answer.text)
      const items = answer.json.items as Item[]
      assert.ok(items.length <= limit)
      walked.push(...items)
      spent += credits(answer) - 10
      cursor = answer.json.next_cursor as string | null
      assert.equal(answer.headers.get('x-next-cursor'), cursor)
      if (limit === 1) await systemClock.sleep(30)
    } while (cursor !== null)
    assert.equal(spent, walked.length, 'each row is paid once')
    // A transaction accepted during the walk, or again after a reorganisation, also appears at its new place.
    const known = new Set(there)
    assert.deepEqual(
      walked.map((item) => item.tx_id).filter((txId) => known.has(txId)),
      there,
      'in order, none missing and none twice',
    )
  }
  const foreign = (await get(`/v1/addresses/${users[0]}/transactions?limit=1`)).json.next_cursor
  const other = await get(`/v1/addresses/${users[1]}/transactions?cursor=${foreign}`)
  assert.equal(assertError(other, 422, 'invalid_param').param, 'cursor')
})

test('activity shows mempool and unspent outputs for 20 plus 1 per row', async () => {
  const address = users[4] ?? ''
  await node.setDwell(1000)
  const id = await node.pay(address, 123_000_000n)
  const answer = await get(`/v1/addresses/${address}/activity?limit=200`)
  await node.setDwell(8)
  assert.equal(answer.status, 200, answer.text)
  const items = answer.json.items as { kind: string; tx_id: string; amount: number | null; parsed: unknown }[]
  assert.equal(credits(answer), 20 + items.length)
  assert.equal(answer.json.credits_used, 20 + items.length)
  const pending = items.find((item) => item.tx_id === id)
  assert.equal(pending?.kind, 'mempool')
  assert.equal(pending?.amount, null)
  assert.ok(pending?.parsed)
  const unspent = items.filter((item) => item.kind === 'utxo')
  assert.ok(unspent.length > 0)
  for (const item of unspent) {
    assert.equal(item.parsed, null)
    assert.ok(Number.isInteger(item.amount))
  }
  const short = await get(`/v1/addresses/${address}/activity?limit=1`)
  assert.equal((short.json.items as unknown[]).length, 1)
  assert.equal(credits(short), 21)
  assert.equal(short.headers.get('x-rows-capped'), 'false')
})

test('without nodes the index still answers; what needs a node is 503 for nothing', async () => {
  const address = users[0] ?? ''
  const [item] = await history(address, '?limit=1')
  await node.die()
  const indexed = await get(`/v1/transactions/${item?.tx_id}`)
  assert.equal(indexed.status, 200)
  assert.equal((await get(`/v1/addresses/${address}/transactions`)).status, 200)
  for (const path of [`/v1/transactions/${'cd'.repeat(32)}`, `/v1/addresses/${address}/activity`]) {
    await until('503', async () => (await get(path)).status === 503)
    const answer = await get(path)
    assertError(answer, 503, 'upstream_unavailable')
    assert.equal(credits(answer) || 0, 0)
  }
})
