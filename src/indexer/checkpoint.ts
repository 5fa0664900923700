/**
 * Finds where to continue when no node knows the last followed block. A node may have died with a block that no other
 * node received; then an older block of the followed chain is still known. Only if none is known, not even the oldest
 * stored one, the chain in between is lost and becomes a gap.
 */
import { gapBetween } from '../events/gap-event.ts'
import type { ChainAnswer, ChainQueries } from '../relay/chain-queries.ts'
import type { ChainBlock, ChainGap } from '../store/chain.ts'
import { answerReader } from './answer-reader.ts'
import { EARLIER_DEPTH } from './earlier-acceptance.ts'
import type { Indexer } from './indexer.ts'

export type Resumption =
  | { readonly kind: 'from'; readonly hash: string; readonly answer: Extract<ChainAnswer, { kind: 'bytes' }> }
  | { readonly kind: 'lost'; readonly oldestTried: ChainBlock }
  | { readonly kind: 'unavailable'; readonly detail: string }

/** Tries blocks at doubling distances below the checkpoint. */
export async function findKnownBlock(
  indexer: Pick<Indexer, 'chainBlockBelow'>,
  queries: ChainQueries,
  prefer: string | undefined,
): Promise<Resumption> {
  let before: ChainBlock | undefined
  for (let steps = 1; ; steps *= 2) {
    const block = await indexer.chainBlockBelow(steps)
    if (block === undefined) return { kind: 'unavailable', detail: 'no chain is followed' }
    if (block.hash === before?.hash) return { kind: 'lost', oldestTried: block }
    before = block
    const answer = await queries.chainFrom(block.hash, prefer)
    if (answer.kind === 'bytes') return { kind: 'from', hash: block.hash, answer }
    if (answer.kind === 'unavailable') return answer
  }
}

/**
 * The first start begins at the end of the chain; older blocks are not covered. The transactions accepted by the last
 * blocks before it are remembered, so that another copy in a later block is not mistaken for a pending transaction.
 */
export async function startFirst(
  indexer: Pick<Indexer, 'knowEarlier' | 'startAt'>,
  queries: ChainQueries,
  prefer: string | undefined,
): Promise<ChainBlock | undefined> {
  const ends = await queries.ends(prefer)
  if (ends === undefined) return undefined
  const { sink, node } = ends
  const last = await knowEarlier(indexer, queries, { from: sink, upTo: undefined, prefer: node })
  const start = last === undefined || last === sink.hash ? sink : await queries.block(last, node)
  if (start !== undefined) await indexer.startAt(start, [])
  return start
}

/**
 * After a restart of a young index: blocks with copies of transactions accepted before the index began may still
 * arrive.
 */
export async function startYoung(
  indexer: Indexer,
  queries: ChainQueries,
  prefer: string | undefined,
): Promise<void> {
  const first = await indexer.chainBlockBelow(Number.MAX_SAFE_INTEGER)
  const seenTo = await indexer.seenTo()
  if (first === undefined || (seenTo?.blueScore ?? 0) >= untilBlueScore(first)) return
  await knowEarlier(indexer, queries, { from: first, upTo: first.hash, prefer })
}

/** Twice the depth, because the chain grows while the node is being asked. */
const untilBlueScore = ({ blueScore }: ChainBlock) => blueScore + 2 * EARLIER_DEPTH

async function knowEarlier(
  indexer: Pick<Indexer, 'knowEarlier'>,
  queries: ChainQueries,
  { from, upTo, prefer }: { from: ChainBlock; upTo: string | undefined; prefer: string | undefined },
): Promise<string | undefined> {
  const answer = await queries.acceptedFromBelow(from.hash, EARLIER_DEPTH, prefer)
  if (answer.kind === 'unavailable') throw new Error(answer.detail)
  // The node no longer has anything below that block.
  if (answer.kind === 'unknown_block') return undefined
  const { bytes, node } = answer
  return answerReader(queries, 0)(node, () =>
    indexer.knowEarlier(bytes, { upTo, untilBlueScore: untilBlueScore(from) }),
  )
}

/**
 * Continues from the oldest block that the node still has, and records the range in between as a gap. A node whose
 * chain ends below ours may only be behind; with `patient` nothing is done, to give it time. Nothing is done either if
 * the node knows one of our blocks after all, because it may have caught up since it was asked.
 */
export async function startAfterGap(
  indexer: Pick<Indexer, 'chainBlockBelow' | 'recordedTo' | 'startAt'>,
  queries: ChainQueries,
  from: ChainBlock,
  { nowMs, patient }: { nowMs: number; patient: boolean },
): Promise<readonly ChainGap[] | undefined> {
  const ends = await queries.ends(undefined)
  if (ends === undefined || (patient && ends.sink.blueScore < from.blueScore)) return undefined
  if ((await findKnownBlock(indexer, queries, ends.node)).kind !== 'lost') return undefined
  const gap = gapBetween(from, ends.oldest, 'pruned', nowMs)
  // Blocks that were followed but not yet recorded are lost as well, because no node has that part of the chain any
  // more.
  const recorded = await indexer.recordedTo()
  const gaps =
    recorded === undefined || recorded.hash === from.hash
      ? [gap]
      : [gapBetween(recorded, from, 'blocks_pruned', nowMs), gap]
  await indexer.startAt(ends.oldest, gaps)
  return gaps
}
