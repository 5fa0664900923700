import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../kit/clock.ts'
import { createWake } from '../kit/wake.ts'
import type { CatchUp } from '../relay/catch-up.ts'
import { createReceiver } from '../relay/receive.ts'
import type { ChainGap } from '../store/chain.ts'
import { openSqliteChain } from '../store/sqlite/chain.ts'
import { followBlocks } from './follow-blocks.ts'
import { createIndexer } from './indexer.ts'

const hash = (digit: string) => digit.repeat(64)

test('blocks that no node has any more are a recorded gap', async (t) => {
  const { chain, events, close } = openSqliteChain({ file: ':memory:' })
  t.after(close)
  const now = () => 9_000
  const indexer = await createIndexer({ chain, events, network: 'testnet-10', now, dropAfterMs: 1 })
  await indexer.startAt({ hash: hash('1'), blueScore: 5, daaScore: 6, timeMs: 5_000 }, undefined)
  const unknown = async () => ({ kind: 'unknown_block' }) as const
  const catchUp: CatchUp = {
    chainFrom: unknown,
    blocksFrom: unknown,
    mempool: unknown,
    ends: async () => undefined,
  }
  const stop = new AbortController()
  const gaps: ChainGap[] = []
  let missing: string | undefined = hash('0')
  await followBlocks({
    indexer,
    catchUp,
    receiver: createReceiver(),
    clock: systemClock,
    wake: createWake(),
    signal: stop.signal,
    prefer: () => undefined,
    takeMissing: () => {
      const taken = missing
      missing = undefined
      return taken
    },
    recover: () => undefined,
    onWritten: () => {},
    onGap: (gap) => {
      gaps.push(gap)
      stop.abort()
    },
    onTrouble: (detail) => assert.fail(detail),
  })
  const written = await chain.gaps()
  assert.deepEqual(written, gaps)
  assert.deepEqual(
    written.map(({ fromHash, toHash, toTimeMs, reason }) => ({ fromHash, toHash, toTimeMs, reason })),
    [{ fromHash: hash('1'), toHash: hash('1'), toTimeMs: 5_000, reason: 'blocks_pruned' }],
  )
})
