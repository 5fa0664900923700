import type { ChainPlace } from '../store/chain.ts'

const MAX_PLACES = 600
/** Places closer together say the same. */
const MIN_STEP_MS = 200

/** Which chain block was the last one at which time, and below which one all blocks are known. */
export function createTrail(first: ChainPlace | undefined) {
  const places: { place: ChainPlace; atMs: number }[] = []
  let seenTo = first
  /** Not above what the subscribed node has told of its chain; nothing while it has told nothing. */
  const at = (timeMs: number, sinkScore = Number.NEGATIVE_INFINITY): ChainPlace | undefined =>
    places.findLast(({ atMs, place }) => atMs <= timeMs && place.blueScore <= sinkScore)?.place
  /** Where that is not known, a place as early as possible. */
  const before = (timeMs: number, sinkScore?: number): ChainPlace | undefined =>
    at(timeMs, sinkScore) ?? seenTo ?? places[0]?.place
  return {
    at,
    seen(place: ChainPlace): void {
      seenTo = place
    },
    add({ hash, blueScore }: ChainPlace, atMs: number): void {
      const newest = places.at(-1)
      if (newest !== undefined && atMs - newest.atMs < MIN_STEP_MS) return
      places.push({ place: { hash, blueScore }, atMs })
      if (places.length > MAX_PLACES) places.shift()
    },
    before,
    /** The same, but not above what is written: a store that hangs for minutes leaves behind what was notified long ago. */
    unwritten(timeMs: number, sinkScore?: number): ChainPlace | undefined {
      const found = before(timeMs, sinkScore)
      return found !== undefined && seenTo !== undefined && seenTo.blueScore < found.blueScore
        ? seenTo
        : found
    },
  }
}
