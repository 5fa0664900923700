import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import type { Clock } from '../kit/clock.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import type { ChainBlock } from '../store/chain.ts'
import { writeNext } from '../store/conformance/chain-engine.ts'
import { type FollowChainOptions, followChain } from './follow-chain.ts'
import { createIndexer, type Indexer } from './indexer.ts'

const TIP = { hash: 'aa', blueScore: 1_000, daaScore: 1_000, timeMs: 1 }

function follow(
  indexer: Indexer,
  queries: ChainQueries,
  clock: Clock,
  signal: AbortSignal,
  onTrouble: (detail: string) => void = (detail) => assert.fail(detail),
  calls: Partial<Pick<FollowChainOptions, 'onStarted' | 'onGap'>> = {},
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
    onTrouble,
    ...calls,
  })
}

/** A clock whose date is set forward by an hour after three seconds. */
function setForward(time: ManualClock): Clock {
  const now = () => time.now() + (time.now() > 3_000 ? 3_600_000 : 0)
  return { ...time, now, elapsed: () => time.now() }
}

/**
 * The second, within a minute, at which the chain of a node is followed whose end at each second is `endAt(second)`.
 */
async function forcedAfter(
  endAt: (second: number) => number,
  clockOf: (time: ManualClock) => Clock = (time) => time,
): Promise<number | undefined> {
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
      return { checkpoint: undefined, added: 0, removed: 0, goesOn: false, behindAt, newestSeq: undefined }
    },
  }
  const queries: Partial<ChainQueries> = {
    chainFrom: async () => ({ kind: 'bytes', bytes: Buffer.from('{}'), node: 'a' }),
  }
  const following = follow(indexer as Indexer, queries as ChainQueries, clockOf(clock), stop.signal)
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
  // One block in eight seconds is slow growth, but still growth.
  assert.equal(await forcedAfter((second) => 500 + Math.floor(second / 8)), undefined)
  const standing = await forcedAfter(() => 500)
  assert.ok(standing !== undefined && standing >= 10 && standing <= 13, `${standing} s`)
  const caught = await forcedAfter((second) => 500 + Math.min(second, 20))
  assert.ok(caught !== undefined && caught >= 30 && caught <= 33, `${caught} s`)
})

test('a system clock that is set forward does not shorten the wait for a node that is behind', async () => {
  const standing = await forcedAfter(() => 500, setForward)
  assert.ok(standing !== undefined && standing >= 10 && standing <= 13, `${standing} s`)
  assert.equal(await startedAfterGap(30), false)
  assert.equal(await startedAfterGap(700), true)
})

/** Whether, within that time, the index gives up a chain of which a node that is behind has no block. */
async function startedAfterGap(seconds: number): Promise<boolean> {
  const time = manualClock(0)
  const stop = new AbortController()
  let isStarted = false
  const indexer: Partial<Indexer> = {
    checkpoint: async () => TIP,
    chainBlockBelow: async () => TIP,
    seenTo: async () => undefined,
    recordedTo: async () => undefined,
    startAt: async () => {
      isStarted = true
    },
  }
  const behind = { ...TIP, hash: 'bb', blueScore: 500 }
  const queries: Partial<ChainQueries> = {
    chainFrom: async () => ({ kind: 'unknown_block' }),
    acceptedFromBelow: async () => ({ kind: 'unknown_block' }),
    ends: async () => ({ node: 'a', sink: behind, oldest: behind }),
  }
  const clock = setForward(time)
  const following = follow(indexer as Indexer, queries as ChainQueries, clock, stop.signal, () => {})
  for (let second = 0; second < seconds && !isStarted; second++) {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    time.advance(1_000)
  }
  stop.abort()
  await following
  return isStarted
}

const OWN_BLOCKS = 1_500
const PAGE_BLOCKS = 150
const block = (branch: 'a' | 'b', n: number) => ({
  hash: `${branch}${String(n).padStart(63, '0')}`,
  ...{ blueScore: n, daaScore: n, timeMs: n },
})
type TestBlock = ReturnType<typeof block>

/** Half a minute with a node that has this chain and sends it page by page; ours has 1,500 blocks. */
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
  // A node that has only the beginning of our chain is behind, and waiting for it takes few requests.
  const behind = await followNode(shared)
  assert.equal(behind.checkpoint?.hash, block('a', OWN_BLOCKS).hash)
  assert.ok(behind.lastSecond <= 2, `${behind.lastSecond} questions`)
})

test('a start that is committed but reported as failed is reported like any other', async () => {
  for (const before of [undefined, TIP]) {
    const clock = manualClock(0)
    const stop = new AbortController()
    const start = { ...TIP, hash: 'bb', blueScore: 2_000 }
    let checkpoint: ChainBlock | undefined = before
    const indexer: Partial<Indexer> = {
      checkpoint: async () => checkpoint,
      chainBlockBelow: async () => checkpoint,
      seenTo: async () => undefined,
      recordedTo: async () => undefined,
      startAt: async (block) => {
        checkpoint = block
        throw new Error('the disk failed')
      },
      applyChain: async () => ({
        ...{
          checkpoint: undefined,
          added: 0,
          removed: 0,
          goesOn: false,
          behindAt: undefined,
          newestSeq: undefined,
        },
      }),
    }
    const queries: Partial<ChainQueries> = {
      chainFrom: async (hash) =>
        hash === start.hash
          ? { kind: 'bytes', bytes: Buffer.from('{}'), node: 'a' }
          : { kind: 'unknown_block' },
      acceptedFromBelow: async () => ({ kind: 'unknown_block' }),
      ends: async () => ({ node: 'a', sink: start, oldest: start }),
    }
    const started: (string | undefined)[] = []
    const gaps: string[] = []
    const following = follow(indexer as Indexer, queries as ChainQueries, clock, stop.signal, () => {}, {
      onStarted: (first) => started.push(first?.hash),
      onGap: (gap) => gaps.push(`${gap.fromHash}-${gap.toHash}`),
    })
    for (let second = 0; second < 20; second++) {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      clock.advance(1_000)
    }
    stop.abort()
    await following
    assert.deepEqual(
      { started, gaps },
      before === undefined ? { started: ['bb'], gaps: [] } : { started: [undefined], gaps: ['aa-bb'] },
    )
  }
})
