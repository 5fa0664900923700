import type { ChainBlock, ChainStore } from '../store/chain.ts'

/**
 * The chain may be followed further than its blocks are recorded. Returns the last followed block before the first one
 * that was not recorded; undefined if all are recorded.
 */
export async function recordedTo(store: ChainStore): Promise<ChainBlock | undefined> {
  const [tip, seenTo] = [await store.checkpoint(), await store.seenTo()]
  if (tip === undefined) return undefined
  // Blue scores grow by at least one per block, so a block that many steps below the tip is not above `seenTo`.
  const low = await store.chainBlockBelow(Math.max(0, tip.blueScore - (seenTo?.blueScore ?? 0)))
  if (low === undefined) return undefined
  const followed = [low, ...((await store.chainAbove(low.hash)) ?? [])]
  const unseen = new Set(await store.unseen(followed.map(({ hash }) => hash)))
  const first = followed.findIndex(({ hash }) => unseen.has(hash))
  return first < 0 ? undefined : followed[Math.max(0, first - 1)]
}
