import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../test/fakes/stores.ts'
import { systemClock } from '../kit/clock.ts'
import { createWake } from '../kit/wake.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import { createNotificationQueue } from '../relay/notification-queue.ts'
import type { ChainGap, ChainPlace } from '../store/chain.ts'
import { writeNext } from '../store/conformance/chain-engine.ts'
import { followBlocks } from './follow-blocks.ts'
import { createIndexer } from './indexer.ts'

const hash = (digit: string) => digit.repeat(64)

/** One fill from a block that no node knows; the node's oldest block has that blue score. */
async function fillOver(oldestBlueScore: number, answerFrom?: (from: string) => string) {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  const now = () => 9_000
  const indexer = await createIndexer({ chain, events, network: 'testnet-10', now, dropAfterMs: 1 })
  const block = (digit: string, blueScore: number) => ({
    hash: hash(digit),
    blueScore,
    daaScore: blueScore,
    timeMs: blueScore * 1_000,
  })
  await writeNext(chain, { atMs: 1, start: block('1', 5), added: [{ ...block('9', 50), transactions: [] }] })
  const oldest = block('2', oldestBlueScore)
  const asked: string[] = []
  const unknown = async () => ({ kind: 'unknown_block' }) as const
  const bytes = Buffer.from('{"blockHashes":[],"blocks":[]}')
  const queries: ChainQueries = {
    chainFrom: unknown,
    blocksFrom: async (from) => {
      asked.push(from)
      if (answerFrom !== undefined) return { kind: 'bytes', bytes: Buffer.from(answerFrom(from)), node: 'n' }
      return from === oldest.hash ? { kind: 'bytes', bytes, node: 'n' } : { kind: 'unknown_block' }
    },
    mempool: unknown,
    acceptedFromBelow: unknown,
    block: async () => undefined,
    ends: async () => ({ node: 'a', sink: block('3', 60), oldest }),
  }
  const stop = new AbortController()
  const gaps: ChainGap[] = []
  const troubles: string[] = []
  let missing: ChainPlace | undefined = { hash: hash('0'), blueScore: 50 }
  await followBlocks({
    indexer,
    queries,
    queue: createNotificationQueue(systemClock),
    clock: systemClock,
    random: Math.random,
    wake: createWake(systemClock),
    signal: stop.signal,
    gatherMs: () => 1,
    prefer: () => undefined,
    hasStart: () => true,
    takeMissing: () => {
      if (missing === undefined) stop.abort()
      const taken = missing
      missing = undefined
      return taken
    },
    notifiedTo: () => undefined,
    recover: () => undefined,
    onWritten: () => {},
    onGap: (gap) => gaps.push(gap),
    onTrouble: (detail) => troubles.push(detail),
  })
  const written = await chain.gaps()
  assert.deepEqual(written, gaps)
  await close()
  return { written, asked, troubles }
}

test('blocks that no node has any more are a recorded gap, and those after it are recorded', async () => {
  const { written, asked, troubles } = await fillOver(20)
  assert.deepEqual(
    written.map(({ fromHash, toHash, toTimeMs, reason }) => ({ fromHash, toHash, toTimeMs, reason })),
    [{ fromHash: hash('1'), toHash: hash('2'), toTimeMs: 20_000, reason: 'blocks_pruned' }],
  )
  assert.deepEqual(asked, [hash('0'), hash('1'), hash('2')])
  assert.deepEqual(troubles, [])
})

test('a node that is behind, or a gap of the chain itself, is no gap of blocks', async () => {
  for (const score of [1, 51]) {
    const { written, troubles } = await fillOver(score)
    assert.deepEqual(written, [])
    assert.equal(troubles.length, 1)
  }
})

test('a node whose answers go round in circles, or have no scores, is not asked without end', async () => {
  const answer = (name: string, blueScore: unknown) => {
    const header = { hash: hash(name), blueScore, daaScore: 9, timestamp: 9_000 }
    const verboseData = { transactionIds: [], isChainBlock: true }
    return JSON.stringify({ blocks: [{ header, verboseData, transactions: [] }] })
  }
  const circle = await fillOver(20, (from) => answer(from === hash('a') ? 'b' : 'a', 60))
  assert.ok(circle.asked.length < 10, `${circle.asked.length} questions`)
  assert.match(circle.troubles.join(), /not above it/)
  for (const blueScore of [null, undefined, 'x', -1, 1.5]) {
    const { asked, troubles } = await fillOver(20, () => answer('a', blueScore))
    assert.ok(asked.length < 10, `${asked.length} questions`)
    assert.match(troubles.join(), /no score/)
  }
})
