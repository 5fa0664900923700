/**
 * Where to continue when the nodes do not know the last followed block. A node may have died with a block that never
 * left it: then an older block of the followed chain is known. Only when none is known, not even the oldest stored
 * one, the chain in between is lost: a gap.
 */
import { gapBetween } from '../events/gap-event.ts'
import type { ChainAnswer, ChainQueries } from '../relay/chain-queries.ts'
import type { ChainBlock, ChainGap } from '../store/chain.ts'
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

/** The first start begins at the end of the chain: what came before is not covered. */
export async function startFirst(
  indexer: Indexer,
  queries: ChainQueries,
  prefer: string | undefined,
): Promise<ChainBlock | undefined> {
  const ends = await queries.ends(prefer)
  if (ends === undefined) return undefined
  await indexer.startAt(ends.sink, undefined)
  return ends.sink
}

/**
 * Continues from the oldest block that the node still has, and records what is in between as a gap. A node whose
 * chain ends below ours may only be behind: with `patient` it is given time, and nothing is done. Nor is anything done
 * where the node knows a block of ours after all: it may have caught up since it was asked.
 */
export async function startAfterGap(
  indexer: Pick<Indexer, 'chainBlockBelow' | 'startAt'>,
  queries: ChainQueries,
  from: ChainBlock,
  { nowMs, patient }: { nowMs: number; patient: boolean },
): Promise<ChainGap | undefined> {
  const ends = await queries.ends(undefined)
  if (ends === undefined || (patient && ends.sink.blueScore < from.blueScore)) return undefined
  if ((await findKnownBlock(indexer, queries, ends.node)).kind !== 'lost') return undefined
  const gap = gapBetween(from, ends.oldest, 'pruned', nowMs)
  await indexer.startAt(ends.oldest, gap)
  return gap
}
