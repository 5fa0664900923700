/**
 * Records every block of the DAG and every score as events.
 *
 *   lost ──live again──▶ read the blocks since the last one known before the loss ──▶ then the queue ──▶ live
 *
 * The index recognises blocks that it has already recorded, so ranges may overlap.
 */

import { gapBetween } from '../events/gap-event.ts'
import { backoffMs } from '../kit/backoff.ts'
import type { Clock } from '../kit/clock.ts'
import type { Wake } from '../kit/wake.ts'
import type { BlockFacts, ChainQueries } from '../relay/chain-queries.ts'
import type { NotificationBatch, NotificationQueue } from '../relay/notification-queue.ts'
import type { ChainBlock, ChainGap, ChainPlace } from '../store/chain.ts'
import { answerReader } from './answer-reader.ts'
import type { Indexer } from './indexer.ts'

export interface FollowBlocksOptions {
  indexer: Indexer
  queries: ChainQueries
  queue: NotificationQueue
  clock: Clock
  random: () => number
  wake: Wake
  signal: AbortSignal
  /** Notifications that arrive within this time are written together. */
  gatherMs: () => number
  prefer: () => string | undefined
  /** Nothing is recorded while this is false. */
  hasStart: () => boolean
  /** The place from which blocks may be missing, handed out once; undefined if none are missing. */
  takeMissing: () => ChainPlace | undefined
  /** The chain block below which all blocks have been notified; undefined if unknown. */
  notifiedTo: () => ChainPlace | undefined
  /** Called when all blocks below this place are written. */
  onSeen: (seenTo: ChainPlace) => void
  /** The place from which to query again after notifications had to be dropped. */
  recover: () => ChainPlace | undefined
  onWritten: (newestSeq: number) => void
  /** No node has these blocks any more, so they were not recorded. */
  onGap: (gap: ChainGap) => void
  onTrouble: (detail: string) => void
}

const MAX_WAIT_MS = 1_000
const RETRY = { baseMs: 100, capMs: 3_000 }
/** After this many failed writes, the notifications themselves may be the cause, and they are dropped. */
const MAX_TRIES = 3
/**
 * A node that died may have been the only one with its last blocks. The other nodes know a block that lies this many
 * below.
 */
const OLDER_BLOCKS = 1_000
const MAX_ROUNDS = 100_000
/** Limit for remembered places from which blocks may be missing while none can be queried. */
const MAX_MISSING = 100

