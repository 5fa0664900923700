import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesIn } from '../../test/fakes/stores.ts'
import { gapBetween } from '../events/gap-event.ts'
import { systemClock } from '../kit/clock.ts'
import { createWake } from '../kit/wake.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import { createNotificationQueue } from '../relay/notification-queue.ts'
import type { ChainGap, ChainPlace } from '../store/chain.ts'
import { writeNext } from '../store/conformance/chain-engine.ts'
import { followBlocks } from './follow-blocks.ts'
import { createIndexer } from './indexer.ts'

const hash = (digit: string) => digit.repeat(64)

/** An answer of getBlocks, given the names and blue scores of blocks that are all in the chain. */
function blocksAnswer(...blocks: readonly (readonly [name: string, blueScore: unknown])[]): string {
  return JSON.stringify({
    blocks: blocks.map(([name, blueScore]) => ({
      header: { hash: hash(name), blueScore, daaScore: 9, timestamp: 9_000 },
      verboseData: { transactionIds: [], isChainBlock: true },
      transactions: [],
    })),
  })
}

const place = (digit: string, blueScore: number): ChainPlace => ({ hash: hash(digit), blueScore })

/**
 * Fills from block 0, with a followed chain of blocks 1 and 9 at blue scores 5 and 50. By default no node knows block
 * 0, and the node's oldest block, 2, has `oldestBlueScore`. Further `places` are lost one after another, between two
 * tries.
 */
async function fillOver(
  oldestBlueScore: number,
  answerFrom: (from: string) => string | undefined = (from) =>
    from === hash('2') ? blocksAnswer(['2', 50]) : undefined,
  places = [place('0', 50)],
  newestBlueScore = 50,
) {
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
  const queries: ChainQueries = {
    chainFrom: unknown,
    blocksFrom: async (from) => {
      asked.push(from)
      const text = answerFrom(from)
      return text === undefined
        ? { kind: 'unknown_block' }
        : { kind: 'bytes', bytes: Buffer.from(text), node: 'n' }
    },
    mempool: unknown,
    acceptedFromBelow: unknown,
    block: async () => undefined,
    avoid() {},
    ends: async () => ({ node: 'a', sink: block('3', newestBlueScore), oldest }),
  }
  const stop = new AbortController()
  const gaps: ChainGap[] = []
  const troubles: string[] = []
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
      if (places.length === 0) stop.abort()
      return places.shift()
    },
    notifiedTo: () => undefined,
    onSeen: () => {},
    recover: () => undefined,
    onWritten: () => {},
    onGap: (gap) => gaps.push(gap),
    onTrouble: (detail) => troubles.push(detail),
  })
  const written = await chain.gaps()
  assert.deepEqual(written, gaps)
  const logged = (await events.after({ afterSeq: 0, limit: 100 })).events.filter(
    ({ kind }) => kind === 'block_added',
  )
  await close()
  return { written, asked, troubles, logged: logged.length }
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
  const circle = await fillOver(20, (from) =>
    blocksAnswer([from.slice(0, 1), 60], [from === hash('a') ? 'b' : 'a', 60]),
  )
  assert.ok(circle.asked.length < 10, `${circle.asked.length} questions`)
  assert.match(circle.troubles.join(), /not above it/)
  for (const blueScore of [null, undefined, 'x', -1, 1.5]) {
    const { asked, troubles } = await fillOver(20, () => blocksAnswer(['0', blueScore]))
    assert.ok(asked.length < 10, `${asked.length} questions`)
    assert.match(troubles.join(), /no score/)
  }
})

test('blocks are not taken for complete by an answer to another question or one that ends below the followed chain', async () => {
  // The answer to the very first request, from when its block was the last one.
  const stale = await fillOver(20, () => blocksAnswer(['1', 5]))
  assert.equal(stale.logged, 0)
  assert.match(stale.troubles.join(), /asked from 0+, not from 1+/)
  const behind = await fillOver(20, () => blocksAnswer(['0', 49]))
  assert.equal(behind.logged, 1)
  assert.match(behind.troubles.join(), /of n end with 0+, below 9+/)
  const level = await fillOver(20, () => blocksAnswer(['0', 50]))
  assert.deepEqual(level.troubles, [])
})

