/**
 * Measures for how long no chain of the nodes behind us has grown. The chain of a node that catches up grows; another
 * chain may not.
 */
import { type Clock, elapsedMs } from '../kit/clock.ts'

export interface Standstill {
  /** Reports the blue score at which the node's chain ended; undefined if the node is not behind. */
  ended(node: string, blueScore: number | undefined): void
  /** The time between the first and the last answer without growth. */
  stoodMs(): number
}

export function watchStandstill(clock: Clock): Standstill {
  const ends = new Map<string, number>()
  let sinceMs: number | undefined
  let stoodMs = 0
  return {
    ended(node, blueScore) {
      if (blueScore === undefined) {
        ends.clear()
        sinceMs = undefined
        stoodMs = 0
        return
      }
      const before = ends.get(node) ?? blueScore
      const nowMs = elapsedMs(clock)
      if (sinceMs === undefined || blueScore > before) sinceMs = nowMs
      ends.set(node, Math.max(before, blueScore))
      stoodMs = nowMs - sinceMs
    },
    stoodMs: () => stoodMs,
  }
}
