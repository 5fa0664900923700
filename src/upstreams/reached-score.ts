/** What a node has said of its chain. */
export interface ScoreClaim {
  readonly score: number
  readonly isSynced: boolean
  /** How long ago its score last grew. */
  readonly stoodMs: number
}

/** A chain grows ten times a second, and a node is asked once a second. */
const GROWS_WITHIN_MS = 5_000

/**
 * How far the chain is: the highest claim. If one node alone is far ahead of two others that agree and go on, that one
 * is wrong or follows another chain, and the others are not behind. Two that stand still prove nothing.
 */
export function reachedScore(claims: readonly ScoreClaim[], maxApart: number): number {
  const [first, second, third] = claims.toSorted((a, b) => b.score - a.score)
  if (first === undefined || second === undefined || third === undefined) return first?.score ?? 0
  const isAlone = first.score - second.score > maxApart
  const goesOn = ({ isSynced, stoodMs }: ScoreClaim) => isSynced && stoodMs <= GROWS_WITHIN_MS
  const agree = second.score - third.score <= maxApart && goesOn(second) && goesOn(third)
  return isAlone && agree ? second.score : first.score
}
