import type { ChainPlace } from '../store/chain.ts'

const MAX_PLACES = 600
/** Places closer together than this add no information. */
const MIN_STEP_MS = 200

/** Remembers which chain block was the last one at what time, and the block below which all blocks are known. */
export function createTrail(first: ChainPlace | undefined) {
  const places: { place: ChainPlace; atMs: number }[] = []
  let seenTo = first
  /** Ignores places above the subscribed node's announced sink; undefined as long as it has announced none. */
  const at = (timeMs: number, sinkScore = Number.NEGATIVE_INFINITY): ChainPlace | undefined =>
    places.findLast(({ atMs, place }) => atMs <= timeMs && place.blueScore <= sinkScore)?.place
  /** Falls back to the earliest possible place if that is unknown. */
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
    /**
     * Like `before`, but not above what is written, because a store that hangs for minutes leaves blocks unwritten that
     * were notified long ago.
     */
    unwritten(timeMs: number, sinkScore?: number): ChainPlace | undefined {
      const found = before(timeMs, sinkScore)
      return found !== undefined && seenTo !== undefined && seenTo.blueScore < found.blueScore
        ? seenTo
        : found
    },
  }
}
