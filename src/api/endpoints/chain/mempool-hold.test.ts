import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchTurns } from '../../../../test/fakes/loop-hold.ts'
import { encodeAddress } from '../../../core/chain/address.ts'
import { inMempool } from './address-activity.ts'
import type { ChainData } from './chain-data.ts'
import { pendingBalance } from './pending-balance.ts'

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
  ]
  for (const answer of unfit) {
    const bytes = Buffer.from(JSON.stringify(answer))
    const upstreams = { network: 'testnet-10', callRaw: async () => ({ ok: true, bytes, node: 'n' }) }
    const chain = { upstreams, waitMs: 1_000 } as unknown as ChainData
    const text = bytes.toString()
    await assert.rejects(pendingBalance(ADDRESS, chain, 'n'), { kind: 'upstream_error' }, text)
    await assert.rejects(inMempool(ADDRESS, 200, chain), { kind: 'upstream_error' }, text)
  }
})
