/** The node pool against simulated nodes that are processes of their own: the whole way, real signals included. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { type RunningSandboxChain, startSandboxChain } from '../../src/sandbox/node/run.ts'
import { METHODS } from '../../src/upstreams/methods.ts'
import { createUpstreams, type Upstreams } from '../../src/upstreams/pool.ts'
import { until } from '../fakes/pool.ts'
import { type NodeProcess, startNodeProcess } from '../fakes/sandbox-processes.ts'

let chain: RunningSandboxChain
let nodes: NodeProcess[]
let pool: Upstreams

before(async () => {
  chain = await startSandboxChain({ seed: 5, linkPort: 0, transactionsPerSecond: 20, dwellBlocks: 20 })
  nodes = await Promise.all(['a', 'b', 'c'].map((name) => startNodeProcess(name, chain.linkPort ?? 0)))
  pool = createUpstreams({
    network: 'testnet-10',
    clock: systemClock,
    nodes: nodes.map(({ name, url }) => ({ name, url, tier: 'primary' })),
    settings: { probeEveryMs: 100, probeTimeoutMs: 500 },
  })
  await until(() => pool.nodes().every(({ state }) => state === 'healthy'), 'all nodes healthy', 15_000)
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

interface Entry {
  transaction: {
    outputs: { verboseData: { scriptPublicKeyAddress: string } }[]
    verboseData: { transactionId: string }
  }
}

test('all 39 methods are answered, and what is refused is refused for a reason that is known', async () => {
  const { sink, pruningPointHash, virtualDaaScore } = await value('getBlockDagInfo')
  const { mempoolEntries } = (await value('getMempoolEntries')) as unknown as { mempoolEntries: Entry[] }
  const entry = mempoolEntries.find(
    ({ transaction }) => transaction.outputs[0]?.verboseData.scriptPublicKeyAddress,
  )
  assert.ok(entry)
  const address = entry.transaction.outputs[0]?.verboseData.scriptPublicKeyAddress
  const { block } = (await value('getBlockTemplate', { payAddress: address })) as { block: unknown }
  const params: Record<string, unknown> = {
    getCurrentBlockColor: { hash: pruningPointHash },
    getBlockRewardInfo: { hash: pruningPointHash },
    getSeqCommitLaneProof: { blockHash: sink, laneKey: '00'.repeat(32) },
    getBalanceByAddress: { address },
    getUtxoReturnAddress: { txid: '00'.repeat(32), acceptingBlockDaaScore: virtualDaaScore },
    getDaaScoreTimestampEstimate: { daaScores: [virtualDaaScore] },
    getSubnetwork: { subnetworkId: '00'.repeat(20) },
    getBlock: { hash: sink },
    getBlocks: { lowHash: pruningPointHash, includeBlocks: true, includeTransactions: true },
    getHeaders: { startHash: sink },
    getVirtualChainFromBlock: { startHash: pruningPointHash, includeAcceptedTransactionIds: true },
    getVirtualChainFromBlockV2: { startHash: pruningPointHash },
    getBlockTemplate: { payAddress: address },
    submitBlock: { block },
    getBalancesByAddresses: { addresses: [address] },
    getUtxosByAddresses: { addresses: [address] },
    getMempoolEntry: { transactionId: entry.transaction.verboseData.transactionId },
    getMempoolEntriesByAddresses: { addresses: [address] },
    submitTransaction: { transaction: entry.transaction },
    submitTransactionReplacement: { transaction: entry.transaction },
  }
  const refused: Record<string, string> = {}
  for (const name of METHODS.keys()) {
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
  const answered = METHODS.size - Object.keys(refused).length
  assert.ok(answered >= 33, `answered ${answered}, refused ${JSON.stringify(refused)}`)
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
  await until(() => chainEvents > 5, 'chain events')
  const victim = nodes.find(({ name }) => log[0] === `regained ${name}`)
  assert.ok(victim)
  victim.signal('SIGKILL')
  await until(() => log.length === 3, 'lost and regained')
  assert.equal(log[1], `lost ${victim.name}`)
  assert.notEqual(log[2], `regained ${victim.name}`)
  const before = chainEvents
  await until(() => chainEvents > before + 3, 'chain events from the other node')
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
        pool.callRaw(name, {}, { deadlineMs: 5_000 }),
      ),
    )
    for (const outcome of outcomes) assert.ok(outcome.ok, JSON.stringify(outcome))
  }
  last?.signal('SIGSTOP')
  const startedMs = performance.now()
  const outcome = await pool.callRaw('getSink', {}, { deadlineMs: 700 })
  assert.ok(!outcome.ok && ['timeout', 'unavailable'].includes(outcome.failure.kind))
  assert.ok(performance.now() - startedMs < 1_000)
  stopped?.signal('SIGCONT')
  last?.signal('SIGCONT')
  await until(() => pool.nodes().filter(({ state }) => state === 'healthy').length === 2, 'both back', 15_000)
  assert.ok((await pool.callRaw('getSink', {})).ok)
})
