/**
 * Turns the node's answers into index rows and events. It does no networking: answers arrive as the bytes that the
 * node sent, so that it can run in its own thread. It does one piece of work at a time, in order.
 *
 * The path of a block from the node to a webhook:
 *
 *   main thread     upstreams/wrpc ─▶ node-subscriptions ─▶ relay/subscribe        "the chain may have moved"
 *                   ─▶ indexer/follow-chain ─▶ relay/chain-queries ─▶ upstreams/pool
 *   heavy thread    upstreams/heavy-connections ─▶ wrpc ─▶ wrpc-message            the answer's bytes, moved back
 *   main thread     ─▶ follow-chain ─▶ app/index-worker                            the bytes, moved on
 *   indexer thread  this file ─▶ apply-chain ─▶ read-chain ─▶ apply-block or revert-block
 *                   (parser/parse-transaction, index-address, batch) ─▶ store/chain `write`: rows, events and
 *                   checkpoint in one transaction
 *   main thread     follow-chain ─▶ events/publish, which readers wait for ─▶ webhooks, stream
 *
 * Blocks of the DAG and scores arrive as notifications: relay/notification-queue ─▶ follow-blocks ─▶
 * apply-notifications. Nothing is parsed before it reaches the indexer thread, so large data never crosses the main
 * loop as objects.
 */
import type { Network } from '../core/chain/network.ts'
import { gapEvent } from '../events/gap-event.ts'
import type { NotificationBatch } from '../relay/notification-queue.ts'
import {
  type ChainBlock,
  type ChainGap,
  type ChainPlace,
  type ChainStore,
  type ChainWrite,
  CheckpointMovedError,
  type IndexRetention,
} from '../store/chain.ts'
import type { EventStore, Retention } from '../store/events.ts'
import { applyChain } from './apply-chain.ts'
import { applyMempool, type MempoolApplied } from './apply-mempool.ts'
import { applyBlocks, applyNotifications, type BlocksApplied } from './apply-notifications.ts'
import { EarlierAcceptance, type EarlierBounds } from './earlier-acceptance.ts'
import { PendingTransactions } from './pending-transactions.ts'
import { recordedTo } from './recorded-to.ts'

export interface ChainApplied {
  readonly checkpoint: ChainBlock | undefined
  readonly added: number
  readonly removed: number
  /** The node's chain may continue beyond the answer. */
  readonly goesOn: boolean
  /**
   * Set if nothing was done because the node's chain is the beginning of ours or lighter: the blue score at which it
   * ends.
   */
  readonly behindAt: number | undefined
  /**
   * Set together with `behindAt`: the last common block, if the node's chain may continue above it and fork off there.
   */
  readonly commonTo?: string | undefined
  readonly newestSeq: number | undefined
}

export interface Indexer {
  checkpoint(): Promise<ChainBlock | undefined>
  /** The followed block this many steps below the checkpoint, or the oldest stored one if the chain is shorter. */
  chainBlockBelow(steps: number): Promise<ChainBlock | undefined>
  /** The chain block below which all blocks were recorded. */
  seenTo(): Promise<ChainPlace | undefined>
  /** The last followed block before the first one that was not recorded as a block; undefined if all are recorded. */
  recordedTo(): Promise<ChainBlock | undefined>
  /** Follows from this block on, at the first start or after a gap. */
  startAt(block: ChainBlock, gaps: readonly ChainGap[]): Promise<void>
  /**
   * Takes in what was accepted before the index's first block. Returns the last block taken, or undefined if there is
   * none.
   */
  knowEarlier(bytes: Uint8Array, bounds: EarlierBounds): Promise<string | undefined>
  /** Records a gap without changing where the chain is followed. */
  recordGap(gap: ChainGap): Promise<void>
  /**
   * The bytes of an answer, here and below, may be transferred to another thread; the caller must not use them
   * afterwards. `isPart`: the node's chain may continue beyond the answer, no matter how few blocks the answer has.
   */
  applyChain(startHash: string, bytes: Uint8Array, force: boolean, isPart?: boolean): Promise<ChainApplied>
  /** `mempool` names the mempool; a restarted node has another one. */
  applyMempool(bytes: Uint8Array, mempool: string): Promise<MempoolApplied>
  /** After this write, all blocks below `seenTo` are recorded. */
  applyNotifications(notifications: NotificationBatch, seenTo?: ChainPlace): Promise<number | undefined>
  /** Applies the blocks from `lowHash` on. */
  applyBlocks(lowHash: string, bytes: Uint8Array): Promise<BlocksApplied>
  /** Does one bounded step. */
  prune(events: Retention, index: IndexRetention): Promise<boolean>
}

export interface IndexerOptions {
  chain: ChainStore
  events: EventStore
  network: Network
  now: () => number
  /** How long a pending transaction may be missing from the mempool before it counts as dropped. */
  dropAfterMs: number
  onUnreadable?: (detail: string) => void
}

const MAX_PENDING = 1_000_000
/** The chain is queried every second. If its end was not reached for this long, the index is catching up. */
const AT_END_MS = 10_000

