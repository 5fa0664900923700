/** The service with two real nodes: what it records and serves is what they say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../until.ts'
import { fundNode } from './funded.ts'
import { mineBlocks } from './mine.ts'
import { startRealNetwork } from './network.ts'
import { withoutNode } from './real-node.ts'
import { startRealService } from './real-service.ts'

interface Row {
  tx_id: string
  status: string
  direction: string
  amount_sompi: number
}

test('payments on a network of two real nodes are submitted, followed, recorded and served', {
  skip: withoutNode,
}, async (t) => {
  const network = await startRealNetwork(2)
  t.after(() => network.stop())
  const [first, second] = network.nodes
  assert.ok(first && second)
  const { miner, payee, coins } = await fundNode(second)
  await network.agreed()
  const service = await startRealService(network.nodes)
  t.after(() => service.stop())
  await service.healthy(2)
  const history = async (address: string) => {
    const answer = await service.get(`/v1/addresses/${address}/transactions`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json.items as Row[]
  }

  const [coin] = coins
  assert.ok(coin)
  const payment = miner.pay([coin], [payee.address, miner.address])
  const submitted = await service.post('/v1/transactions/submit', {
    transaction: payment.json,
    wait_for_mempool: true,
  })
  assert.equal(submitted.status, 200, submitted.text)
  assert.deepEqual([submitted.json.tx_id, submitted.json.mempool_seen], [payment.id, true])
  const row = async () => (await history(payee.address)).find(({ tx_id }) => tx_id === payment.id)
  await until('the payment as pending', async () => (await row())?.status === 'pending')

  await mineBlocks(second, miner.address, 12)
  await network.agreed()
  await service.indexed(first)
  const half = payment.coins[0]?.amount
  assert.deepEqual(await row(), {
    ...(await row()),
    ...{ tx_id: payment.id, status: 'confirmed', direction: 'receive', amount_sompi: Number(half) },
  })
  const found = (await service.get(`/v1/transactions/${payment.id}`)).json
  assert.equal(found.status, 'confirmed')
  assert.equal(
    found.fee_sompi,
    Number(coin.amount - payment.coins.reduce((sum, { amount }) => sum + amount, 0n)),
  )
  const { block } = await first.rpc.call('getBlock', { hash: found.block_hash, includeTransactions: false })
  const { transactionIds } = (block as { verboseData: { transactionIds: string[] } }).verboseData
  assert.ok(transactionIds.includes(payment.id))

  const balance = (await service.get(`/v1/addresses/${payee.address}/balance`)).json
  const own = await first.rpc.call('getBalanceByAddress', { address: payee.address })
  assert.equal(balance.confirmed_sompi, own.balance)
})
