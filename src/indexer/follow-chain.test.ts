import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ManualClock, manualClock } from '../../test/fakes/manual-clock.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import { followChain } from './follow-chain.ts'
import type { Indexer } from './indexer.ts'

const TIP = { hash: 'aa', blueScore: 1_000, daaScore: 1_000, timeMs: 1 }

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
  const following = followChain({
    indexer: indexer as Indexer,
    queries: queries as ChainQueries,
    clock,
    random: () => 0.5,
    wake: {
      ring() {},
      wait: (ms, signal) => clock.sleep(ms, signal).catch(() => {}),
      gather: async () => {},
    },
    signal: stop.signal,
    gatherMs: () => 0,
    prefer: () => undefined,
    onStarted: () => {},
    onApplied: () => {},
    onGap: () => {},
    onTrouble: (detail) => assert.fail(detail),
  })
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
