/** Balances over real sockets: all calls of a balance go to one node, whatever the other nodes are unable to do. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { poolOver } from '../../../../test/fakes/pool.ts'
import { startFakeNode } from '../../../../test/fakes/wrpc-node.ts'
import { until } from '../../../../test/until.ts'
import { encodeAddress } from '../../../core/chain/address.ts'
import { systemClock } from '../../../kit/clock.ts'
import type { NodeStatus } from '../../../upstreams/pool.ts'
import { balanceNow } from './address-balance.ts'
import { furthestNode } from './balance-node.ts'
import type { ChainData } from './chain-data.ts'
import { createPastBalances } from './past-balance.ts'

const ADDRESS = encodeAddress({ prefix: 'kaspa', version: 0, payload: Buffer.alloc(32, 7) })

/** A primary and a backup with a balance of 7 each, and an index that is slightly ahead of their score. */
async function rig(t: TestContext, { primaryHasIndex = true } = {}) {
  const primary = await startFakeNode()
  const backup = await startFakeNode()
  primary.state.hasUtxoIndex = primaryHasIndex
  for (const node of [primary, backup]) {
    if (node.state.hasUtxoIndex) node.respond.set('getBalanceByAddress', () => '{"balance":7}')
    else
      node.respond.set('getBalanceByAddress', () => ({
        error: 'Method unavailable. Run the node with the --utxoindex argument.',
      }))
    node.respond.set('getMempoolEntriesByAddresses', () => '{"entries":[]}')
    node.respond.set('getSinkBlueScore', () => '{"blueScore":100}')
  }
  const breaker = { failures: 1, openMs: 30_000, maxOpenMs: 30_000 }
  const { pool } = poolOver(t, [primary, backup], { breaker, heavySockets: 3 }, [1])
  await until('healthy', () => pool.nodes().every(({ state }) => state === 'healthy'))
  const chain = {
    ...{ upstreams: pool, waitMs: 20_000, clock: systemClock },
    index: { outputs: async () => [] },
  } as unknown as ChainData
  let reads = 0
  const past = createPastBalances({
    ...{ upstreams: pool, clock: systemClock, waitMs: 5_000 },
    index: {
      // First at the node's score, then past it.
      checkpoint: async () => ({ hash: '', blueScore: reads++ === 0 ? 100 : 105, daaScore: 1, timeMs: 1 }),
      coverageFromMs: async () => 0,
      indexedFromMs: async () => 0,
      gaps: async () => [],
      addressMoved: async () => ({ received: 0n, sent: 0n, rows: 0, next: undefined }),
    },
  })
  return { primary, backup, pool, chain, past }
}

test('a primary without the UTXO index does not answer a part of a balance', async (t) => {
  const { primary, chain, past } = await rig(t, { primaryHasIndex: false })
  const { confirmed, pending } = await balanceNow(ADDRESS, chain)
  assert.deepEqual([confirmed, pending.node, pending.isOfOne], [7n, 'n1', true])
  assert.equal(await past.at(ADDRESS, 1_000), 7n)
  for (const method of ['getMempoolEntriesByAddresses', 'getSinkBlueScore'])
    assert.equal(primary.received(method), 0, method)
})

test('a balance moves to the backup while heavy calls hang on the primary, and begins there once they keep failing', async (t) => {
  const { primary, pool, chain } = await rig(t)
  primary.respond.set('getMempoolEntriesByAddresses', () => undefined)
  const moved = await balanceNow(ADDRESS, chain)
  assert.deepEqual([moved.confirmed, moved.pending.node], [7n, 'n1'])
  assert.equal(pool.nodes()[0]?.breaker, 'open')
  const asked = primary.received('getBalanceByAddress')
  const later = await balanceNow(ADDRESS, chain)
  assert.deepEqual([later.confirmed, later.pending.node], [7n, 'n1'])
  assert.equal(primary.received('getBalanceByAddress'), asked)
  // The only node with the index is asked even if its breaker is open.
  primary.respond.set('getMempoolEntriesByAddresses', () => '{"entries":[]}')
  const outcome = await pool.callRaw(
    'getMempoolEntriesByAddresses',
    { addresses: [ADDRESS] },
    { stayOn: 'n0' },
  )
  assert.ok(outcome.ok && outcome.node === 'n0')
})

test('a past balance begins on the furthest primary, and on a backup only without one or once it was behind', () => {
  const able = { state: 'healthy', connected: true, utxoIndex: true, breaker: 'closed', tier: 'primary' }
  const node = (name: string, daaScore: number, rest: object = {}) =>
    ({ ...able, name, daaScore, ...rest }) as NodeStatus
  const backup = node('backup', 103, { tier: 'backup' })
  const broken = node('broken', 104, { breaker: 'open' })
  const nodes = [node('a', 100), node('b', 101), backup, broken]
  assert.equal(furthestNode(nodes), 'b')
  assert.equal(furthestNode(nodes, { alsoBackups: true }), 'backup')
  assert.equal(furthestNode([backup, node('level', 103)], { alsoBackups: true }), 'level')
  assert.equal(furthestNode([backup, broken]), 'backup')
  assert.equal(furthestNode([broken]), undefined)
})
