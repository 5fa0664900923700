/**
 * Checks whether the received trades of a contract add up to its volume. The rows of an answer need not show that it
 * was for another time, truncated or outdated; the venue's own volume figure does.
 *
 *   first list ──▶ counting begins at its volume
 *   trades     ──▶ each is counted once, unless it is certainly part of that volume
 *   list       ──▶ its volume has grown by more than was counted: trades are missing
 *   half an hour of answers that lack them ──▶ the volume itself is wrong, until more and a larger share is missing
 */

import { DOUBTED_FOR_MS, type DoubtedTime, doubtedAgain } from '../doubted-time.ts'
import type { TradeObservation } from '../observation.ts'

/** Volumes have two decimals. */
const TOLERANCE = 0.005

interface Count {
  /** The volume at which counting began. */
  readonly beginning: number
  /** Trades before this time are part of `beginning`. */
  readonly sinceMs: number
  counted: number
  /** By id, the times of counted trades that a later answer may repeat. */
  readonly recent: Map<string, number>
  lacking?: DoubtedTime
  /** What was missing for half an hour, and the smallest share of the volume that has been missing since. */
  believed?: { readonly missing: number; readonly part: number }
}

/** Whether the trades of a contract's whole list add up to less than its volume. */
export const areTooFew = (trades: readonly TradeObservation[], volume: number): boolean =>
  trades.reduce((sum, { size }) => sum + Number(size), 0) < volume - TOLERANCE

export function countVolumes() {
  const counts = new Map<string, Count>()
  return {
    /**
     * A list's volume, which includes all trades before `sinceMs`; counting begins at the first volume of a contract.
     */
    listed(ticker: string, volume: number, sinceMs: number) {
      if (!counts.has(ticker))
        counts.set(ticker, { beginning: volume, sinceMs, counted: 0, recent: new Map() })
    },
    /** All trades of a contract from `fromMs` on; no later answer begins earlier. */
    received(ticker: string, trades: readonly TradeObservation[], fromMs: number) {
      const count = counts.get(ticker)
      if (count === undefined) return
      for (const [id, timeMs] of count.recent) if (timeMs < fromMs) count.recent.delete(id)
      for (const { id, size, venueTimeMs } of trades) {
        if (venueTimeMs < count.sinceMs) continue
        if (!count.recent.has(id)) count.counted += Number(size)
        count.recent.set(id, venueTimeMs)
      }
    },
    /** Whether trades are missing that the volume includes. May only be called for an answer that was just received. */
    isLacking(ticker: string, volume: number, nowMs: number): boolean {
      const count = counts.get(ticker)
      if (count === undefined) return false
      const missing = volume - count.beginning - count.counted
      const part = missing / volume
      const { believed } = count
      // If nothing at all is counted, the missing share stays 1 however much is missing, so it proves nothing.
      const isPartBelieved = part < 1 && part <= (believed?.part ?? 0)
      const isBelieved = believed !== undefined && (missing <= believed.missing + TOLERANCE || isPartBelieved)
      if (missing > TOLERANCE && isBelieved)
        count.believed = { ...believed, part: Math.min(believed.part, part) }
      else if (missing > TOLERANCE) {
        count.lacking = doubtedAgain(count.lacking, nowMs)
        if (count.lacking.doubtedMs < DOUBTED_FOR_MS) return true
        count.believed = { missing, part }
      }
      delete count.lacking
      return false
    },
    forgetUnless(isKnown: (ticker: string) => boolean) {
      for (const ticker of counts.keys()) if (!isKnown(ticker)) counts.delete(ticker)
    },
  }
}
