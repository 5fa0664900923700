/** The service in front of three nodes that die, hang, lag and lie: reads succeed while one is well. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ChainService, exactText, type RpcReply, startChainService } from '../fakes/chain-service.ts'
import { ADDRESS, type Coin, funds, payment } from '../fakes/real-client.ts'

let chain: ChainService
let key: string
let coins: Coin[]
/** Three nodes; the third is dead before the service starts. */
before(async () => {
  chain = await startChainService({
    nodes: 3,
    chain: { transactionsPerSecond: 2, reorgsPerMinute: 0, warmUpBlocks: 1_500, fund: funds(8) },
    prepare: async (nodes) => nodes[2]?.die(),
  })
  key = await chain.key()
  await chain.healthy(2)
  const { reply } = await chain.call(key, 'getUtxosByAddresses', { addresses: [ADDRESS] })
  coins = (reply.result as unknown as { entries: Coin[] }).entries
})
after(() => chain.stop())

const node = (index: number) => {
  const found = chain.nodes[index]
  assert.ok(found)
  return found
}
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function readsSucceed(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const answers = await Promise.all([
      chain.call(key, 'getSink'),
      chain.call(key, 'getSinkBlueScore'),
      chain.call(key, 'getMempoolEntries'),
    ])
    for (const { answer, reply } of answers) assert.ok(reply.result, answer.text)
  }
}

async function submitted(): Promise<void> {
  const coin = coins.pop()
  assert.ok(coin)
  const { id, json } = payment(coin)
  const answer = await chain.submit(key, exactText({ transaction: json }))
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json.tx_id, id)
  const endsAt = performance.now() + 10_000
  while (node(1).truth.transaction(id) === undefined) {
    assert.ok(performance.now() < endsAt, 'the network does not have it')
    await pause(50)
  }
}

test('dead at start: the others answer, and /v1/status and /ready tell the truth', async () => {
  await readsSucceed(5)
  await submitted()
  const { nodes } = (await chain.get('/v1/status', key)).json as { nodes: { name: string; state: string }[] }
  assert.deepEqual(
    nodes.map(({ name, state }) => [name, state === 'healthy']),
    [
      ['primary-1', true],
      ['primary-2', true],
      ['primary-3', false],
    ],
  )
  assert.equal((await fetch(`${chain.service.url}/ready`)).status, 200)
})

test('hangs: reads go on, a submit is taken by the other node and counted once per attempt', async () => {
  node(0).setFaults({ hang: true })
  await Promise.all([readsSucceed(5), submitted()])
  node(0).setFaults({ hang: false })
  await chain.healthy(2)
})

test('slow: answers come from the faster one', async () => {
  node(0).setFaults({ latencyMs: 1_500 })
  await chain.call(key, 'getSink')
  const startedMs = performance.now()
  await readsSucceed(5)
  assert.ok(performance.now() - startedMs < 5_000)
  await submitted()
  node(0).setFaults({ latencyMs: 0 })
  await chain.healthy(2)
})

test('lags 1,000 DAA while claiming to be synced: it is told apart, answers are fresh', async () => {
  node(0).setFaults({ lagDaa: 1_000, claimSynced: true })
  await pause(4_000)
  const { nodes } = (await chain.get('/v1/status', key)).json as {
    nodes: { state: string; synced: boolean; lag: number }[]
  }
  assert.equal(nodes[0]?.state, 'lagging', JSON.stringify(nodes))
  assert.equal(nodes[0]?.synced, false)
  assert.ok((nodes[0]?.lag ?? 0) > 900)
  for (let i = 0; i < 5; i++) {
    const { reply } = await chain.call(key, 'getBlockDagInfo')
    const behind = Number(node(1).status().virtualDaaScore) - Number(reply.result?.virtualDaaScore)
    assert.ok(behind < 100, `an answer is ${behind} behind`)
  }
  await submitted()
  node(0).setFaults({ lagDaa: 0, claimSynced: null })
  await chain.healthy(2)
})

test('serves another network: it gets no call', async () => {
  node(0).setFaults({ network: 'mainnet' })
  await chain.healthy(1)
  node(0).log.clear()
  await readsSucceed(5)
  await submitted()
  assert.deepEqual(
    Object.keys(node(0).log.counts()).filter((name) => name !== 'getServerInfo'),
    [],
  )
  node(0).setFaults({ network: null })
  await chain.healthy(2)
})

test('dies in flight: nothing is lost', async () => {
  for (const each of [node(0), node(1)]) each.setFaults({ latencyMs: 200 })
  const flying = Promise.all([
    ...Array.from({ length: 30 }, () => chain.call(key, 'getSink')),
    ...Array.from({ length: 5 }, () => chain.call(key, 'getMempoolEntries')),
  ])
  const submit = submitted()
  await pause(100)
  await node(0).die()
  for (const { answer, reply } of await flying) assert.ok(reply.result, answer.text)
  await submit
  node(1).setFaults({ latencyMs: 0 })
})

test('no node left: 503 and -32020 in time, for nothing; a submit says 503 too', async () => {
  await node(1).die()
  await chain.healthy(0)
  const startedMs = performance.now()
  const [single, batch, fees] = await Promise.all([
    chain.call(key, 'getSink'),
    chain.post(
      JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'getMempoolEntries' },
        { jsonrpc: '2.0', id: 2, method: 'getSink' },
      ]),
      key,
    ),
    chain.get('/v1/fees/estimate', key),
  ])
  assert.ok(performance.now() - startedMs < 5_000)
  assert.equal(single.answer.status, 503)
  assert.equal(single.reply.error?.code, -32020)
  assert.equal(batch.status, 503)
  for (const reply of batch.json as unknown as RpcReply[]) assert.equal(reply.error?.code, -32020)
  assert.equal(fees.status, 503)
  assert.equal(fees.json.error, 'upstream_unavailable')
  const mixed = await chain.post(
    JSON.stringify([
      { jsonrpc: '2.0', id: 1, method: 'getSink' },
      { jsonrpc: '2.0', id: 2, method: 'shutdown' },
    ]),
    key,
  )
  assert.equal(mixed.status, 200, 'one call without a node does not fail the others')
  const coin = coins.pop()
  assert.ok(coin)
  const { id, json } = payment(coin)
  const headers = { 'Idempotency-Key': 'no-node' }
  const lost = await chain.submit(key, exactText({ transaction: json }), headers)
  assert.equal(lost.status, 503, lost.text)
  assert.equal(lost.json.tx_id, id)
  assert.equal(lost.json.in_doubt, false)
  for (const answer of [single.answer, batch, fees, mixed, lost]) {
    assert.equal(answer.headers.get('x-credits-charged'), '0')
  }
  assert.equal((await fetch(`${chain.service.url}/ready`)).status, 503)
})
