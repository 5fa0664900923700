/** Faults over real sockets: reads succeed while one healthy node is left, and no call outlives its deadline. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { poolOver } from '../../test/fakes/pool.ts'
import { type FakeNode, startFakeNode } from '../../test/fakes/wrpc-node.ts'
import { until } from '../../test/until.ts'
import type { CallOutcome } from './call-outcome.ts'
import type { Upstreams } from './pool.ts'

const HASH = 'ab'.repeat(32)
const TX = {
  version: 0,
  inputs: [
    { previousOutpoint: { transactionId: HASH, index: 0 }, signatureScript: '', sequence: 0, sigOpCount: 1 },
  ],
  outputs: [{ value: 1, scriptPublicKey: '000020ac' }],
  lockTime: 0,
  subnetworkId: '00'.repeat(20),
  gas: 0,
  payload: '',
  mass: 0,
}
const submitTo = (pool: Upstreams, deadlineMs = 4_000) =>
  pool.callRaw('submitTransaction', { transaction: TX }, { deadlineMs })

async function three(t: TestContext) {
  const nodes = [await startFakeNode(), await startFakeNode(), await startFakeNode()] as const
  const { pool, troubles } = poolOver(t, nodes)
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  return { nodes, pool, troubles }
}

/** Light and heavy reads, concurrently and in sequence; all must succeed in time. */
async function readsSucceed(pool: Upstreams, rounds = 10): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    const outcomes = await Promise.all([
      pool.callRaw('getSink', {}, { deadlineMs: 9_000 }),
      pool.callRaw('getSinkBlueScore', {}, { deadlineMs: 9_000 }),
      pool.callRaw('getMempoolEntry', { transactionId: HASH }, { deadlineMs: 9_000 }),
      ...(i % 5 === 0 ? [pool.callRaw('getMempoolEntries', {}, { deadlineMs: 9_000 })] : []),
    ])
    for (const outcome of outcomes) assert.ok(outcome.ok, JSON.stringify(outcome))
  }
}
const kind = (outcome: CallOutcome) => (outcome.ok ? 'ok' : outcome.failure.kind)
const clean = (nodes: readonly FakeNode[]) =>
  assert.deepEqual(
    nodes.flatMap((node) => node.violations),
    [],
  )

test('dead at start: reads succeed on the others, and the node joins when it comes up', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()] as const
  await nodes[0].die()
  const { pool } = poolOver(t, nodes)
  assert.ok(await pool.ready(30_000))
  await readsSucceed(pool)
  await nodes[0].revive()
  await until('the dead node joined', () => pool.nodes()[0]?.state === 'healthy')
  clean(nodes)
})

test('dies in flight: the calls on it are answered by another node', async (t) => {
  const { nodes, pool } = await three(t)
  for (const node of nodes) node.delayMs = 40
  const calls = Array.from({ length: 60 }, () => pool.callRaw('getSink', {}, { deadlineMs: 9_000 }))
  await new Promise((resolve) => setTimeout(resolve, 20))
  await nodes[0].die()
  await nodes[1].die()
  for (const outcome of await Promise.all(calls)) assert.equal(kind(outcome), 'ok', JSON.stringify(outcome))
  for (const node of nodes) node.delayMs = 0
  await readsSucceed(pool)
})

test('hangs: a hedge answers, the node is moved to the end, and returns when it recovers', async (t) => {
  const { nodes, pool } = await three(t)
  await readsSucceed(pool, 30)
  nodes[0].hang()
  nodes[1].hang()
  const startedMs = performance.now()
  await readsSucceed(pool)
  assert.ok(performance.now() - startedMs < 20_000)
  await until('both marked down', () => pool.nodes().filter(({ state }) => state === 'down').length === 2)
  const outcome = await pool.callRaw('getSink', {}, { deadlineMs: 4_000 })
  assert.ok(outcome.ok && outcome.node === 'n2' && outcome.attempts === 1)
  nodes[0].resume()
  nodes[1].resume()
  await until('all back', () => pool.nodes().every(({ state }) => state === 'healthy'))
})

test('hangs on one method only: lost races and overdue writes open the breaker', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()] as const
  const { pool } = poolOver(t, nodes, { breaker: { failures: 4, openMs: 30_000, maxOpenMs: 30_000 } })
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  const breakerOf = (name: string) => pool.nodes().find((node) => node.name === name)?.breaker
  nodes[0].respond.set('getSink', () => undefined)
  const reads = Array.from({ length: 5 }, () =>
    pool.callRaw('getSink', {}, { deadlineMs: 9_000, prefer: 'n0' }),
  )
  for (const outcome of await Promise.all(reads)) assert.ok(outcome.ok && outcome.node === 'n1')
  assert.ok(nodes[0].received('getSink') > 0, 'the hanging node was asked')
  await until('hung reads open the breaker', () => breakerOf('n0') === 'open')
})

