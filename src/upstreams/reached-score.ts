/** What a node has said of its chain. */
export interface ScoreClaim {
  readonly score: number
  readonly isSynced: boolean
  /** By how much its score grew in the last seconds, and in which time; 0 if it stands still. */
  readonly grown: number
  readonly inMs: number
}

/** A chain grows ten times a second, and a node is asked once a second. */
export const GROWS_WITHIN_MS = 5_000
/** A node whose score grows faster is catching up, so it is behind, even if it calls itself synced. */
const MAX_GROWTH_PER_SECOND = 30

/**
 * How far the chain is: the highest claim. If one node alone is far ahead of two others that agree and go on, that one
 * is wrong or follows another chain, and the others are not behind. Two that stand still or catch up prove nothing.
 */
export function reachedScore(claims: readonly ScoreClaim[], maxApart: number): number {
  const [first, second, third] = claims.toSorted((a, b) => b.score - a.score)
  if (first === undefined || second === undefined || third === undefined) return first?.score ?? 0
  const isAlone = first.score - second.score > maxApart
  const agree = second.score - third.score <= maxApart && goesOn(second) && goesOn(third)
  return isAlone && agree ? second.score : first.score
}

function goesOn({ isSynced, grown, inMs }: ScoreClaim): boolean {
  return isSynced && grown > 0 && grown <= (MAX_GROWTH_PER_SECOND * Math.max(inMs, 1_000)) / 1_000
}