export async function followBlocks(options: FollowBlocksOptions): Promise<void> {
  const { indexer, queue, clock, wake, signal } = options
  const read = answerReader(options.queries)
  let failures = 0
  /**
   * Oldest first. Filling from the first place runs up to the end of the chain and so covers the others, which matter
   * only if no node knows the first. The place moves up with what is recorded, so that a fault in the middle does not
   * restart the whole fill.
   */
  const missing: ChainPlace[] = []
  let unwritten: { batch: NotificationBatch; seenTo: ChainPlace | undefined } | undefined
  const take = () => {
    if (!options.hasStart()) return undefined
    const notifiedTo = options.notifiedTo()
    const batch = queue.take()
    return batch && { batch, seenTo: queue.isDrained ? notifiedTo : undefined }
  }
  while (!signal.aborted) {
    addMissing(options.takeMissing())
    try {
      for (let [from] = missing; from !== undefined; [from] = missing) {
        if (await fill(from)) missing.length = 0
        else missing.shift()
      }
      for (unwritten ??= take(); unwritten !== undefined && !signal.aborted; unwritten = take()) {
        const { batch, seenTo } = unwritten
        const complete = queue.isDrained ? { ...batch, completeToMs: clock.now() } : batch
        const newestSeq = await indexer.applyNotifications(complete, seenTo)
        if (newestSeq !== undefined) options.onWritten(newestSeq)
        if (seenTo !== undefined) options.onSeen(seenTo)
        failures = 0
      }
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      options.onTrouble(error instanceof Error ? error.message : String(error))
      if (unwritten !== undefined && failures >= MAX_TRIES) {
        unwritten = undefined
        addMissing(options.recover())
      }
      await clock.sleep(backoffMs(RETRY, failures++, options.random), signal).catch(() => {})
      continue
    }
    await wake.wait(MAX_WAIT_MS, signal)
    await wake.gather(options.gatherMs(), signal)
  }

  function addMissing(place: ChainPlace | undefined): void {
    if (place === undefined || place.hash === missing.at(-1)?.hash) return
    missing.push(place)
    if (missing.length > MAX_MISSING) missing.splice(1, 1)
  }

  /**
   * The node's oldest block, if it lies between `from` and the followed tip; everything below it is lost. If it lies
   * above the tip, the chain itself has a gap, which covers the blocks too. A node that is merely behind sends its
   * blocks once it has them.
   */
  async function lostUpTo(from: ChainBlock | undefined): Promise<BlockFacts | undefined> {
    const [tip, ends] = [await indexer.checkpoint(), await options.queries.ends(options.prefer())]
    if (ends === undefined) throw new Error('no synced node to ask for its oldest block')
    if (from === undefined || tip === undefined) return undefined
    const { oldest } = ends
    return from.blueScore < oldest.blueScore && oldest.blueScore <= tip.blueScore ? oldest : undefined
  }

  async function noteGap(from: ChainBlock, to: BlockFacts): Promise<void> {
    const gap = gapBetween(from, to, 'blocks_pruned', clock.now())
    await indexer.recordGap(gap)
    options.onGap(gap)
  }

  /**
   * The higher of the followed tip and the subscribed node's sink. A fill that stops below it (at a node that is
   * behind, or with a stale answer) is incomplete: the blocks in between may have been sent before the subscription and
   * are not sent again.
   */
  async function newestBlock(): Promise<ChainPlace | undefined> {
    const tip = await indexer.checkpoint()
    if (tip === undefined) return undefined
    const sink = (await options.queries.ends(options.prefer()))?.sink
    return sink !== undefined && sink.blueScore > tip.blueScore ? sink : tip
  }

  /** Returns false if no node knows the blocks after this place and nothing proves that they are lost. */
  async function fill(from: ChainPlace): Promise<boolean> {
    let low = from.hash
    const goal = await newestBlock()
    /** Blue score reached by the last answer; each answer must continue above the one before. */
    let reached = -1
    for (let round = 0; round < MAX_ROUNDS && !signal.aborted; round++) {
      const answer = await options.queries.blocksFrom(low, options.prefer())
      if (answer.kind === 'unavailable') throw new Error(answer.detail)
      if (answer.kind === 'unknown_block') {
        // The node that had this block is gone. The next try asks the others from an older block that they know.
        if (reached >= 0) throw new Error(`blocks after ${low} cannot be asked for any more`)
        const above = ((await indexer.checkpoint())?.blueScore ?? 0) - from.blueScore
        const older = await indexer.chainBlockBelow(OLDER_BLOCKS + Math.max(0, above))
        if (older === undefined || older.hash === low || round > 0) {
          const oldest = await lostUpTo(older)
          if (older === undefined || oldest === undefined) {
            options.onTrouble(`blocks after ${low} cannot be asked for`)
            return false
          }
          if (oldest.hash === low) throw new Error(`the oldest block ${low} is not known`)
          await noteGap(older, oldest)
          low = oldest.hash
          reached = -1
          continue
        }
        low = older.hash
        reached = -1
        continue
      }
      const asked = low
      const { newestSeq, lastChainBlock } = await read(answer.node, () =>
        indexer.applyBlocks(asked, answer.bytes),
      )
      if (newestSeq !== undefined) options.onWritten(newestSeq)
      if (lastChainBlock === undefined || lastChainBlock.hash === low) {
        if (goal === undefined || (lastChainBlock?.blueScore ?? -1) >= goal.blueScore) return true
        throw new Error(`the blocks of ${answer.node} end with ${low}, below ${goal.hash}`)
      }
      if (lastChainBlock.blueScore <= reached)
        throw new Error(`the blocks after ${low} end with ${lastChainBlock.hash}, which is not above it`)
      missing[0] = lastChainBlock
      low = lastChainBlock.hash
      reached = lastChainBlock.blueScore
    }
    return false
  }
}