test('hangs on heavy calls only: lost races open a breaker that light calls do not close', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()] as const
  const { pool } = poolOver(t, nodes, { breaker: { failures: 3, openMs: 30_000, maxOpenMs: 30_000 } })
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  nodes[0].respond.set('getBlocks', () => undefined)
  const heavy = () => pool.callRaw('getBlocks', {}, { deadlineMs: 9_000, prefer: 'n0' })
  const light = async () => {
    const outcome = await pool.callRaw('getSink', {}, { deadlineMs: 9_000, prefer: 'n0' })
    assert.ok(outcome.ok)
    return outcome.node
  }
  const reads = Array.from({ length: 3 }, heavy)
  const lights = setInterval(light, 100)
  t.after(() => clearInterval(lights))
  for (const outcome of await Promise.all(reads)) assert.ok(outcome.ok && outcome.node === 'n1')
  clearInterval(lights)
  assert.equal(await light(), 'n0')
  await until('the breaker is open', () => pool.nodes()[0]?.breaker === 'open')
  const next = await heavy()
  assert.ok(next.ok && next.node === 'n1' && next.attempts === 1, 'it is asked last')
})

test('waiting for our own heavy calls is no failure of the node, and heavy calls of the index hide none', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()] as const
  const { pool } = poolOver(t, nodes, { breaker: { failures: 2, openMs: 30_000, maxOpenMs: 30_000 } })
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  const heavy = () => pool.callRaw('getBlocks', {}, { deadlineMs: 9_000, prefer: 'n0' })
  nodes[0].respond.set('getBlocks', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    return '{}'
  })
  // There is only one socket, so the last calls are still unsent when the other node is asked.
  const busy = await Promise.all(Array.from({ length: 6 }, heavy))
  assert.deepEqual([...new Set(busy.map((outcome) => outcome.ok && outcome.node))].sort(), ['n0', 'n1'])
  assert.equal(pool.nodes()[0]?.breaker, 'closed')
  nodes[0].respond.set('getBlocks', () => undefined)
  for (let i = 0; i < 2; i++) {
    const read = heavy()
    const index = await pool.callRaw('getMempoolEntries', {}, { prefer: 'n0', isPriority: true })
    assert.ok(index.ok && index.node === 'n0')
    const outcome = await read
    assert.ok(outcome.ok && outcome.node === 'n1')
  }
  await until('the breaker is open', () => pool.nodes()[0]?.breaker === 'open')
  const index = await pool.callRaw('getMempoolEntries', {}, { prefer: 'n0', isPriority: true })
  assert.ok(index.ok && index.node === 'n0')
  assert.equal(pool.nodes()[0]?.breaker, 'open')
})

test('a spare that loses to a primary that is merely slow has not failed', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()] as const
  const { pool } = poolOver(t, nodes, { breaker: { failures: 1, openMs: 30_000, maxOpenMs: 30_000 } }, [1])
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  nodes[1].respond.set('getBlocks', () => undefined)
  nodes[0].respond.set('getBlocks', async () => {
    await until('the spare was asked, too', () => nodes[1].received('getBlocks') > 0)
    // More than half of the three seconds after which a third node would be asked.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    return '{}'
  })
  const outcome = await pool.callRaw('getBlocks', {}, { deadlineMs: 20_000 })
  assert.ok(outcome.ok && outcome.node === 'n0' && outcome.attempts === 2, JSON.stringify(outcome))
  // The heavy thread learns a moment later that the race is over.
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.deepEqual(
    pool.nodes().map(({ breaker }) => breaker),
    ['closed', 'closed'],
  )
})

