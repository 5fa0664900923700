/**
 * Turns the node's answers into index rows and events. It does no networking: answers come in as the bytes that
 * the node sent, so that it can run in its own thread. One piece of work at a time, in order.
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
 * Blocks of the DAG and scores come as notifications: relay/notification-queue ─▶ follow-blocks ─▶
 * apply-notifications. Nothing is parsed before the indexer thread, and what is large never crosses the main loop
 * as objects.
 */
import type { Network } from '../core/chain/network.ts'
import { gapEvent } from '../events/gap-event.ts'
import type { NotificationBatch } from '../relay/notification-queue.ts'
import type {
  ChainBlock,
  ChainGap,
  ChainPlace,
  ChainStore,
  ChainWrite,
  IndexRetention,
} from '../store/chain.ts'
import type { EventStore, Retention } from '../store/events.ts'
import { applyChain } from './apply-chain.ts'
import { applyMempool, type MempoolApplied } from './apply-mempool.ts'
import { applyBlocks, applyNotifications, type BlocksApplied } from './apply-notifications.ts'
import { EarlierAcceptance, type EarlierBounds } from './earlier-acceptance.ts'
import { PendingTransactions } from './pending-transactions.ts'
import { MORE_TO_COME } from './read-chain.ts'
import { recordedTo } from './recorded-to.ts'

export interface ChainApplied {
  readonly checkpoint: ChainBlock | undefined
  readonly added: number
  readonly removed: number
  /** The blue score at which the node's chain ends, where it is the beginning of ours, or lighter: nothing was done. */
  readonly behindAt: number | undefined
  /** With it: the last common block, where the node's chain may go on above it, and leave ours there. */
  readonly commonTo?: string | undefined
  readonly newestSeq: number | undefined
}

export interface Indexer {
  checkpoint(): Promise<ChainBlock | undefined>
  /** A followed block that many steps below the checkpoint; the oldest stored one where it is further. */
  chainBlockBelow(steps: number): Promise<ChainBlock | undefined>
  /** Below which block of the chain all blocks were recorded. */
  seenTo(): Promise<ChainPlace | undefined>
  /** The last followed block before the first one that was not recorded as a block; undefined where all are. */
  recordedTo(): Promise<ChainBlock | undefined>
  /** Follows from this block on, as the first start or after a gap. */
  startAt(block: ChainBlock, gaps: readonly ChainGap[]): Promise<void>
  /** Takes in what was accepted before the index's first block; the last block of which it was, undefined for none. */
  knowEarlier(bytes: Uint8Array, bounds: EarlierBounds): Promise<string | undefined>
  /** Records what is missing beside the followed chain. */
  recordGap(gap: ChainGap): Promise<void>
  /**
   * The bytes of an answer, here and below, may be moved to another thread: they are gone with the call. `isPart`: the
   * chain may go on behind the answer, however few blocks it has.
   */
  applyChain(startHash: string, bytes: Uint8Array, force: boolean, isPart?: boolean): Promise<ChainApplied>
  /** `mempool` names whose it is: a node that was restarted has another one. */
  applyMempool(bytes: Uint8Array, mempool: string): Promise<MempoolApplied>
  /** With them, all blocks below `seenTo` are recorded. */
  applyNotifications(notifications: NotificationBatch, seenTo?: ChainPlace): Promise<number | undefined>
  /** The blocks from `lowHash` on. */
  applyBlocks(lowHash: string, bytes: Uint8Array): Promise<BlocksApplied>
  /** One bounded step. */
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
/** The chain is asked for every second: one that has not been at its end for so long is being caught up with. */
const AT_END_MS = 10_000

export async function createIndexer(options: IndexerOptions): Promise<Indexer> {
  const { chain, events, network, now, dropAfterMs } = options
  const onUnreadable = options.onUnreadable ?? (() => {})
  const pending = new PendingTransactions({
    txIds: await chain.pending(MAX_PENDING, lostAtMs(await chain.gaps())),
    atMs: now(),
    dropAfterMs,
  })
  const earlier = new EarlierAcceptance()
  const context = { store: chain, network, now, pending, earlier }
  const scores = { daaScore: -1, blueScore: -1 }
  /** When the index was last seen to be at the end of the chain; never since a start. */
  let atEndMs = Number.NEGATIVE_INFINITY
  const isAtEnd = () => now() - atEndMs <= AT_END_MS
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }

  function reachEnd(): void {
    if (!isAtEnd()) pending.waitAnew(now())
    atEndMs = now()
  }

  async function startAt(start: ChainBlock, gaps: readonly ChainGap[]): Promise<void> {
    await write({ start, ...gapRows(gaps) })
    if (lostAtMs(gaps) === undefined) return reachEnd()
    pending.forget()
    atEndMs = Number.NEGATIVE_INFINITY
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
        behindAt: undefined,
        newestSeq: step.newestSeq,
      }
    }
    if (!isPart && applied.added < MORE_TO_COME) reachEnd()
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
    recordGap: (gap) => inTurn(() => write(gapRows([gap]))),
    applyChain: (startHash, bytes, force, isPart = false) =>
      inTurn(() => applyAnswer(startHash, bytes, { force, isPart })),
    applyMempool: (bytes, mempool) =>
      inTurn(() => applyMempool({ ...context, mempool, bytes, mayDrop: isAtEnd() })),
    applyNotifications: (notifications, seenTo) =>
      inTurn(() => applyNotifications(notifications, scores, context, seenTo)),
    applyBlocks: (lowHash, bytes) => inTurn(() => applyBlocks(lowHash, bytes, context)),
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

/** A recorded gap has a position in the log. */
function gapRows(gaps: readonly ChainGap[]): Pick<ChainWrite, 'gaps' | 'events'> {
  return { gaps, events: gaps.map(gapEvent) }
}
