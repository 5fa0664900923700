/** The node pool with simulated nodes in separate processes: end to end, with real signals. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import type * as Sdk from 'kaspa-wasm32-sdk'
import { type RunningSandboxChain, startSandboxChain } from '../../sandbox/node/run.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { RPC_METHODS } from '../../src/upstreams/methods.ts'
import { createUpstreams, type Upstreams } from '../../src/upstreams/pool.ts'
import { assertRefused, goodParams } from '../fakes/all-methods.ts'
import { transactionJson } from '../fakes/real-client.ts'
import { type NodeProcess, startNodeProcess } from '../fakes/sandbox-processes.ts'
import { until } from '../until.ts'

const sdk = createRequire(import.meta.url)('kaspa-wasm32-sdk') as typeof Sdk
const KEY = 'b7e151628aed2a6abf7158809cf4f3c762e7160f38b4da56a784d9045190cfef'
const ADDRESS = new sdk.PrivateKey(KEY).toAddress('testnet-10').toString()
const COIN = 5_000_000_000n

let chain: RunningSandboxChain
let nodes: NodeProcess[]
let pool: Upstreams

before(async () => {
  chain = await startSandboxChain({
    seed: 5,
    linkPort: 0,
    transactionsPerSecond: 20,
    dwellBlocks: 20,
    fund: [1, 2].map(() => ({ address: ADDRESS, amount: COIN })),
  })
  nodes = await Promise.all(['a', 'b', 'c'].map((name) => startNodeProcess(name, chain.linkPort ?? 0)))
  pool = createUpstreams({
    network: 'testnet-10',
    clock: systemClock,
    random: Math.random,
    nodes: nodes.map(({ name, url }) => ({ name, url, tier: 'primary' })),
    settings: { probeEveryMs: 100, probeTimeoutMs: 500 },
  })
  await until('all nodes healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
})

after(async () => {
  await pool.close()
  await Promise.all(nodes.map((node) => node.end()))
  await chain.close()
})

async function value(method: string, params: unknown = {}): Promise<Record<string, unknown>> {
  const outcome = await pool.call(method, params, { deadlineMs: 20_000 })
  assert.ok(outcome.ok, outcome.ok ? '' : `${method}: ${outcome.failure.kind}`)
  return outcome.value as Record<string, unknown>
}

/** A payment of that coin to its owner; its scripts are in the object form, which the pool has to rewrite. */
function signed(coin: { outpoint: object; utxoEntry: { scriptPublicKey: string; blockDaaScore: number } }) {
  const { scriptPublicKey, blockDaaScore } = coin.utxoEntry
  const entry = {
    address: ADDRESS,
    outpoint: coin.outpoint,
    amount: COIN,
    scriptPublicKey,
    blockDaaScore: BigInt(blockDaaScore),
    isCoinbase: false,
  }
  const outputs = [{ address: ADDRESS, amount: COIN - 300_000n }]
  const tx = sdk.signTransaction(
    sdk.createTransaction([entry as never], outputs, 0n, undefined, 1),
    [KEY],
    true,
  )
  return { id: tx.id, json: transactionJson(tx) }
}

test('all 39 methods are answered, and what is refused is refused for a reason that is known', async () => {
  const params = await goodParams(value)
  const refused: Record<string, string> = {}
  for (const name of RPC_METHODS.keys()) {
    const outcome = await pool.callRaw(name, params[name] ?? {}, { deadlineMs: 20_000 })
    if (outcome.ok) JSON.parse(outcome.bytes.toString())
    else {
      assert.ok(outcome.failure.kind === 'refused', `${name}: ${JSON.stringify(outcome.failure)}`)
      refused[name] = outcome.failure.refusal.reason
    }
  }
  assert.equal(refused.getSubnetwork, 'not_implemented')
  assert.equal(refused.getHeaders, 'not_implemented')
  for (const [name, reason] of Object.entries(refused)) {
    assert.ok(
      !['unknown', 'rejected', 'bad_request', 'method_not_served'].includes(reason),
      `${name}: ${reason}`,
    )
  }
  assertRefused(Object.keys(refused))
})

test('a transaction signed by the real client passes unchanged, also when the first node hangs in the middle', async () => {
  const { entries } = (await value('getUtxosByAddresses', { addresses: [ADDRESS] })) as unknown as {
    entries: {
      outpoint: object
      utxoEntry: { amount: number; scriptPublicKey: string; blockDaaScore: number }
    }[]
  }
  assert.equal(entries.length, 2)
  for (const [index, entry] of entries.entries()) {
    const tx = signed(entry)
    const stopped = index === 0 ? undefined : nodes.find(({ name }) => name === pool.explain().order[0])
    stopped?.signal('SIGSTOP')
    const outcome = await pool.call('submitTransaction', { transaction: tx.json }, { deadlineMs: 6_000 })
    stopped?.signal('SIGCONT')
    assert.ok(outcome.ok, outcome.ok ? '' : `${outcome.failure.kind}`)
    assert.deepEqual(outcome.value, { transactionId: tx.id })
    if (stopped !== undefined)
      assert.ok(outcome.inDoubt && outcome.attempts === 2 && outcome.node !== stopped.name)
  }
  await until('all nodes healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
})

test('notifications flow, and a killed node is left with a gap that is announced', async () => {
  const log: string[] = []
  let chainEvents = 0
  const subscription = pool.subscribe(
    { event: 'VirtualChainChanged' },
    {
      onNotification: (notification) => {
        assert.ok(notification.value() !== undefined)
        chainEvents++
      },
      onRegained: ({ node }) => log.push(`regained ${node}`),
      onLost: ({ node }) => log.push(`lost ${node}`),
    },
  )
  await until('chain events', () => chainEvents > 5)
  const victim = nodes.find(({ name }) => log[0] === `regained ${name}`)
  assert.ok(victim)
  victim.signal('SIGKILL')
  await until('lost and regained', () => log.length === 3)
  assert.equal(log[1], `lost ${victim.name}`)
  assert.notEqual(log[2], `regained ${victim.name}`)
  const before = chainEvents
  await until('chain events from the other node', () => chainEvents > before + 3)
  subscription.close()
})

test('with one node killed and one stopped, every read succeeds; with none left the failure is in time', async () => {
  const alive = nodes.filter(({ child }) => child.exitCode === null && child.signalCode === null)
  assert.equal(alive.length, 2)
  const [stopped, last] = alive
  stopped?.signal('SIGSTOP')
  for (let i = 0; i < 30; i++) {
    const outcomes = await Promise.all(
      ['getSink', 'getBlockCount', 'getSinkBlueScore'].map((name) =>
        pool.callRaw(name, {}, { deadlineMs: 20_000 }),
      ),
    )
    for (const outcome of outcomes) assert.ok(outcome.ok, JSON.stringify(outcome))
  }
  last?.signal('SIGSTOP')
  const startedMs = performance.now()
  const outcome = await pool.callRaw('getSink', {}, { deadlineMs: 700 })
  assert.ok(!outcome.ok && ['timeout', 'unavailable'].includes(outcome.failure.kind))
  assert.ok(performance.now() - startedMs < 10_000)
  stopped?.signal('SIGCONT')
  last?.signal('SIGCONT')
  await until('both back', () => pool.nodes().filter(({ state }) => state === 'healthy').length === 2)
  assert.ok((await pool.callRaw('getSink', {})).ok)
})