test('writes that are overdue open the breaker', async (t) => {
  const node = await startFakeNode()
  const { pool } = poolOver(t, [node], { breaker: { failures: 4, openMs: 30_000, maxOpenMs: 30_000 } })
  await until('healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  node.respond.set('submitTransaction', () => undefined)
  const writes = Array.from({ length: 4 }, () => submitTo(pool, 1_500))
  for (const outcome of await Promise.all(writes)) assert.ok(!outcome.ok && outcome.inDoubt)
  assert.equal(pool.nodes()[0]?.breaker, 'open')
})

test('lags 1,000 DAA scores: it gets no calls while another is healthy', async (t) => {
  const { nodes, pool } = await three(t)
  nodes[0].state.daaScore -= 1_000
  nodes[1].state.daaScore -= 1_000
  await until('two lag', () => pool.nodes().filter(({ state }) => state === 'lagging').length === 2)
  assert.equal(pool.nodes()[0]?.lag, 1_000)
  const before = nodes[0].received('getSink') + nodes[1].received('getSink')
  await readsSucceed(pool)
  assert.equal(nodes[0].received('getSink') + nodes[1].received('getSink'), before)
  // Between the two thresholds it must stay out; it returns only after it has caught up.
  nodes[0].state.daaScore += 600
  await new Promise((resolve) => setTimeout(resolve, 400))
  assert.equal(pool.nodes()[0]?.state, 'lagging')
  nodes[0].state.daaScore += 400
  await until('caught up', () => pool.nodes()[0]?.state === 'healthy')
})

test('wrongly reports to be synced: after its refusal the call goes to another node, writes too', async (t) => {
  const { nodes, pool } = await three(t)
  const transitional = () => ({ error: 'consensus is currently in a transitional ibd state' })
  for (const node of [nodes[0], nodes[1]]) {
    for (const method of [
      'getSink',
      'getSinkBlueScore',
      'getMempoolEntry',
      'getMempoolEntries',
      'submitTransaction',
    ]) {
      node.respond.set(method, transitional)
    }
  }
  nodes[2].respond.set('submitTransaction', () => `{"transactionId":"${HASH}"}`)
  await readsSucceed(pool, 20)
  for (let i = 0; i < 5; i++) assert.equal(kind(await submitTo(pool)), 'ok')
})

test('wrong network: it gets no calls, not even as the last node', async (t) => {
  const { nodes, pool } = await three(t)
  nodes[0].state.networkId = 'testnet-10'
  await until('wrong network noticed', () => pool.nodes()[0]?.state === 'wrong_network')
  const before = nodes[0].frames.filter((frame) => !frame.includes('getServerInfo')).length
  await readsSucceed(pool)
  await nodes[1].die()
  await nodes[2].die()
  const outcome = await pool.callRaw('getSink', {}, { deadlineMs: 1_500 })
  assert.equal(kind(outcome), 'unavailable')
  assert.equal(nodes[0].frames.filter((frame) => !frame.includes('getServerInfo')).length, before)
})

test('slow: reads are answered by a fast node long before the slow one would have', async (t) => {
  const { nodes, pool } = await three(t)
  await readsSucceed(pool, 20)
  nodes[0].delayMs = 20_000
  const tookMs: number[] = []
  for (let i = 0; i < 20; i++) {
    const startedMs = performance.now()
    assert.equal(kind(await pool.callRaw('getSink', {}, { deadlineMs: 30_000 })), 'ok')
    tookMs.push(performance.now() - startedMs)
  }
  assert.ok(Math.max(...tookMs) < 15_000, `slowest read ${Math.max(...tookMs)} ms`)
})

test('when all nodes are unhealthy they are still used', async (t) => {
  const { nodes, pool } = await three(t)
  for (const node of nodes) node.state.isSynced = false
  await until('all unsynced', () => pool.nodes().every(({ state }) => state === 'unsynced'))
  await readsSucceed(pool)
})

test('no node left: the failure comes within the deadline, light, heavy and write', async (t) => {
  const { nodes, pool } = await three(t)
  await Promise.all(nodes.map((node) => node.die()))
  for (const call of [
    () => pool.callRaw('getSink', {}, { deadlineMs: 800 }),
    () => pool.callRaw('getBlocks', {}, { deadlineMs: 800 }),
    () => submitTo(pool, 800),
  ]) {
    const startedMs = performance.now()
    const outcome = await call()
    assert.ok(['unavailable', 'timeout'].includes(kind(outcome)), JSON.stringify(outcome))
    assert.ok(performance.now() - startedMs < 10_000, `${performance.now() - startedMs} ms`)
  }
})

test('a write without an answer is in doubt exactly when it may have been received', async (t) => {
  const { nodes, pool } = await three(t)
  for (const node of nodes) node.hang()
  const hung = await submitTo(pool, 600)
  assert.ok(!hung.ok && hung.failure.kind === 'timeout' && hung.inDoubt)
  await Promise.all(nodes.map((node) => node.die()))
  await until('all gone', () => pool.nodes().every(({ connected }) => !connected))
  const dead = await submitTo(pool, 600)
  assert.ok(!dead.ok && !dead.inDoubt, JSON.stringify(dead))
})

test('all hang: the failure comes within the deadline', async (t) => {
  const { nodes, pool } = await three(t)
  for (const node of nodes) node.hang()
  for (const method of ['getSink', 'getMempoolEntries']) {
    const startedMs = performance.now()
    const outcome = await pool.callRaw(method, {}, { deadlineMs: 600 })
    assert.equal(kind(outcome), 'timeout')
    assert.ok(performance.now() - startedMs < 10_000)
  }
})

test('a write is never hedged and goes elsewhere only after a transport fault', async (t) => {
  const { nodes, pool } = await three(t)
  for (const node of nodes) {
    node.respond.set('submitTransaction', async () => {
      await new Promise((resolve) => setTimeout(resolve, 400))
      return `{"transactionId":"${HASH}"}`
    })
  }
  const sent = () => nodes.reduce((sum, node) => sum + node.received('submitTransaction'), 0)
  const slow = await submitTo(pool)
  assert.ok(slow.ok && slow.attempts === 1 && !slow.inDoubt)
  assert.equal(sent(), 1)

  for (const node of nodes) {
    node.respond.set('submitTransaction', () => ({
      error: `Rejected transaction ${HASH}: failed to verify the signature script: false stack entry`,
    }))
  }
  const refused = await submitTo(pool)
  assert.ok(
    !refused.ok && refused.failure.kind === 'refused' && refused.failure.refusal.reason === 'rule_broken',
  )
  assert.equal(sent(), 2)
})

test('a submit that hung on one node and is known at the next is a success with its id', async (t) => {
  const { nodes, pool } = await three(t)
  const known = () => ({
    error: `Rejected transaction ${HASH}: transaction ${HASH} is already in the mempool`,
  })
  let first: FakeNode | undefined
  for (const node of nodes) {
    node.respond.set('submitTransaction', () => {
      if (first !== undefined && first !== node) return known()
      first = node
      return undefined
    })
  }
  const outcome = await submitTo(pool, 6_000)
  assert.ok(outcome.ok, JSON.stringify(outcome))
  assert.equal(outcome.bytes.toString(), `{"transactionId":"${HASH}"}`)
  assert.equal(outcome.inDoubt, true)
  assert.equal(outcome.attempts, 2)
})

test('an unknown error text is tried on another node and then reported unchanged', async (t) => {
  const { nodes, pool, troubles } = await three(t)
  for (const node of nodes) node.respond.set('getSink', () => ({ error: 'the disk is on fire' }))
  const outcome = await pool.callRaw('getSink', {}, { deadlineMs: 2_000 })
  assert.ok(!outcome.ok && outcome.failure.kind === 'refused' && outcome.failure.refusal.reason === 'unknown')
  assert.equal(outcome.attempts, 2)
  assert.ok(troubles.some(({ what }) => what === 'unknown_refusal'))
  nodes[2].respond.delete('getSink')
  nodes[1].respond.delete('getSink')
  assert.equal(kind(await pool.callRaw('getSink', {}, { deadlineMs: 2_000 })), 'ok')
})

test('a transaction that a faster node does not have yet is found by the slower one that took it', async (t) => {
  const nodes = [await startFakeNode(), await startFakeNode()] as const
  const { pool } = poolOver(t, nodes)
  await until('all healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  const lookup = () =>
    pool.callRaw('getMempoolEntry', { transactionId: HASH }, { deadlineMs: 9_000, asConfigured: true })
  const missing = { error: `Transaction ${HASH} not found` }
  const late = async (reply: string | { error: string }) => {
    await until('the other was asked, too', () => nodes[1].received('getMempoolEntry') > 0)
    await new Promise((resolve) => setTimeout(resolve, 100))
    return reply
  }
  nodes[1].respond.set('getMempoolEntry', () => missing)
  nodes[0].respond.set('getMempoolEntry', () => late('{"mempoolEntry":{}}'))
  const found = await lookup()
  assert.ok(found.ok && found.node === 'n0' && found.attempts === 2, JSON.stringify(found))
  for (const reply of [() => late(missing), () => undefined]) {
    nodes[0].respond.set('getMempoolEntry', reply)
    const absent = await lookup()
    assert.ok(!absent.ok && absent.failure.kind === 'refused', JSON.stringify(absent))
    assert.equal(absent.failure.refusal.reason, 'transaction_not_found')
  }
})

test('a block that one node does not have is requested from one other, not from all', async (t) => {
  const { nodes, pool } = await three(t)
  // The first heavy call starts the heavy thread, and the time that takes must not count here.
  assert.equal(kind(await pool.callRaw('getMempoolEntries', {}, { deadlineMs: 20_000 })), 'ok')
  for (const node of nodes) node.respond.set('getBlock', () => ({ error: `cannot find full block ${HASH}` }))
  const outcome = await pool.callRaw('getBlock', { hash: HASH }, { deadlineMs: 9_000 })
  assert.ok(!outcome.ok && outcome.failure.kind === 'refused')
  assert.equal(outcome.failure.refusal.reason, 'block_not_found')
  assert.equal(
    nodes.reduce((sum, node) => sum + node.received('getBlock'), 0),
    2,
  )
})

test('a node that drops the connection on every call does not stop the others', async (t) => {
  const { nodes, pool } = await three(t)
  nodes[0].respond.set('getSink', async () => {
    await nodes[0].die()
    await nodes[0].revive()
    return undefined
  })
  for (let i = 0; i < 15; i++)
    assert.equal(kind(await pool.callRaw('getSink', {}, { deadlineMs: 3_000 })), 'ok')
})
