/** Must hold: every outcome of a submission on a real network, as the contract says. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Answer } from '../fakes/client.ts'
import { type Funds, fundNode } from './funded.ts'
import { mineBlocks } from './mine.ts'
import { type RealNetwork, startRealNetwork } from './network.ts'
import { COINS_NEEDED, oddTransactions } from './odd-transactions.ts'
import { type RealNode, withoutNode } from './real-node.ts'
import { type RealService, startRealService } from './real-service.ts'

/** `invalid`: refused before a node is asked. */
const OUTCOMES: Readonly<Record<string, string>> = {
  ...{ taken: 'ok', again: 'ok', 'double spend': 'double_spend', replacement: 'ok' },
  'replacement that pays less': 'replacement_fee_too_low',
  'replacement of nothing': 'replacement_without_conflict',
  ...{ 'first of two': 'ok', 'second of two': 'ok' },
  'replacement of two': 'replacement_with_many_conflicts',
  ...{ orphan: 'orphan', 'fee too low': 'fee_too_low', 'storage mass': 'mass_too_large' },
  'fee too low for its size': 'rule_broken',
  'no standard output': 'not_standard',
  'unknown script version': 'not_standard',
  'unknown version': 'invalid',
  'signature operations in version 1': 'invalid',
  'compute budget in version 0': 'invalid',
  'covenant in version 0': 'invalid',
  'two masses': 'invalid',
  'too many outputs': 'invalid',
  'payload that is no hex': 'invalid',
  'half a byte of payload': 'invalid',
  'native subnetwork too short': 'invalid',
  'value above 64 bits': 'invalid',
  'no outpoint': 'invalid',
  // Decimal text is a number here; the signature no longer matches.
  'value as text': 'rule_broken',
  'a payment at last': 'ok',
}

let network: RealNetwork
let node: RealNode
let funds: Funds
let service: RealService
before(async () => {
  if (withoutNode) return
  network = await startRealNetwork(2)
  ;[node] = network.nodes as [RealNode]
  funds = await fundNode(node)
  await network.agreed()
  service = await startRealService(network.nodes)
  await service.healthy(2)
})
after(async () => {
  await service?.stop()
  await network?.stop()
})

const submit = (transaction: object, more: object = {}) =>
  service.post('/v1/transactions/submit', { transaction, ...more })

function outcomeOf({ status, json, text }: Answer): string {
  if (status === 200) return 'ok'
  assert.equal(status, 422, text)
  if (json.error === 'invalid_param') return 'invalid'
  assert.equal(json.error, 'transaction_rejected', text)
  return String(json.reason)
}

test('each refusal of the real node has its reason, and what is good is taken', {
  skip: withoutNode,
}, async () => {
  const { miner, coins } = funds
  const odd = oddTransactions(miner, coins.splice(0, COINS_NEEDED))
  const found: Record<string, string> = {}
  for (const { name, method, transaction } of odd) {
    const answer = await submit(transaction, { replace_by_fee: method === 'submitTransactionReplacement' })
    found[name] = outcomeOf(answer)
    if (name === 'fee too low') {
      assert.equal(answer.json.fee_sompi, 1_000)
      assert.ok(Number(answer.json.required_fee_sompi) > 100_000, answer.text)
    }
  }
  const expected = Object.fromEntries(odd.map(({ name }) => [name, OUTCOMES[name] ?? 'rule_broken']))
  assert.deepEqual(found, expected)
})

test('what was accepted before is success, an immature coinbase is not', { skip: withoutNode }, async () => {
  const { miner, payee, coins } = funds
  const [coin] = coins.splice(0, 1)
  assert.ok(coin)
  const payment = miner.pay([coin], [payee.address, miner.address])
  const sent = await submit(payment.json, { wait_for_mempool: true })
  assert.deepEqual([sent.status, sent.json.mempool_seen], [200, true], sent.text)
  const query = { transactionId: payment.id, includeOrphanPool: false, filterTransactionPool: false }
  const [first, second] = network.nodes as [RealNode, RealNode]
  // A node relays a transaction only when something else happens.
  const isFirst = (await first.rpc.ask('getMempoolEntry', query)).error === undefined
  await mineBlocks(isFirst ? first : second, miner.address, 10)
  await network.agreed()
  const again = await submit(payment.json)
  assert.deepEqual([again.status, again.json.already_accepted], [200, true], again.text)

  const { entries } = await node.rpc.call('getUtxosByAddresses', { addresses: [miner.address] })
  const youngest = (
    entries as {
      outpoint: object
      utxoEntry: { blockDaaScore: number; amount: number; isCoinbase: boolean; scriptPublicKey: string }
    }[]
  )
    .filter(({ utxoEntry }) => utxoEntry.isCoinbase)
    .sort((a, b) => b.utxoEntry.blockDaaScore - a.utxoEntry.blockDaaScore)[0]
  assert.ok(youngest)
  const young = { ...coin, ...youngest.utxoEntry, outpoint: youngest.outpoint as typeof coin.outpoint }
  const immature = miner.pay(
    [{ ...young, amount: BigInt(young.amount), blockDaaScore: BigInt(young.blockDaaScore) }],
    [payee.address, miner.address],
  )
  assert.equal(outcomeOf(await submit(immature.json)), 'immature_spend')
})

test('a chain of unconfirmed transactions is taken in its order, and an orphan is not', {
  skip: withoutNode,
}, async () => {
  const { miner, coins } = funds
  const [coin] = coins.splice(0, 1)
  assert.ok(coin)
  const own = [miner.address, miner.address]
  const parent = miner.pay([coin], own)
  const child = miner.pay(parent.coins.slice(0, 1), own)
  const grandchild = miner.pay(child.coins.slice(0, 1), own)
  assert.equal(outcomeOf(await submit(child.json)), 'orphan')
  for (const { json, id } of [parent, child, grandchild]) {
    const answer = await submit(json)
    assert.deepEqual([answer.status, answer.json.tx_id], [200, id], answer.text)
  }
})

test('while a node is stopped, whichever it is, the other one takes it', {
  skip: withoutNode,
  timeout: 120_000,
}, async (t) => {
  const { miner, payee, coins } = funds
  const [first, second] = network.nodes as [RealNode, RealNode]
  t.after(() => {
    for (const each of network.nodes) each.resume()
  })
  for (const [stopped, other] of [
    [first, second],
    [second, first],
  ] as const) {
    stopped.pause()
    // All its threads.
    await wait(200)
    const startedMs = performance.now()
    for (const coin of coins.splice(0, 3)) {
      const payment = miner.pay([coin], [payee.address, miner.address])
      const answer = await submit(payment.json)
      assert.deepEqual([answer.status, answer.json.tx_id], [200, payment.id], answer.text)
      const query = { transactionId: payment.id, includeOrphanPool: false, filterTransactionPool: false }
      assert.ok((await other.rpc.call('getMempoolEntry', query)).mempoolEntry)
    }
    t.diagnostic(`${stopped.name}: three submissions in ${Math.round(performance.now() - startedMs)} ms`)
    stopped.resume()
    await service.healthy(2)
  }
})
