/**
 * Compares the top of a kept book with the one in the venue's figures. Both come on their own way, so either may be
 * ahead for a moment; what counts is that they agree now and then.
 *
 *   agree ──figures tell another top──▶ differ ──any moment of equality──▶ agree
 *                                         ╰── told often enough, for long enough ──▶ the book is wrong
 */
import { MICRO, microOf } from '../../core/micro.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'

/** In millionths; null for a side without orders. */
export interface Top {
  readonly bid: number | null
  readonly ask: number | null
}

export interface TopCheck {
  /** The figures told a top. Since when book and figures differ, once that has lasted; else undefined. */
  told(ticker: string, top: Top, isSame: boolean, nowMs: number): number | undefined
  /** What the figures said last; undefined for a contract of which they said nothing. */
  lastOf(ticker: string): Top | undefined
  agreed(ticker: string, nowMs: number): void
  forget(ticker: string): void
}

export function createTopCheck(): TopCheck {
  const states = new Map<string, { top: Top; agreedMs: number; tellings: number }>()
  return {
    told(ticker, top, isSame, nowMs) {
      const state = states.get(ticker)
      if (state === undefined || isSame) {
        states.set(ticker, { top, agreedMs: nowMs, tellings: 0 })
        return undefined
      }
      state.top = top
      state.tellings += 1
      const hasLasted = nowMs - state.agreedMs > TIMES.topDiffersMs
      return hasLasted && state.tellings >= TIMES.topTellings ? state.agreedMs : undefined
    },
    lastOf: (ticker) => states.get(ticker)?.top,
    agreed(ticker, nowMs) {
      const state = states.get(ticker)
      if (state === undefined) return
      state.agreedMs = nowMs
      state.tellings = 0
    },
    forget: (ticker) => void states.delete(ticker),
  }
}

/** Undefined where the figures say nothing of a side. "No order" is told as nothing, 0 or 1. */
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
