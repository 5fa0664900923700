/**
 * Follows the node's selected chain, one query at a time.
 *
 *   wait for a wake-up (or a second), gather ─▶ ask from the checkpoint ─▶ apply ─▶ wait
 *                                        │ unknown block ─▶ ask from below ─▶ apply
 *                                        │                        │ all of it ours ─▶ ask from its end
 *                                        │                        └ none known ─▶ record a gap, start after it
 *                                        └ no node ─▶ wait, longer each time
 *
 * Following live and catching up use the same query; only the length of the answer differs.
 */
import { backoffMs } from '../kit/backoff.ts'
import { type Clock, elapsedMs } from '../kit/clock.ts'
import type { Wake } from '../kit/wake.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import type { ChainBlock, ChainGap } from '../store/chain.ts'
import { answerReader } from './answer-reader.ts'
import { findKnownBlock, startAfterGap, startFirst, startYoung } from './checkpoint.ts'
import type { ChainApplied, Indexer } from './indexer.ts'
import { watchStandstill } from './standstill.ts'

export interface FollowChainOptions {
  indexer: Indexer
  queries: ChainQueries
  clock: Clock
  random: () => number
  wake: Wake
  signal: AbortSignal
  /** Chain blocks that arrive within this time are requested together. */
  gatherMs: () => number
  /** The node whose view is followed while it is healthy. */
  prefer: () => string | undefined
  /**
   * Called once, when the transactions accepted before the index began are known. `first` is given only if the index
   * begins now.
   */
  onStarted: (first: ChainBlock | undefined) => void
  onApplied: (applied: ChainApplied) => void
  onGap: (gap: ChainGap) => void
  onTrouble: (detail: string) => void
}

const MAX_WAIT_MS = 1_000
const RETRY = { baseMs: 100, capMs: 3_000 }
const QUICK_TRIES = 3
/** For how long a lighter chain that does not grow is taken for a node that is behind. A chain that grows always is. */
const PATIENCE_MS = 10_000
/** Nodes that have just started may not have loaded their own blocks yet. */
const LOST_ROUNDS = 3
/** For how long a chain that ends below ours is taken for a node that is behind, and not for another chain. */
const LOST_PATIENCE_MS = 600_000

export async function followChain(options: FollowChainOptions): Promise<void> {
  const { indexer, queries, clock, wake, signal, prefer } = options
  let checkpoint: ChainBlock | undefined
  let isStarted = false
  let failures = 0
  let lostRounds = 0
  let lostSinceMs = 0
  /**
   * The last block that we share with a node that does not know the checkpoint: the end of its chain, or a block below
   * the fork.
   */
  let commonTo: string | undefined
  /** A start whose write has not succeeded. It may have been committed although it failed. */
  let unproven: { readonly start: ChainBlock; readonly gaps: readonly ChainGap[] } | undefined
  // Named one by one, because an indexer may be a proxy, which has no members to copy.
  const starting: Pick<Indexer, 'chainBlockBelow' | 'recordedTo' | 'knowEarlier' | 'startAt'> = {
    chainBlockBelow: (steps) => indexer.chainBlockBelow(steps),
    recordedTo: () => indexer.recordedTo(),
    knowEarlier: (bytes, bounds) => indexer.knowEarlier(bytes, bounds),
    async startAt(start, gaps) {
      unproven = { start, gaps }
      await indexer.startAt(start, gaps)
      unproven = undefined
    },
  }
  const lighter = watchStandstill(clock)
  const read = answerReader(queries)

  while (!signal.aborted) {
    let again = false
    try {
      checkpoint ??= await indexer.checkpoint()
      const committed = unproven?.start.hash === checkpoint?.hash ? unproven : undefined
      if (checkpoint === undefined) {
        checkpoint = await startFirst(starting, queries, prefer())
        if (checkpoint === undefined) throw new Error('no synced node to start from')
        options.onStarted(checkpoint)
      } else if (!isStarted) {
        await startYoung(indexer, queries, prefer())
        options.onStarted(committed?.start)
      }
      isStarted = true
      if (committed !== undefined) goOnAfter(committed.gaps)
      again = await step(checkpoint)
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      options.onTrouble(error instanceof Error ? error.message : String(error))
      checkpoint = undefined
      commonTo = undefined
      const pauseMs = backoffMs(RETRY, failures++, options.random)
      // A node announces its chain ten times a second, so after some failures a wake-up is no reason to retry sooner.
      if (failures <= QUICK_TRIES) await wake.wait(pauseMs, signal)
      else await clock.sleep(pauseMs, signal).catch(() => {})
      continue
    }
    if (again) continue
    await wake.wait(MAX_WAIT_MS, signal)
    await wake.gather(options.gatherMs(), signal)
  }

  async function step(from: ChainBlock): Promise<boolean> {
    const answer = await queries.chainFrom(from.hash, prefer())
    if (answer.kind === 'bytes') return apply(from.hash, answer)
    if (answer.kind === 'unavailable') throw new Error(answer.detail)
    if (commonTo !== undefined) {
      const rest = await queries.chainFrom(commonTo, prefer())
      if (rest.kind === 'bytes') return apply(commonTo, rest)
    }
    const found = await findKnownBlock(indexer, queries, prefer())
    if (found.kind === 'from') return apply(found.hash, found.answer)
    if (found.kind === 'unavailable') throw new Error(found.detail)
    if (lostRounds++ === 0) lostSinceMs = elapsedMs(clock)
    if (lostRounds < LOST_ROUNDS) throw new Error('no node knows a block of the followed chain')
    const patient = elapsedMs(clock) - lostSinceMs < LOST_PATIENCE_MS
    const gaps = await startAfterGap(starting, queries, from, { nowMs: clock.now(), patient })
    if (gaps === undefined) throw new Error('no node that is synced and not behind to go on with')
    checkpoint = undefined
    goOnAfter(gaps)
    return true
  }

  function goOnAfter(gaps: readonly ChainGap[]): void {
    unproven = undefined
    lostRounds = 0
    commonTo = undefined
    for (const gap of gaps) options.onGap(gap)
  }

  async function apply(
    startHash: string,
    { bytes, node, isPart = false }: { bytes: Uint8Array; node: string; isPart?: boolean },
  ): Promise<boolean> {
    const force = lighter.stoodMs() > PATIENCE_MS
    const applied = await read(node, () => indexer.applyChain(startHash, bytes, force, isPart))
    unproven = undefined
    lostRounds = 0
    lighter.ended(node, applied.behindAt)
    checkpoint = applied.checkpoint ?? checkpoint
    if (applied.behindAt === undefined) commonTo = undefined
    else commonTo = applied.commonTo ?? commonTo
    options.onApplied(applied)
    return applied.goesOn || applied.commonTo !== undefined
  }
}
