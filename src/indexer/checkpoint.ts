/**
 * Where to continue when the nodes do not know the last followed block. A node may have died with a block that never
 * left it: then an older block of the followed chain is known. Only when none is known, not even the oldest stored
 * one, the chain in between is lost: a gap.
 */
import { gapBetween } from '../events/gap-event.ts'
import type { ChainAnswer, ChainQueries } from '../relay/chain-queries.ts'
import type { ChainBlock, ChainGap } from '../store/chain.ts'
import { EARLIER_DEPTH } from './earlier-acceptance.ts'
import type { Indexer } from './indexer.ts'

export type Resumption =
  | { readonly kind: 'from'; readonly hash: string; readonly answer: Extract<ChainAnswer, { kind: 'bytes' }> }
  | { readonly kind: 'lost'; readonly oldestTried: ChainBlock }
  | { readonly kind: 'unavailable'; readonly detail: string }

/** Queries at doubling distances below the checkpoint. */
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
 * The first start begins at the end of the chain: what came before is not covered. What the last blocks before it accepted
 * is known, so that another copy of it in a later block is not taken for pending.
 */
export async function startFirst(
  indexer: Indexer,
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

/** A young index that is started again: blocks that carry what was accepted before it may still come. */
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

/** The chain goes on while it is asked about. */
const untilBlueScore = ({ blueScore }: ChainBlock) => blueScore + 2 * EARLIER_DEPTH

async function knowEarlier(
  indexer: Indexer,
  queries: ChainQueries,
  { from, upTo, prefer }: { from: ChainBlock; upTo: string | undefined; prefer: string | undefined },
): Promise<string | undefined> {
  const answer = await queries.acceptedFromBelow(from.hash, EARLIER_DEPTH, prefer)
  if (answer.kind === 'unavailable') throw new Error(answer.detail)
  // The node has nothing below it any more.
  if (answer.kind === 'unknown_block') return undefined
  return indexer.knowEarlier(answer.bytes, { upTo, untilBlueScore: untilBlueScore(from) })
}

/**
 * Continues from the oldest block that the node still has, and records what is in between as a gap. A node whose
 * chain ends below ours may only be behind: with `patient` it is given time, and nothing is done. Nor is anything done
 * where the node knows a block of ours after all: it may have caught up since it was asked.
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
  // Where the chain itself is lost, nobody has its last blocks any more that were followed and not recorded.
  const recorded = await indexer.recordedTo()
  const gaps =
    recorded === undefined || recorded.hash === from.hash
      ? [gap]
      : [gapBetween(recorded, from, 'blocks_pruned', nowMs), gap]
  await indexer.startAt(ends.oldest, gaps)
  return gaps
}
