/** Starts and stops everything that keeps the index and the event log at the end of the chain. */
import type { Clock } from '../kit/clock.ts'
import { createWake } from '../kit/wake.ts'
import type { WatchedAddresses } from '../relay/addresses.ts'
import { createChainQueries } from '../relay/chain-queries.ts'
import { createNotificationQueue } from '../relay/notification-queue.ts'
import { subscribe } from '../relay/subscribe.ts'
import type { ChainGap, ChainPlace } from '../store/chain.ts'
import type { Upstreams } from '../upstreams/pool.ts'
import { followBlocks } from './follow-blocks.ts'
import { followChain } from './follow-chain.ts'
import { followMempool, MEMPOOL_PACE, type MempoolPace } from './follow-mempool.ts'
import type { ChainApplied, Indexer } from './indexer.ts'
import { keepPruning, type RetentionSettings } from './prune.ts'
import { createTrail } from './trail.ts'

export interface FollowingOptions {
  upstreams: Upstreams
  indexer: Indexer
  watched: WatchedAddresses
  clock: Clock
  random: () => number
  keep: RetentionSettings
  mempoolPace?: MempoolPace
  /** Whether nobody listens to events now. If omitted, somebody may. */
  isIdle?: () => boolean
  /** The log has grown up to this sequence number. */
  onWritten: (newestSeq: number) => void
  onApplied?: (applied: ChainApplied) => void
  onGap?: (gap: ChainGap) => void
  onTrouble?: (part: 'chain' | 'mempool' | 'blocks' | 'prune', detail: string) => void
}

export interface Following {
  close(): Promise<void>
}

/**
 * How long notifications are gathered before they are acted upon. It is slightly more than the time between two blocks,
 * so that two blocks share one query and one write each, and an event waits for a twentieth of a second on average.
 */
const GATHER_MS = 110
/** Used while nobody listens to events. The data that calls read is at most this much older. */
const GATHER_IDLE_MS = 500
/** Blocks that may have been received but not written when the process ended. */
const RESTART_MARGIN_BLOCKS = 100
/** A call may return a chain block before the notifications of the blocks that it merges have arrived. */
const NOTIFICATION_DELAY_MS = 5_000
/** How long notifications may have waited in a queue that then overflowed. */
const QUEUE_DELAY_MS = 60_000

export async function startFollowing(options: FollowingOptions): Promise<Following> {
  const { upstreams, indexer, clock, watched } = options
  const stop = new AbortController()
  const { signal } = stop
  const queries = createChainQueries(upstreams, clock, signal)
  const queue = createNotificationQueue(clock)
  const chainWake = createWake(clock)
  const blocksWake = createWake(clock)
  let node: string | undefined
  /** The highest sink that the subscribed node has announced. It has not sent blocks above that yet. */
  let sinkScore: number | undefined
  /** Counts how often the subscriptions came up, because a restarted node has another mempool. */
  let lives = 0
  const trail = createTrail(
    (await indexer.seenTo()) ?? (await indexer.chainBlockBelow(RESTART_MARGIN_BLOCKS)),
  )
  let lastNotificationMs = clock.now()
  /**
   * Nothing is taken in until the index has its first block: an older block or mempool would show transactions that
   * were accepted before it, whose acceptance would never be seen. A young index that restarts first has to learn again
   * what was accepted before it.
   */
  let hasStart = false
  /** Blocks from this chain block on may not have been recorded. */
  let missingFrom = trail.before(lastNotificationMs)

  const mayMiss = (from: ChainPlace) => {
    missingFrom ??= from
    blocksWake.ring()
  }
  /** Calls that a stop cancels are not reported as trouble. */
  const trouble = (part: 'chain' | 'mempool' | 'blocks' | 'prune') => (detail: string) => {
    if (!signal.aborted) options.onTrouble?.(part, detail)
  }
  const common = {
    indexer,
    queries,
    clock,
    random: options.random,
    signal,
    gatherMs: () => (options.isIdle?.() === true ? GATHER_IDLE_MS : GATHER_MS),
    prefer: () => node,
    onWritten: options.onWritten,
  }
  const subscriptions = subscribe({
    upstreams,
    clock,
    watched,
    queue,
    onChain: chainWake.ring,
    onNotifications: () => {
      lastNotificationMs = clock.now()
      blocksWake.ring()
    },
    onSink: (blueScore) => {
      sinkScore = Math.max(sinkScore ?? 0, blueScore)
    },
    onLive: (at) => {
      node = at
      sinkScore = undefined
      lives++
      chainWake.ring()
      blocksWake.ring()
    },
    onLost: () => {
      node = undefined
      missingFrom ??= trail.before(lastNotificationMs - NOTIFICATION_DELAY_MS, sinkScore)
    },
  })
  const running = [
    followChain({
      ...common,
      wake: chainWake,
      onApplied: (applied) => {
        if (applied.checkpoint) trail.add(applied.checkpoint, clock.now())
        if (applied.newestSeq !== undefined) options.onWritten(applied.newestSeq)
        options.onApplied?.(applied)
      },
      onStarted: (first) => {
        hasStart = true
        // Notifications received since then are requested again, together with all other blocks after the first.
        if (first !== undefined) queue.clear()
        if (first !== undefined) mayMiss(first)
        else blocksWake.ring()
      },
      onGap: (gap) => {
        if (gap.reason === 'pruned') mayMiss({ hash: gap.toHash, blueScore: gap.fromBlueScore })
        options.onGap?.(gap)
      },
      onTrouble: trouble('chain'),
    }),
    followBlocks({
      ...common,
      queue,
      wake: blocksWake,
      hasStart: () => hasStart,
      takeMissing: () => {
        if (queue.wasBroken()) missingFrom ??= trail.unwritten(lastNotificationMs - QUEUE_DELAY_MS, sinkScore)
        if (node === undefined || !hasStart) return undefined
        const taken = missingFrom
        missingFrom = undefined
        return taken
      },
      notifiedTo: () =>
        missingFrom === undefined
          ? trail.at(lastNotificationMs - NOTIFICATION_DELAY_MS, sinkScore)
          : undefined,
      onSeen: trail.seen,
      onGap: (gap) => options.onGap?.(gap),
      recover: () => trail.unwritten(lastNotificationMs - QUEUE_DELAY_MS, sinkScore),
      onTrouble: trouble('blocks'),
    }),
    followMempool({
      ...common,
      hasStart: () => hasStart,
      pace: () => {
        const pace = options.mempoolPace ?? MEMPOOL_PACE
        return options.isIdle?.() === true ? { ...pace, minMs: pace.flowMs } : pace
      },
      mempoolOf: (answering) => `${answering}#${lives}`,
      onTrouble: trouble('mempool'),
    }),
    keepPruning({ indexer, clock, signal, keep: options.keep, onTrouble: trouble('prune') }),
  ]
  return {
    async close() {
      stop.abort()
      subscriptions.close()
      await Promise.all(running)
    },
  }
}
