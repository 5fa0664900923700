import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainAnswer, ChainQueries } from '../relay/chain-queries.ts'
import type { ChainBlock, ChainGap } from '../store/chain.ts'
import { findKnownBlock, startAfterGap } from './checkpoint.ts'

const block = (n: number): ChainBlock => ({ hash: `b${n}`, blueScore: n, daaScore: n, timeMs: n * 1000 })
const KNOWN: ChainAnswer = { kind: 'bytes', bytes: new Uint8Array(), node: 'a' }
const UNKNOWN: ChainAnswer = { kind: 'unknown_block' }

/**
 * The index follows blocks 90 to 100 and has recorded those up to `recordedTo`. The node has blocks `node.from` to
 * `node.to`.
 */
function rig(node: { from: number; to: number }, recordedTo?: number) {
  const started: { at: ChainBlock; gaps: readonly ChainGap[] }[] = []
  const unused = () => Promise.reject(new Error('not asked here'))
  const queries: ChainQueries = {
    chainFrom: async (hash) => {
      const n = Number(hash.slice(1))
      return n >= node.from && n <= node.to ? KNOWN : UNKNOWN
    },
    ends: async () => ({ node: 'a', sink: block(node.to), oldest: block(node.from) }),
    blocksFrom: unused,
    mempool: unused,
    acceptedFromBelow: unused,
    block: unused,
    avoid() {},
  }
  const indexer = {
    chainBlockBelow: async (steps: number) => block(Math.max(90, 100 - steps)),
    recordedTo: async () => (recordedTo === undefined ? undefined : block(recordedTo)),
    startAt: async (at: ChainBlock, gaps: readonly ChainGap[]) => void started.push({ at, gaps }),
  }
  return { node, started, queries, indexer }
}

test('a chain that no node has any more is a gap, and the index goes on with the oldest block there is', async () => {
  const { indexer, queries, started } = rig({ from: 150, to: 300 })
  assert.equal((await findKnownBlock(indexer, queries, undefined)).kind, 'lost')
  const gaps = await startAfterGap(indexer, queries, block(100), { nowMs: 7, patient: true })
  assert.deepEqual(
    gaps?.map(({ reason }) => reason),
    ['pruned'],
  )
  assert.deepEqual(started, [{ at: block(150), gaps }])
})

test('blocks of a chain that was followed further than they were recorded are lost with it: a gap of their own', async () => {
  const { indexer, queries, started } = rig({ from: 150, to: 300 }, 94)
  const gaps = await startAfterGap(indexer, queries, block(100), { nowMs: 7, patient: true })
  assert.deepEqual(
    gaps?.map(({ reason, fromHash, toHash }) => ({ reason, fromHash, toHash })),
    [
      { reason: 'blocks_pruned', fromHash: 'b94', toHash: 'b100' },
      { reason: 'pruned', fromHash: 'b100', toHash: 'b150' },
    ],
  )
  assert.deepEqual(started, [{ at: block(150), gaps }])
})

test('a node that is behind is given time, and one that has caught up since it was asked has no gap', async () => {
  const { indexer, node, queries, started } = rig({ from: 1, to: 60 })
  assert.equal((await findKnownBlock(indexer, queries, undefined)).kind, 'lost')
  const again = () => startAfterGap(indexer, queries, block(100), { nowMs: 7, patient: true })
  assert.equal(await again(), undefined)
  node.to = 120
  assert.equal(await again(), undefined)
  assert.deepEqual(started, [])
})
