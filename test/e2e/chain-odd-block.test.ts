/** A block with a script that has no address: a node refuses to list the chain with it, and the index continues. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOfScript } from '../../sandbox/node/consensus/address.ts'
import { parseOutpointKey, type Tx } from '../../sandbox/node/consensus/model.ts'
import { type Coin, createWallet, pay } from '../../sandbox/node/traffic/wallet.ts'
import { allEvents, caughtUp, settled, startChainRig } from '../fakes/chain-rig.ts'
import { acceptances, assertLog, historyOf } from '../fakes/chain-truth.ts'
import { mineWith } from '../fakes/mine-with.ts'
import { plainClient } from '../fakes/plain-node-client.ts'
import { until } from '../until.ts'

const OP_TRUE = '000051'
const owner = createWallet(99, 'owner')
const address = addressOfScript('kaspatest', owner.script) ?? ''

function wireOf({ id: _id, hash: _hash, computeMass: _mass, ...body }: Tx): Record<string, unknown> {
  return { ...body, mass: body.storageMass }
}

const spend = (coin: Coin, scriptPublicKey: string): Tx => {
  const outputs = [{ value: 1_000_000_000n, scriptPublicKey, covenant: null }]
  const tx = pay({ version: 0, coins: [coin], outputs, change: owner.script, feerate: 150 })
  assert.ok(tx)
  return tx
}

/** Its change. */
const coinOf = (tx: Tx): Coin => ({
  key: `${tx.id}:1`,
  owner,
  entry: {
    ...{ amount: tx.outputs[1]?.value ?? 0n, scriptPublicKey: owner.script, covenantId: null },
    ...{ blockDaaScore: 0n, isCoinbase: false },
  },
})

test('the index goes past it: nothing is missing where its inputs are indexed, and a gap names it where not', async (t) => {
  const rig = await startChainRig({
    ...{ seed: 31, transactionsPerSecond: 0, reorgsPerMinute: 0 },
    fund: [
      { address, amount: 9_000_000_000n },
      { address, amount: 9_000_000_000n },
    ],
  })
  t.after(() => rig.close())
  const [node] = rig.nodes
  assert.ok(node)
  const rpc = await plainClient(node.url)
  t.after(() => rpc.close())
  const followed = await rig.follow()
  const { database, gaps } = followed
  await until('a followed chain', async () => (await database.chain.checkpoint()) !== undefined)
  const { utxos } = node.truth.address(address)
  const coins = utxos.map(({ transactionId, index, ...entry }): Coin => {
    const key = `${transactionId}:${index}`
    assert.deepEqual(parseOutpointKey(key), { transactionId, index })
    return { key, owner, entry: { ...entry, scriptPublicKey: owner.script } }
  })
  const [first, second] = coins
  assert.ok(first && second)

  const known = spend(first, owner.script)
  await rpc.call('submitTransaction', { transaction: wireOf(known), allowOrphan: false })
  const isAccepted = (id: string) => acceptances(node).has(id)
  await until('the payment', () => isAccepted(known.id))
  await caughtUp(database, () => node.truth.sink())
  const odd = spend(coinOf(known), OP_TRUE)
  await mineWith(rpc, address, [wireOf(odd)])
  await until('the odd one', () => isAccepted(odd.id))
  await until('the odd one in the index', async () => {
    return (await database.chain.transaction(odd.id))?.status === 'confirmed'
  })
  assert.deepEqual(await database.chain.gaps(), [])
  const row = (await historyOf(database, address)).find(({ txId }) => txId === odd.id)
  assert.deepEqual([row?.direction, row?.status], ['send', 'confirmed'])

  const unknown = spend(second, OP_TRUE)
  await mineWith(rpc, address, [wireOf(unknown)])
  await until('the second one in the index', async () => {
    return (await database.chain.transaction(unknown.id))?.status === 'confirmed'
  })
  const [gap, ...others] = (await database.chain.gaps()).filter(({ txIds }) => txIds?.includes(unknown.id))
  assert.deepEqual([gap?.reason, others], ['unreadable', []])
  assert.deepEqual(gaps, [])

  const after = spend(coinOf(unknown), owner.script)
  await rpc.call('submitTransaction', { transaction: wireOf(after), allowOrphan: false })
  await until(
    'what follows',
    async () => (await database.chain.transaction(after.id))?.status === 'confirmed',
  )
  await rig.chain.close()
  await until('the end', async () => (await database.chain.checkpoint())?.hash === node.truth.sink())
  await settled(database)
  assertLog(await allEvents(database), { truth: node.truth, wallets: () => [{ address }] })
})
