import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeStatus } from '../../../upstreams/pool.ts'
import type { ChainData } from './chain-data.ts'
import { unindexed } from './transaction.ts'

const TX = 'ab'.repeat(32)

/**
 * Nodes with empty mempools, the first of them at score 100. `scores` are the positions of the index at its successive
 * reads. DAA and blue scores are the same.
 */
function chainOf({
  scores,
  isThere,
  nodes = { n: 100 },
  asked = [],
  sink,
}: {
  scores: number[]
  isThere: (reads: number) => boolean
  nodes?: Record<string, number>
  asked?: string[]
  sink?: unknown
}) {
  let [reads, nowMs] = [0, 0]
  const refusal = { reason: 'transaction_not_found', text: '' }
  return {
    upstreams: {
      nodes: () =>
        Object.entries(nodes).map(([name, daaScore]) => ({ name, daaScore, state: 'healthy' }) as NodeStatus),
      call: async (method: string, _: object, { stayOn: node = 'n' }: { stayOn?: string }) => {
        asked.push(`${method} ${node}`)
        return method === 'getSinkBlueScore'
          ? { ok: true, node, value: sink ?? { blueScore: nodes[node] } }
          : { ok: false, failure: { kind: 'refused', refusal, node } }
      },
    },
    index: {
      checkpoint: async () => {
        const [score = 0] = scores.length > 1 ? scores.splice(0, 1) : scores
        return { blueScore: score, daaScore: score }
      },
      transaction: async () =>
        isThere(++reads)
          ? {
              status: 'confirmed',
              parsed: '{}',
              blockTimeMs: 1,
              acceptingBlockTimeMs: 2,
              acceptingBlueScore: 90,
            }
          : undefined,
    },
    clock: {
      now: () => nowMs,
      sleep: async (ms: number) => {
        nowMs += ms
      },
    },
    waitMs: 1_000,
  } as unknown as ChainData
}

test('one that left the mempool for a block is found in the index, which follows a moment later', async () => {
  for (const place of [1, 2]) {
    const chain = chainOf({ scores: [98, 99, 100], isThere: (reads) => reads >= place })
    const { members, units } = await unindexed(TX, chain)
    assert.deepEqual([members.status, members.source, units], ['"confirmed"', '"index"', {}])
  }
})

test('not found is said only of an index that has caught up with the node', async () => {
  const isThere = () => false
  await assert.rejects(unindexed(TX, chainOf({ scores: [99, 100], isThere })), {
    kind: 'transaction_not_found',
  })
  const behind = { kind: 'upstream_unavailable', detail: { reason: 'index_behind', retry_after: 2 } }
  await assert.rejects(unindexed(TX, chainOf({ scores: [99], isThere })), behind)
  await assert.rejects(
    unindexed(TX, chainOf({ scores: [99], isThere }), () => true),
    behind,
  )
})

test('the node that an index behind the others follows may have it, and is no proof that it does not exist', async () => {
  const isThere = () => false
  const asked: string[] = []
  const nodes = { n: 400, far: 300, own: 110, old: 10 }
  const behind = { kind: 'upstream_unavailable', detail: { reason: 'index_behind', retry_after: 2 } }
  await assert.rejects(
    unindexed(TX, chainOf({ scores: [100, 109, 110], isThere, nodes, asked })),
    behind,
    'the first may have accepted what its own does not know',
  )
  const expected = ['getMempoolEntry n', 'getMempoolEntry own', 'getSinkBlueScore own']
  assert.deepEqual(asked, expected)
  const late = chainOf({ scores: [100, 109, 110], isThere: (reads) => reads >= 2, nodes })
  assert.equal((await unindexed(TX, late)).members.source, '"index"')
  const catchingUp = { scores: [100], isThere, nodes: { n: 400, far: 300 }, asked }
  asked.length = 0
  await assert.rejects(unindexed(TX, chainOf(catchingUp)), behind)
  assert.deepEqual(asked, ['getMempoolEntry n'], 'nobody waits for it')
})

test('a blue score that is none is an unusable answer, not an index that has caught up', async () => {
  for (const sink of [{}, { blueScore: 'x' }, { blueScore: -1 }, { blueScore: 1.5 }, { sink: 'ab' }])
    await assert.rejects(unindexed(TX, chainOf({ scores: [99], isThere: () => false, sink })), {
      kind: 'upstream_error',
    })
})
