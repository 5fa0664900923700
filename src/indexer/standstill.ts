/** For how long no chain of the nodes that are behind has grown: a node that catches up grows, another chain need not. */
import type { Clock } from '../kit/clock.ts'

export interface Standstill {
  /** The node's chain ended at this blue score; undefined: it is not behind. */
  ended(node: string, blueScore: number | undefined): void
  /** Between the first and the last answer that showed no growth. */
  stoodMs(): number
}

export function watchStandstill(clock: Pick<Clock, 'now'>): Standstill {
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
      const nowMs = clock.now()
      if (sinceMs === undefined || blueScore > before) sinceMs = nowMs
      ends.set(node, Math.max(before, blueScore))
      stoodMs = nowMs - sinceMs
    },
    stoodMs: () => stoodMs,
  }
}
