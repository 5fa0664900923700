import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchTurns } from '../../test/fakes/loop-hold.ts'
import { poolOver } from '../../test/fakes/pool.ts'
import { startFakeNode } from '../../test/fakes/wrpc-node.ts'
import { promisedMs } from '../../test/promised-ms.ts'
import { until } from '../../test/until.ts'
import type { CallOptions } from './call-outcome.ts'
import { RPC_METHODS } from './methods.ts'

const HASH = 'ab'.repeat(32)
const MAX = 18446744073709551615n

test('18446744073709551615 survives in both directions', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  node.respond.set('getDaaScoreTimestampEstimate', (params) => {
    assert.equal(params, '{"daaScores":[18446744073709551615]}')
    return '{"timestamps":[18446744073709551615]}'
  })
  node.respond.set('getBlock', () => '{"block":{"header":{"nonce":18446744073709551615}}}')
  for (const score of [MAX, '18446744073709551615']) {
    const outcome = await pool.call('getDaaScoreTimestampEstimate', { daaScores: [score] })
    assert.ok(outcome.ok)
    assert.deepEqual(outcome.value, { timestamps: [MAX] })
  }
  const raw = await pool.callRaw('getBlock', { hash: HASH })
  assert.ok(raw.ok)
  assert.equal(raw.bytes.toString(), '{"block":{"header":{"nonce":18446744073709551615}}}')
  assert.deepEqual(node.violations, [])
})

test('a large answer is parsed in slices, and a larger one is refused unread', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  assert.ok(await pool.ready(30_000))
  const listOf = (bytes: number) => `{"mempoolEntry":[${'{},'.repeat(bytes / 3)}{}]}`
  const ask = async (bytes: number) => {
    const answer = listOf(bytes)
    node.respond.set('getMempoolEntry', () => answer)
    const stop = watchTurns()
    const outcome = await pool.call('getMempoolEntry', { transactionId: HASH })
    return { outcome, heldMs: stop() }
  }
  let heldMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < 4 && heldMs > 60; round++) {
    const { outcome, heldMs: ms } = await ask(2_000_000)
    assert.ok(outcome.ok)
    heldMs = ms
  }
  assert.ok(heldMs <= 60, `the loop was held for ${heldMs} ms`)
  const { outcome } = await ask(2_100_000)
  assert.ok(!outcome.ok && outcome.failure.kind === 'malformed_answer')
})

test('blocked, unknown and invalid calls touch no node', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  assert.ok(await pool.ready(30_000))
  for (const [method, params, kind] of [
    ['shutdown', {}, 'blocked_method'],
    ['notifyBlockAdded', {}, 'blocked_method'],
    ['subscribe', { BlockAdded: {} }, 'blocked_method'],
    ['nonsense', {}, 'unknown_method'],
    ['getBlock', { hash: 'x' }, 'invalid_params'],
  ] as const) {
    const outcome = await pool.callRaw(method, params)
    assert.ok(!outcome.ok && outcome.failure.kind === kind && outcome.attempts === 0, method)
  }
  const others = node.frames.filter((frame) => !frame.includes('"getServerInfo"'))
  assert.deepEqual(others, [])
})

