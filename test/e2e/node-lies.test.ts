/** The service with two nodes, one of which lags or belongs to another network. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type NodeTrial, pause, startNodeTrial } from '../fakes/node-trial.ts'

let trial: NodeTrial
before(async () => {
  trial = await startNodeTrial({ nodes: 2, chain: { warmUpBlocks: 1_500 } }, 2)
})
after(() => trial.chain.stop())

test('lags 1,000 DAA while claiming to be synced: it is told apart, answers are fresh', async () => {
  trial.node(0).setFaults({ lagDaa: 1_000, claimSynced: true })
  let nodes: { state: string; synced: boolean; lag: number }[] = []
  const endsAt = performance.now() + 60_000
  while (nodes[0]?.state !== 'lagging') {
    assert.ok(performance.now() < endsAt, `not told apart: ${JSON.stringify(nodes)}`)
    await pause(100)
    const status = await trial.chain.get('/v1/status', trial.key)
    nodes = (status.json as { nodes: typeof nodes }).nodes
  }
  assert.equal(nodes[0]?.synced, false)
  assert.ok((nodes[0]?.lag ?? 0) > 900)
  for (let i = 0; i < 5; i++) {
    const { reply } = await trial.chain.call(trial.key, 'getBlockDagInfo')
    const behind = Number(trial.node(1).status().virtualDaaScore) - Number(reply.result?.virtualDaaScore)
    assert.ok(behind < 100, `an answer is ${behind} behind`)
  }
  await trial.submitted()
  trial.node(0).setFaults({ lagDaa: 0, claimSynced: null })
  await trial.chain.healthy(2)
})

test('serves another network: it gets no call', async () => {
  trial.node(0).setFaults({ network: 'mainnet' })
  await trial.chain.healthy(1)
  trial.node(0).log.clear()
  await trial.readsSucceed(5)
  await trial.submitted()
  assert.deepEqual(
    Object.keys(trial.node(0).log.counts()).filter((name) => name !== 'getServerInfo'),
    [],
  )
  trial.node(0).setFaults({ network: null })
  await trial.chain.healthy(2)
})
