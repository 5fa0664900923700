/**
 * Measures how much later than usual a change arrives. The venue's clock differs from ours, so a delay is compared with
 * the shortest delay of the last one to two minutes.
 */
export type Lateness = ReturnType<typeof createLateness>

const WINDOW_MS = 60_000

export function createLateness() {
  let fromMs = Number.NEGATIVE_INFINITY
  let before = Number.POSITIVE_INFINITY
  let shortest = Number.POSITIVE_INFINITY
  return {
    /** Milliseconds beyond the shortest recent delay. */
    of(timeMs: number, receivedMs: number) {
      const delayMs = receivedMs - timeMs
      if (receivedMs - fromMs > WINDOW_MS) {
        before = shortest
        shortest = Number.POSITIVE_INFINITY
        fromMs = receivedMs
      }
      shortest = Math.min(shortest, delayMs)
      return delayMs - Math.min(shortest, before)
    },
  }
}
