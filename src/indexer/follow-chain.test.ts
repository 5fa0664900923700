import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import { writeNext } from '../store/conformance/chain-engine.ts'
import { followChain } from './follow-chain.ts'
import { createIndexer, type Indexer } from './indexer.ts'

const TIP = { hash: 'aa', blueScore: 1_000, daaScore: 1_000, timeMs: 1 }

function follow(
  indexer: Indexer,
  queries: ChainQueries,
  clock: ManualClock,
  signal: AbortSignal,
): Promise<void> {
  return followChain({
    indexer,
    queries,
    clock,
    random: () => 0.5,
    wake: {
      ring() {},
      wait: (ms, waiting) => clock.sleep(ms, waiting).catch(() => {}),
      gather: async () => {},
    },
    signal,
    gatherMs: () => 0,
    prefer: () => undefined,
    onStarted: () => {},
    onApplied: () => {},
    onGap: () => {},
    onTrouble: (detail) => assert.fail(detail),
  })
}

/** After how many seconds, of a minute, the chain of a node that ends there at that second is followed. */
async function forcedAfter(endAt: (second: number) => number): Promise<number | undefined> {
  const clock: ManualClock = manualClock(0)
  const stop = new AbortController()
  let forcedMs: number | undefined
  const indexer: Partial<Indexer> = {
    checkpoint: async () => TIP,
    chainBlockBelow: async () => undefined,
    seenTo: async () => undefined,
    applyChain: async (_startHash, _bytes, force) => {
      if (force) forcedMs ??= clock.now()
      const behindAt = force ? undefined : endAt(Math.floor(clock.now() / 1_000))
      return { checkpoint: undefined, added: 0, removed: 0, behindAt, newestSeq: undefined }
    },
  }
  const queries: Partial<ChainQueries> = {
    chainFrom: async () => ({ kind: 'bytes', bytes: Buffer.from('{}'), node: 'a' }),
  }
  const following = follow(indexer as Indexer, queries as ChainQueries, clock, stop.signal)
  for (let second = 0; second < 60; second++) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(1_000)
  }
  stop.abort()
  await following
  return forcedMs === undefined ? undefined : forcedMs / 1_000
}

test('a lighter chain is followed when it stands still, not while its node catches up', async () => {
  assert.equal(await forcedAfter((second) => 500 + second), undefined)
  // One block in eight seconds is little, and still no other chain.
  assert.equal(await forcedAfter((second) => 500 + Math.floor(second / 8)), undefined)
  const standing = await forcedAfter(() => 500)
  assert.ok(standing !== undefined && standing >= 10 && standing <= 13, `${standing} s`)
  const caught = await forcedAfter((second) => 500 + Math.min(second, 20))
  assert.ok(caught !== undefined && caught >= 30 && caught <= 33, `${caught} s`)
})

const OWN_BLOCKS = 1_500
const PAGE_BLOCKS = 150
const block = (branch: 'a' | 'b', n: number) => ({
  hash: `${branch}${String(n).padStart(63, '0')}`,
  ...{ blueScore: n, daaScore: n, timeMs: n },
})
type TestBlock = ReturnType<typeof block>

/** Half a minute with a node that has this chain, of which it sends a page at a time; ours has 1,500 blocks. */
async function followNode(nodeChain: readonly TestBlock[]) {
  const clock: ManualClock = manualClock(0)
  const stop = new AbortController()
  const { chain, events, close } = storesIn(':memory:').chain('test')
  const options = { chain, events, network: 'testnet-10', now: () => clock.now(), dropAfterMs: 1 } as const
  const indexer = await createIndexer(options)
  const added = Array.from({ length: OWN_BLOCKS }, (_, n) => ({ ...block('a', n + 1), transactions: [] }))
  await writeNext(chain, { atMs: 0, start: block('a', 0), added })
  let questions = 0
  const queries: Partial<ChainQueries> = {
    async chainFrom(hash) {
      questions++
      const at = nodeChain.findIndex((one) => one.hash === hash)
      if (at < 0) return { kind: 'unknown_block' }
      const page = nodeChain.slice(at + 1, at + 1 + PAGE_BLOCKS)
      const answer = {
        removedChainBlockHashes: [],
        addedChainBlockHashes: page.map((one) => one.hash),
        chainBlockAcceptedTransactions: page.map(({ timeMs, ...header }) => ({
          chainBlockHeader: { ...header, timestamp: timeMs },
          acceptedTransactions: [],
        })),
      }
      return { kind: 'bytes', bytes: Buffer.from(JSON.stringify(answer)), node: 'n' }
    },
    acceptedFromBelow: async () => ({ kind: 'unknown_block' }),
  }
  const following = follow(indexer, queries as ChainQueries, clock, stop.signal)
  const asked: number[] = []
  for (let second = 0; second < 30; second++) {
    await indexer.checkpoint()
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
    asked.push(questions)
    clock.advance(1_000)
  }
  stop.abort()
  await following
  const checkpoint = await chain.checkpoint()
  await close()
  return { checkpoint, lastSecond: (asked.at(-1) ?? 0) - (asked.at(-2) ?? 0) }
}

test('nodes that share less than is asked for, and more than one answer, are followed from where their chain leaves ours', async () => {
  const shared = Array.from({ length: 801 }, (_, n) => block('a', n))
  const other = Array.from({ length: 1_000 }, (_, n) => block('b', 801 + n))
  const left = await followNode([...shared, ...other])
  assert.equal(left.checkpoint?.hash, other.at(-1)?.hash)
  // A node that has only the beginning of our chain is behind: it is waited for, with few questions.
  const behind = await followNode(shared)
  assert.equal(behind.checkpoint?.hash, block('a', OWN_BLOCKS).hash)
  assert.ok(behind.lastSecond <= 2, `${behind.lastSecond} questions`)
})
