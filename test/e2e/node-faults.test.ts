/** The service with three nodes that are dead, hang, are slow and die: reads succeed while one is healthy. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { exactText, type RpcReply } from '../fakes/chain-service.ts'
import { type NodeTrial, pause, startNodeTrial } from '../fakes/node-trial.ts'
import { promisedMs } from '../promised-ms.ts'

let trial: NodeTrial
before(async () => {
  trial = await startNodeTrial({ nodes: 3, prepare: async (nodes) => nodes[2]?.die() }, 2)
})
after(() => trial.chain.stop())

test('dead at start: the others answer, and /v1/status and /ready tell the truth', async () => {
  await trial.readsSucceed(5)
  await trial.submitted()
  // A node that answers a probe late counts as down for a moment.
  await trial.chain.healthy(2)
  const { nodes } = (await trial.chain.get('/v1/status', trial.key)).json as {
    nodes: { name: string; state: string }[]
  }
  assert.deepEqual(
    nodes.map(({ name, state }) => [name, state === 'healthy']),
    [
      ['primary-1', true],
      ['primary-2', true],
      ['primary-3', false],
    ],
  )
  assert.equal((await fetch(`${trial.chain.service.url}/ready`)).status, 200)
})

test('hangs: reads go on, a submit is taken by the other node and counted once per attempt', async () => {
  trial.node(0).setFaults({ hang: true })
  await Promise.all([trial.readsSucceed(5), trial.submitted()])
  trial.node(0).setFaults({ hang: false })
  await trial.chain.healthy(2)
})

test('slow: answers come from the faster one', async () => {
  trial.node(0).setFaults({ latencyMs: 1_500 })
  await trial.chain.call(trial.key, 'getSink')
  const startedMs = performance.now()
  await trial.readsSucceed(5)
  assert.ok(performance.now() - startedMs < promisedMs(5_000))
  await trial.submitted()
  trial.node(0).setFaults({ latencyMs: 0 })
  await trial.chain.healthy(2)
})

test('dies in flight: nothing is lost', async () => {
  for (const each of [trial.node(0), trial.node(1)]) each.setFaults({ latencyMs: 200 })
  const flying = Promise.all([
    ...Array.from({ length: 30 }, () => trial.chain.call(trial.key, 'getSink')),
    ...Array.from({ length: 5 }, () => trial.chain.call(trial.key, 'getMempoolEntries')),
  ])
  const submit = trial.submitted()
  await pause(100)
  await trial.node(0).die()
  for (const { answer, reply } of await flying) assert.ok(reply.result, answer.text)
  await submit
  trial.node(1).setFaults({ latencyMs: 0 })
})

test('no node left: 503 and -32020 in time, for nothing; a submit says 503 too', async () => {
  await trial.node(1).die()
  await trial.chain.healthy(0)
  const startedMs = performance.now()
  const [single, batch, fees] = await Promise.all([
    trial.chain.call(trial.key, 'getSink'),
    trial.chain.post(
      JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'getMempoolEntries' },
        { jsonrpc: '2.0', id: 2, method: 'getSink' },
      ]),
      trial.key,
    ),
    trial.chain.get('/v1/fees/estimate', trial.key),
  ])
  assert.ok(performance.now() - startedMs < promisedMs(5_000))
  assert.equal(single.answer.status, 503)
  assert.equal(single.reply.error?.code, -32020)
  assert.equal(batch.status, 503)
  for (const reply of batch.json as unknown as RpcReply[]) assert.equal(reply.error?.code, -32020)
  assert.equal(fees.status, 503)
  assert.equal(fees.json.error, 'upstream_unavailable')
  const mixed = await trial.chain.post(
    JSON.stringify([
      { jsonrpc: '2.0', id: 1, method: 'getSink' },
      { jsonrpc: '2.0', id: 2, method: 'shutdown' },
    ]),
    trial.key,
  )
  assert.equal(mixed.status, 200, 'one call without a node does not fail the others')
  const { id, json } = trial.payment()
  const headers = { 'Idempotency-Key': 'no-node' }
  const lost = await trial.chain.submit(trial.key, exactText({ transaction: json }), headers)
  assert.equal(lost.status, 503, lost.text)
  assert.equal(lost.json.tx_id, id)
  assert.equal(lost.json.in_doubt, false)
  for (const answer of [single.answer, batch, fees, mixed, lost]) {
    assert.equal(answer.headers.get('x-credits-charged'), '0')
  }
  assert.equal((await fetch(`${trial.chain.service.url}/ready`)).status, 503)
})