test('blocks are not complete where the answering node is behind the one that is subscribed to', async () => {
  const { logged, troubles } = await fillOver(20, () => blocksAnswer(['0', 50]), [place('0', 50)], 60)
  assert.equal(logged, 1)
  assert.match(troubles.join(), /of n end with 0+, below 3+/)
})

test('a connection that is lost again while blocks could not be requested does not shorten what is requested', async () => {
  let questions = 0
  const again = await fillOver(
    20,
    (from) => {
      if (questions++ === 0) throw new Error('no node')
      return blocksAnswer([from.slice(0, 1), 50])
    },
    [place('0', 4), place('9', 50)],
  )
  assert.deepEqual(again.asked, [hash('0'), hash('0')])
  assert.deepEqual(again.troubles, ['no node'])
})

test('after a fault blocks are requested from where they were recorded to', async () => {
  let faults = 1
  const { asked, troubles, logged } = await fillOver(
    20,
    (from) => {
      if (from === hash('0')) return blocksAnswer(['0', 4], ['a', 30])
      if (from === hash('b')) return blocksAnswer(['b', 50])
      if (faults-- > 0) throw new Error('no node')
      return blocksAnswer(['a', 30], ['b', 50])
    },
    [place('0', 4), place('9', 50)],
  )
  assert.deepEqual(asked, [hash('0'), hash('a'), hash('a'), hash('b')])
  assert.deepEqual(troubles, ['no node'])
  assert.equal(logged, 3)
})

test('where the node is gone that had the last recorded block, the others are asked from an older one', async () => {
  const answerFrom = (from: string) => {
    if (from === hash('0')) return blocksAnswer(['0', 4], ['a', 30])
    if (from === hash('1')) return blocksAnswer(['1', 5], ['b', 50])
    return from === hash('b') ? blocksAnswer(['b', 50]) : undefined
  }
  const { asked, troubles, logged } = await fillOver(20, answerFrom, [place('0', 4), place('9', 50)])
  assert.deepEqual(asked, [hash('0'), hash('a'), hash('a'), hash('1'), hash('b')])
  assert.equal(troubles.length, 1)
  assert.equal(logged, 4)
})

test('where no node knows the oldest place any more, blocks are requested from the next one', async () => {
  let questions = 0
  const other = await fillOver(
    1,
    (from) => {
      if (questions++ === 0) throw new Error('no node')
      return from === hash('9') ? blocksAnswer(['9', 50]) : undefined
    },
    [place('0', 4), place('9', 50)],
  )
  assert.deepEqual(other.asked, [hash('0'), hash('0'), hash('1'), hash('9')])
  assert.equal(other.logged, 1)
})

test('a gap of blocks whose write is committed but reported as failed is recorded once', async () => {
  const { chain, events, close } = storesIn(':memory:').chain('test')
  let failures = 1
  const failing: typeof chain = {
    ...chain,
    async write(batch) {
      const written = await chain.write(batch)
      if (failures-- > 0) throw new Error('the disk failed')
      return written
    },
  }
  const now = () => 9_000
  const indexer = await createIndexer({
    ...{ chain: failing, events, network: 'testnet-10', now, dropAfterMs: 1 },
  })
  const block = { hash: hash('1'), blueScore: 5, daaScore: 5, timeMs: 5 }
  await writeNext(chain, { atMs: 1, start: block })
  const gap = gapBetween(block, { ...block, hash: hash('2') }, 'blocks_pruned', 7)
  await assert.rejects(indexer.recordGap(gap), /the disk failed/)
  await indexer.recordGap({ ...gap, atMs: 8 })
  assert.deepEqual(await chain.gaps(), [gap])
  const logged = (await events.after({ afterSeq: 0, limit: 100 })).events
  assert.equal(logged.length, 1)
  await close()
})
