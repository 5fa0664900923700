import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTurns } from '../../../../test/fakes/count-turns.ts'
import { watchTurns } from '../../../../test/fakes/loop-hold.ts'
import { encodeAddress } from '../../../core/chain/address.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import { inMempool } from './address-activity.ts'
import type { ChainData } from './chain-data.ts'
import { pendingBalance } from './pending-balance.ts'
import { unindexed } from './transaction.ts'

const KEY = Buffer.alloc(32, 7)
const ADDRESS = encodeAddress({ prefix: 'kaspatest', version: 0, payload: KEY })
const COUNT = 40

/** Payloads as large as a block accepts. */
function entry(n: number) {
  const transactionId = n.toString(16).padStart(64, '0')
  const transaction = {
    version: 0,
    inputs: [],
    outputs: [{ value: 5, scriptPublicKey: `000020${KEY.toString('hex')}ac`, covenant: null }],
    lockTime: n,
    subnetworkId: '00'.repeat(20),
    gas: 0,
    payload: 'ab'.repeat(120_000),
    mass: 0,
    verboseData: { transactionId },
  }
  return { fee: 1, transaction, isOrphan: false }
}

test('a mempool full of large transactions of one address does not hold the loop', async () => {
  const receiving = Array.from({ length: COUNT }, (_, n) => entry(n))
  const bytes = Buffer.from(JSON.stringify({ entries: [{ address: ADDRESS, sending: [], receiving }] }))
  const upstreams = { network: 'testnet-10', callRaw: async () => ({ ok: true, bytes, node: 'n' }) }
  const chain = { upstreams, waitMs: 1_000 } as unknown as ChainData
  const reads = [
    async () => assert.equal((await pendingBalance(ADDRESS, chain, 'n')).incoming, BigInt(5 * COUNT)),
    async () => assert.equal((await inMempool(ADDRESS, 200, chain)).items.length, COUNT),
  ]
  for (const read of reads) {
    let held = Number.POSITIVE_INFINITY
    for (let round = 0; round < 3 && held > 60; round++) {
      const stop = watchTurns()
      await read()
      held = Math.min(held, stop())
    }
    // A single entry takes 5 to 20 ms.
    assert.ok(held <= 60, `the loop was held for ${held} ms`)
  }
})

test('a large pending transaction takes several turns, and the node has hashed it', async () => {
  const output = { value: 5, scriptPublicKey: `000020${KEY.toString('hex')}ac`, covenant: null }
  const { transaction } = entry(1)
  const large = { ...transaction, payload: '', outputs: Array.from({ length: 1_000 }, () => output) }
  const entries = [{ address: ADDRESS, sending: [], receiving: [{ transaction: large }] }]
  const bytes = Buffer.from(JSON.stringify({ entries }))
  const upstreams = { network: 'testnet-10', callRaw: async () => ({ ok: true, bytes, node: 'n' }) }
  const { turns, result } = await countTurns(() =>
    inMempool(ADDRESS, 200, { upstreams, waitMs: 1_000 } as unknown as ChainData),
  )
  assert.ok(turns >= 3, `${turns} turns of the loop`)
  // What it would be hashed to here is another id.
  assert.equal(JSON.parse(result.items[0] ?? '').tx_id, transaction.verboseData.transactionId)
})

test('the entry of one transaction is read, hashed, parsed and written in turns of the loop', async () => {
  const { transaction } = entry(1)
  const read = readTransaction(transaction)
  assert.ok(read.ok)
  const txId = transactionId(read.transaction)
  const value = { mempoolEntry: { fee: 5, is_orphan: false, transaction } }
  const upstreams = { network: 'testnet-10', call: async () => ({ ok: true, value, node: 'n' }) }
  const { turns, result } = await countTurns(() =>
    unindexed(txId, { upstreams, waitMs: 1_000 } as unknown as ChainData),
  )
  assert.ok(turns >= 3, `${turns} turns of the loop`)
  assert.equal(result.members.status, '"pending"')
})

test('a transaction that sends and receives counts once, also at the limit', async () => {
  const small = (n: number) => ({ ...entry(n), transaction: { ...entry(n).transaction, payload: '' } })
  const read = (sending: number[], receiving: number[], limit: number) => {
    const entries = [{ address: ADDRESS, sending: sending.map(small), receiving: receiving.map(small) }]
    const bytes = Buffer.from(JSON.stringify({ entries }))
    const upstreams = { network: 'testnet-10', callRaw: async () => ({ ok: true, bytes, node: 'n' }) }
    return inMempool(ADDRESS, limit, { upstreams, waitMs: 1_000 } as unknown as ChainData)
  }
  const cases: [number[], number[], number, { shown: number; hasMore: boolean }][] = [
    [[1], [1], 1, { shown: 1, hasMore: false }],
    [[1, 2], [2, 1], 2, { shown: 2, hasMore: false }],
    [[1, 2], [2, 1, 3], 2, { shown: 2, hasMore: true }],
    [[1, 2], [2, 1, 3], 3, { shown: 3, hasMore: false }],
    [[1, 2, 3], [], 2, { shown: 2, hasMore: true }],
  ]
  for (const [sending, receiving, limit, expected] of cases) {
    const { items, hasMore } = await read(sending, receiving, limit)
    assert.deepEqual({ shown: items.length, hasMore }, expected, JSON.stringify([sending, receiving, limit]))
  }
})

test('an answer without a list, or about another address, is not an address without pending transactions', async () => {
  const other = { address: 'kaspatest:other', sending: [], receiving: [] }
  const unfit = [
    {},
    { entries: null },
    { entries: [other] },
    { entries: [{ ...other, address: ADDRESS, sending: null }] },
    {
      entries: [
        { address: ADDRESS, sending: [], receiving: [{ ...entry(1), notes: Array(100_000).fill(0) }] },
      ],
    },
  ]
  for (const answer of unfit) {
    const bytes = Buffer.from(JSON.stringify(answer))
    const upstreams = { network: 'testnet-10', callRaw: async () => ({ ok: true, bytes, node: 'n' }) }
    const chain = { upstreams, waitMs: 1_000 } as unknown as ChainData
    const text = bytes.toString('utf8', 0, 200)
    await assert.rejects(pendingBalance(ADDRESS, chain, 'n'), { kind: 'upstream_error' }, text)
    await assert.rejects(inMempool(ADDRESS, 200, chain), { kind: 'upstream_error' }, text)
  }
})
