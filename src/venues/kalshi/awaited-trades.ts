/**
 * Since when the venue has not confirmed that it sends the trades of a contract. That time is lost, whatever else the
 * socket delivers.
 *
 *   socket open, newly followed, refused, deleted ──▶ awaited ──the venue confirms──▶ received
 *                                                        ╰── lost, reported again and again while it lasts
 */
import type { HistoryRange } from '../venue.ts'

/** When a contract is traded. */
export type TradedRange = (ticker: string) => HistoryRange | undefined

export type AwaitedTrades = ReturnType<typeof createAwaitedTrades>

export function createAwaitedTrades(tradedRange: TradedRange) {
  /** By ticker: everything before this instant was reported or received. */
  const awaited = new Map<string, number>()

  /** Reports the trades of an awaited contract up to an instant. */
  function report(ticker: string, toMs: number): HistoryRange | undefined {
    const traded = tradedRange(ticker)
    const fromMs = Math.max(awaited.get(ticker) ?? toMs, traded?.fromMs ?? 0)
    const endMs = Math.min(toMs, traded?.toMs ?? toMs)
    if (fromMs >= endMs) return undefined
    awaited.set(ticker, endMs)
    return { fromMs, toMs: endMs }
  }

  return {
    /**
     * Returns the time that was lost since the last call, up to `aheadMs` from now for contracts that are still
     * awaited; undefined if none was.
     */
    lost(
      followed: ReadonlySet<string>,
      confirmed: ReadonlySet<string>,
      nowMs: number,
      aheadMs: number,
    ): HistoryRange | undefined {
      const ranges: (HistoryRange | undefined)[] = []
      for (const ticker of followed) {
        if (confirmed.has(ticker)) continue
        if (!awaited.has(ticker)) awaited.set(ticker, nowMs)
        ranges.push(report(ticker, nowMs + aheadMs))
      }
      for (const ticker of awaited.keys()) {
        if (followed.has(ticker) && !confirmed.has(ticker)) continue
        ranges.push(report(ticker, nowMs))
        awaited.delete(ticker)
      }
      const found = ranges.filter((range) => range !== undefined)
      if (found.length === 0) return undefined
      return {
        fromMs: Math.min(...found.map(({ fromMs }) => fromMs)),
        toMs: Math.max(...found.map(({ toMs }) => toMs)),
      }
    },
    /** The socket has ended, and its channels with it. */
    clear: () => awaited.clear(),
  }
}