export async function createIndexer(options: IndexerOptions): Promise<Indexer> {
  const { events, network, now, dropAfterMs } = options
  const onUnreadable = options.onUnreadable ?? (() => {})
  /** A write that failed may still have been committed, and then the store has other pending transactions than we. */
  let isPendingUncertain = false
  const chain: ChainStore = {
    ...options.chain,
    async write(batch) {
      try {
        return await options.chain.write(batch)
      } catch (error) {
        // This one says that nothing was written.
        if (!(error instanceof CheckpointMovedError)) isPendingUncertain = true
        throw error
      }
    },
  }
  const storedPending = async () => chain.pending(MAX_PENDING, lostAtMs(await chain.gaps()))
  const pending = new PendingTransactions({ txIds: await storedPending(), atMs: now(), dropAfterMs })
  const earlier = new EarlierAcceptance()
  const context = { store: chain, network, now, pending, earlier }
  const scores = { daaScore: -1, blueScore: -1 }
  /** When the index was last at the end of the chain; minus infinity until the first time after a start. */
  let atEndMs = Number.NEGATIVE_INFINITY
  const isAtEnd = () => now() - atEndMs <= AT_END_MS
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }

  /** As `inTurn`, for work that relies on the pending transactions. */
  const inTurnWithPending = <T>(work: () => Promise<T>): Promise<T> =>
    inTurn(async () => {
      if (isPendingUncertain) {
        const stored = await storedPending()
        if (stored.length < MAX_PENDING) pending.keepOnly(new Set(stored))
        pending.restore(stored, now())
        isPendingUncertain = false
      }
      return work()
    })

  function reachEnd(): void {
    if (!isAtEnd()) pending.waitAnew(now())
    atEndMs = now()
  }

  async function startAt(start: ChainBlock, gaps: readonly ChainGap[]): Promise<void> {
    const isLost = lostAtMs(gaps) !== undefined
    // Before the write, which may be committed although it fails.
    if (isLost) atEndMs = Number.NEGATIVE_INFINITY
    await write({ start, ...gapRows(gaps) })
    if (isLost) pending.forget()
    else reachEnd()
  }

  async function recordGap(gap: ChainGap): Promise<void> {
    // A write that was committed although it failed is tried again.
    const isRecorded = (await chain.gaps()).some(
      ({ fromHash, toHash, reason }) =>
        fromHash === gap.fromHash && toHash === gap.toHash && reason === gap.reason,
    )
    if (!isRecorded) await write(gapRows([gap]))
  }

  async function applyAnswer(
    startHash: string,
    bytes: Uint8Array,
    { force, isPart }: { force: boolean; isPart: boolean },
  ): Promise<ChainApplied> {
    let applied: ChainApplied = {
      checkpoint: undefined,
      added: 0,
      removed: 0,
      goesOn: false,
      behindAt: undefined,
      newestSeq: undefined,
    }
    for await (const step of applyChain({ ...context, startHash, bytes, force, isPart, onUnreadable })) {
      if ('behindAt' in step) return { ...applied, ...step }
      const atMs = now()
      for (const { txId, spends } of step.unconfirmed) pending.inBlock(txId, atMs, spends)
      for (const txId of step.confirmed) pending.leave(txId)
      for (const { txId } of step.dropped) pending.leave(txId)
      applied = {
        checkpoint: step.checkpoint,
        added: applied.added + step.added,
        removed: applied.removed + step.removed,
        goesOn: step.goesOn,
        behindAt: undefined,
        newestSeq: step.newestSeq,
      }
    }
    if (!isPart && !applied.goesOn) reachEnd()
    return applied
  }

  async function write(batch: Omit<ChainWrite, 'atMs' | 'expects'>): Promise<void> {
    const expects = (await chain.checkpoint())?.hash ?? null
    await chain.write({ atMs: now(), expects, ...batch })
  }

  return {
    checkpoint: () => inTurn(() => chain.checkpoint()),
    chainBlockBelow: (steps) => inTurn(() => chain.chainBlockBelow(steps)),
    seenTo: () => inTurn(() => chain.seenTo()),
    recordedTo: () => inTurn(() => recordedTo(chain)),
    startAt: (start, gaps) => inTurn(() => startAt(start, gaps)),
    knowEarlier: (bytes, bounds) => inTurn(async () => earlier.take(bytes, bounds)),
    recordGap: (gap) => inTurn(() => recordGap(gap)),
    applyChain: (startHash, bytes, force, isPart = false) =>
      inTurnWithPending(() => applyAnswer(startHash, bytes, { force, isPart })),
    applyMempool: (bytes, mempool) =>
      inTurnWithPending(() => applyMempool({ ...context, mempool, bytes, mayDrop: isAtEnd() })),
    applyNotifications: (notifications, seenTo) =>
      inTurnWithPending(() => applyNotifications(notifications, scores, context, seenTo)),
    applyBlocks: (lowHash, bytes) => inTurnWithPending(() => applyBlocks(lowHash, bytes, context)),
    prune: (retention, index) =>
      inTurn(async () => {
        const [log, rows] = [await events.retain(retention), await chain.prune(index)]
        return log.more || rows.more
      }),
  }
}

/** When part of the chain was last found to be lost. */
function lostAtMs(gaps: readonly ChainGap[]): number | undefined {
  return gaps.findLast(({ reason }) => reason === 'pruned')?.atMs
}

/** A recorded gap is also an event, so that it has a position in the log. */
function gapRows(gaps: readonly ChainGap[]): Pick<ChainWrite, 'gaps' | 'events'> {
  return { gaps, events: gaps.map(gapEvent) }
}
