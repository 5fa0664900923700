/** A simulated chain with nodes, the pool, and an indexer that follows it, for tests of the index. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type RunningSandboxChain,
  type RunningSandboxNode,
  type SandboxChainOptions,
  startSandboxChain,
  startSandboxNode,
} from '../../sandbox/node/run.ts'
import { startFollowing } from '../../src/indexer/follow.ts'
import { createIndexer, type Indexer } from '../../src/indexer/indexer.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createWatchedAddresses } from '../../src/relay/addresses.ts'
import type { ChainGap, ChainStore, ChainStores } from '../../src/store/chain.ts'
import type { StoredEvent } from '../../src/store/events.ts'
import { createUpstreams, type Upstreams } from '../../src/upstreams/pool.ts'
import { storesIn } from './stores.ts'

const NETWORK = 'testnet-10'

interface FollowedChain {
  readonly database: ChainStores
  readonly upstreams: Upstreams
  readonly troubles: string[]
  readonly gaps: ChainGap[]
  stop(): Promise<void>
}

export interface ChainRig {
  readonly folder: string
  readonly chain: RunningSandboxChain
  readonly nodes: RunningSandboxNode[]
  /** Starts an indexer on the rig's folder, in this thread. */
  follow(options?: {
    urls?: readonly string[]
    dropAfterMs?: number
    /** Overrides a part of the indexer's work. */
    wrap?: (indexer: Indexer) => Indexer
  }): Promise<FollowedChain>
  close(): Promise<void>
}

/** So that a test does not wait for a probe. */
const FAST = { probeEveryMs: 100, probeTimeoutMs: 400, badProbes: 2, goodProbes: 1 }

export async function startChainRig(
  options: SandboxChainOptions & { nodes?: number } = {},
): Promise<ChainRig> {
  const { nodes: count = 1, ...chainOptions } = options
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-chain-'))
  const chain = await startSandboxChain(chainOptions)
  const nodes: RunningSandboxNode[] = []
  for (let i = 0; i < count; i++) nodes.push(await startSandboxNode({ chain, name: `node-${i + 1}` }))
  const following = new Set<FollowedChain>()
  return {
    folder,
    chain,
    nodes,
    async follow({
      urls = nodes.map((node) => node.url),
      dropAfterMs = 60_000,
      wrap = (indexer: Indexer) => indexer,
    } = {}) {
      const upstreams = createUpstreams({
        network: NETWORK,
        nodes: urls.map((url, i) => ({ name: `node-${i + 1}`, url, tier: 'primary' })),
        clock: systemClock,
        random: Math.random,
        settings: FAST,
      })
      await upstreams.ready(60_000)
      const database = storesIn(folder).chain('test', { inline: true })
      const troubles: string[] = []
      const gaps: ChainGap[] = []
      const indexer = await createIndexer({
        ...database,
        network: NETWORK,
        now: () => systemClock.now(),
        dropAfterMs,
        onUnreadable: (detail) => troubles.push(`unreadable ${detail}`),
      })
      const loops = await startFollowing({
        upstreams,
        indexer: wrap(indexer),
        watched: createWatchedAddresses({ network: NETWORK, cap: 100 }),
        clock: systemClock,
        random: Math.random,
        keep: { eventDays: 365, eventBytes: 1e12, indexDays: null },
        mempoolPace: { minMs: 100, flowMs: 100, quietMs: 100 },
        onWritten: () => {},
        onGap: (gap) => gaps.push(gap),
        onTrouble: (part, detail) => troubles.push(`${part}: ${detail}`),
      })
      let stopped: Promise<void> | undefined
      const followed: FollowedChain = {
        database,
        upstreams,
        troubles,
        gaps,
        stop() {
          following.delete(followed)
          stopped ??= loops
            .close()
            .then(() => upstreams.close())
            .then(() => database.close())
          return stopped
        },
      }
      following.add(followed)
      return followed
    },
    async close() {
      for (const followed of following) await followed.stop()
      for (const node of nodes) await node.close()
      await chain.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Waits until the index has reached the node's sink. */
export async function caughtUp(database: ChainStores, sink: () => string, limitMs = 120_000): Promise<void> {
  const endsAt = performance.now() + limitMs
  for (;;) {
    const checkpoint = await database.chain.checkpoint()
    if (checkpoint?.hash === sink()) return
    if (performance.now() > endsAt)
      throw new Error(`the index is at ${checkpoint?.hash}, the node at ${sink()}`)
    await systemClock.sleep(20)
  }
}

/** The depth of a reorganisation that undoes this many followed blocks, however far the index is behind. */
export async function depthOver(
  chain: ChainStore,
  node: RunningSandboxNode,
  blocks: number,
): Promise<number> {
  // The last block itself may have left the chain in the meantime.
  const stays = await chain.chainBlockBelow(blocks)
  const hashes = node.truth.chain().map(({ hash }) => hash)
  const at = hashes.indexOf(stays?.hash ?? '')
  if (at < 0) throw new Error('the followed chain is not that of the node')
  return hashes.length - 1 - at
}

export async function allEvents(database: ChainStores): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for (let afterSeq = 0; ; ) {
    const page = await database.events.after({ afterSeq, limit: 1_000 })
    events.push(...page.events)
    afterSeq = page.upToSeq
    if (!page.more) return events
  }
}

/** Waits until nothing more is written: the chain has stopped and all of it is recorded. */
export async function settled(database: ChainStores): Promise<void> {
  let before = (await database.events.bounds()).newestSeq
  // Twice, because a busy machine may take longer than once for blocks that are requested again.
  for (let unchanged = 0; unchanged < 2; ) {
    // Longer than blocks are gathered while there are no listeners.
    await systemClock.sleep(1_200)
    const { newestSeq } = await database.events.bounds()
    unchanged = newestSeq === before ? unchanged + 1 : 0
    before = newestSeq
  }
}
