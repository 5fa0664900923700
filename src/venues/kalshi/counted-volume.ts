/**
 * Whether the trades that were received of a contract make up its volume. An answer for another time, or one that is
 * cut off or old, need not have a row that shows it; the venue's own figure does.
 *
 *   first list ──▶ counting begins at its volume
 *   trades     ──▶ each is counted once, unless it is surely part of that volume
 *   list       ──▶ its volume has grown by more than was counted: trades are missing
 */
import type { TradeObservation } from '../observation.ts'

/** Volumes have two decimals. */
const TOLERANCE = 0.005
/** A volume that the trades do not make up for so long is wrong itself; finality must not wait for it for ever. */
export const DOUBTED_FOR_MS = 30 * 60_000

interface Count {
  /** The volume before everything that was counted. */
  beginning: number
  /** Older trades are part of that volume. */
  readonly sinceMs: number
  counted: number
  /** Times of the trades that a later answer may repeat. */
  readonly recent: Map<string, number>
  lackingSinceMs?: number
}

/** Whether trades that are a contract's whole list are too few for its volume. */
export const areTooFew = (trades: readonly TradeObservation[], volume: number): boolean =>
  trades.reduce((sum, { size }) => sum + Number(size), 0) < volume - TOLERANCE

export function countVolumes() {
  const counts = new Map<string, Count>()
  return {
    /** The volume in a list, with all trades before an instant; the first one of a contract is where its count begins. */
    listed(ticker: string, volume: number, sinceMs: number) {
      if (!counts.has(ticker))
        counts.set(ticker, { beginning: volume, sinceMs, counted: 0, recent: new Map() })
    },
    /** All trades of a contract from an instant on; no later answer begins before it. */
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
    /** Whether trades are missing that a volume has. */
    isLacking(ticker: string, volume: number, nowMs: number): boolean {
      const count = counts.get(ticker)
      if (count === undefined) return false
      const isLacking = volume - count.beginning > count.counted + TOLERANCE
      if (isLacking) count.lackingSinceMs ??= nowMs
      if (isLacking && nowMs < (count.lackingSinceMs ?? nowMs) + DOUBTED_FOR_MS) return true
      if (isLacking) count.beginning = volume - count.counted
      delete count.lackingSinceMs
      return false
    },
    forgetUnless(isKnown: (ticker: string) => boolean) {
      for (const ticker of counts.keys()) if (!isKnown(ticker)) counts.delete(ticker)
    },
  }
}
