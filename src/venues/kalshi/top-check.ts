/**
 * Compares the top of our order book with the one in the venue's figures. They arrive in separate frames, so either may
 * be ahead for a moment; it is enough that they agree from time to time.
 *
 *   agree ──figures report another top──▶ differ ──any moment of equality──▶ agree
 *                                         ╰── reported often enough, for long enough ──▶ the book is wrong
 */
import { MICRO, microOf } from '../../core/micro.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'

/** In millionths; null for a side without orders. */
export interface Top {
  readonly bid: number | null
  readonly ask: number | null
}

export function createTopCheck() {
  const states = new Map<string, { top: Top; agreedMs: number; reports: number }>()
  return {
    /** The figures reported a top. Returns since when the book differs from it, once that has lasted too long. */
    reported(ticker: string, top: Top, isSame: boolean, nowMs: number): number | undefined {
      const state = states.get(ticker)
      if (state === undefined || isSame) {
        states.set(ticker, { top, agreedMs: nowMs, reports: 0 })
        return undefined
      }
      state.top = top
      state.reports += 1
      const hasLasted = nowMs - state.agreedMs > TIMES.topDiffersMs
      return hasLasted && state.reports >= TIMES.topReports ? state.agreedMs : undefined
    },
    /** The last reported top; undefined for a contract without one. */
    lastOf: (ticker: string): Top | undefined => states.get(ticker)?.top,
    agreed(ticker: string, nowMs: number) {
      const state = states.get(ticker)
      if (state === undefined) return
      state.agreedMs = nowMs
      state.reports = 0
    },
    forget: (ticker: string) => void states.delete(ticker),
  }
}

/** Undefined if the figures lack a side. The venue reports a side without orders as null, an empty string, 0 or 1. */
export function topOf(figures: {
  yes_bid_dollars?: string | null
  yes_ask_dollars?: string | null
}): Top | undefined {
  const { yes_bid_dollars: bid, yes_ask_dollars: ask } = figures
  if (bid === undefined || ask === undefined) return undefined
  return { bid: sideOf(bid), ask: sideOf(ask) }
}

function sideOf(text: string | null): number | null {
  const price = text === null || text === '' ? undefined : microOf(text)
  return price === undefined || price <= 0 || price >= MICRO ? null : price
}
