/** A real node refuses to list its chain over a block with a script that has no address: the index goes past it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mineWith } from '../fakes/mine-with.ts'
import { until } from '../until.ts'
import { startLiveTraffic } from './live-traffic.ts'
import { mineBlocks } from './mine.ts'
import { startRealNode, withoutNode } from './real-node.ts'
import { startRealService } from './real-service.ts'

test('the index goes past a transaction that no mempool takes', { skip: withoutNode }, async (t) => {
  const node = await startRealNode({ name: 'odd' })
  t.after(() => node.stop())
  const traffic = await startLiveTraffic(node)
  t.after(() => traffic.close())
  const service = await startRealService([node])
  t.after(() => service.stop())
  await service.healthy(1)
  await mineBlocks(node, traffic.minerAddress, 3)
  await service.indexed(node)
  const { sink } = await node.rpc.call('getSink')
  const { id, transaction } = traffic.odd()
  await mineWith(node.rpc, traffic.minerAddress, [transaction])
  await mineBlocks(node, traffic.minerAddress, 5)
  const whole = { startHash: sink, dataVerbosityLevel: 'Full' }
  const refused = await node.rpc.ask('getVirtualChainFromBlockV2', whole)
  assert.equal(
    refused.error?.message,
    'The address is invalid',
    'a node that can tell it needs no way around it',
  )
  await service.indexed(node)
  const found = (await service.get(`/v1/transactions/${id}`)).json
  assert.equal(found.status, 'confirmed')
  const next = await traffic.next()
  await mineBlocks(node, traffic.minerAddress, 5)
  await service.indexed(node)
  await until(
    'what follows',
    async () => (await service.get(`/v1/transactions/${next}`)).json.status === 'confirmed',
  )
})