test('every method of the table reaches the node in a form it can read', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  const address = 'kaspa:qpauqsvk7yf9unexwmxsnmg547mhyga37csh0kj53q6xxgl24ydxjsgzthw5j'
  const transaction = {
    version: 0,
    inputs: [],
    outputs: [],
    lockTime: 0,
    subnetworkId: '00'.repeat(20),
    gas: 0,
    payload: '',
    mass: 0,
  }
  const header = {
    version: 2,
    parentsByLevel: [],
    hashMerkleRoot: HASH,
    acceptedIdMerkleRoot: HASH,
    utxoCommitment: HASH,
    timestamp: 1,
    bits: 1,
    nonce: MAX,
    daaScore: 1,
    blueWork: '1',
    blueScore: 1,
    pruningPoint: HASH,
  }
  const values: Record<string, unknown> = {
    hash: HASH,
    blockHash: HASH,
    laneKey: HASH,
    startHash: HASH,
    txid: HASH,
    transactionId: HASH,
    address,
    payAddress: address,
    addresses: [address],
    acceptingBlockDaaScore: 1,
    daaScores: [1],
    subnetworkId: '00'.repeat(20),
    transaction,
    block: { header, transactions: [transaction] },
  }
  for (const { name, params } of RPC_METHODS.values()) {
    const required = (params as unknown as { required?: string[] }).required ?? []
    const outcome = await pool.callRaw(
      name,
      Object.fromEntries(required.map((member) => [member, values[member]])),
    )
    assert.ok(outcome.ok, `${name} ${JSON.stringify(outcome)}`)
    assert.ok(node.received(name) > 0, name)
  }
  assert.deepEqual(node.violations, [])
})

test('concurrent calls for cacheable data share one request to the node', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  assert.ok(await pool.ready(30_000))
  node.respond.set('getFeeEstimate', async () => {
    await new Promise((resolve) => setTimeout(resolve, 30))
    return '{"estimate":{}}'
  })
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => pool.callRaw('getFeeEstimate', {})))
  assert.ok(outcomes.every((outcome) => outcome.ok))
  assert.ok((await pool.callRaw('getFeeEstimate', undefined)).ok)
  assert.equal(node.received('getFeeEstimate'), 1)
  const early = await pool.callRaw('getCoinSupply', {}, { signal: AbortSignal.abort() })
  assert.ok(!early.ok && early.failure.kind === 'cancelled')
})

test('a call that names a node is answered by it, also where another one was just asked', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()]
  const { pool } = poolOver(t, nodes)
  await until('both healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  for (const [index, node] of nodes.entries())
    node.respond.set('getBlockDagInfo', () => `{"sink":"${index}"}`)
  const sinkFor = async (options: CallOptions) => {
    const outcome = await pool.callRaw('getBlockDagInfo', {}, options)
    assert.ok(outcome.ok)
    return outcome.bytes.toString()
  }
  for (let i = 0; i < 3; i++) {
    assert.equal(await sinkFor({ prefer: 'n1' }), '{"sink":"1"}')
    assert.equal(await sinkFor({ prefer: 'n0' }), '{"sink":"0"}')
    assert.equal(await sinkFor({ asConfigured: true }), '{"sink":"0"}')
    await sinkFor({})
  }
})

test('a backup is used only while no primary is healthy', async (t) => {
  const [primary, backup] = [await startFakeNode(), await startFakeNode()]
  const { pool } = poolOver(t, [primary, backup], {}, [1])
  await until('both healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  for (let i = 0; i < 20; i++) assert.ok((await pool.callRaw('getSink', {})).ok)
  assert.equal(backup.received('getSink'), 0)
  primary.state.isSynced = false
  await until('primary unsynced', () => pool.nodes()[0]?.state === 'unsynced')
  const outcome = await pool.callRaw('getSink', {})
  assert.ok(outcome.ok && outcome.node === 'n1')
  assert.match(JSON.stringify(pool.explain()), /last resort: unsynced/)
})

test('closing ends every open call and every connection', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node])
  assert.ok(await pool.ready(30_000))
  node.hang()
  const open = ['getSink', 'getBlocks', 'getFeeEstimate'].map((name) => pool.callRaw(name, {}))
  await new Promise((resolve) => setTimeout(resolve, 150))
  const startedMs = performance.now()
  await pool.close()
  for (const outcome of await Promise.all(open)) assert.ok(!outcome.ok)
  assert.ok(performance.now() - startedMs < promisedMs(2_500))
  await until('no connection left', () => node.connections === 0)
  const late = await pool.callRaw('getSink', {}, { deadlineMs: 300 })
  assert.ok(!late.ok)
})
