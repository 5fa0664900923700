/**
 * How many requests a venue allows. The header of every response corrects our count, because other programs may share
 * the address. A window is a slice of the clock, as the venues count it, not a sliding one. A request near the border
 * may have been counted in either window: it counts in both.
 */

import type { Clock } from '../../kit/clock.ts'
import type { ResponseHeaders } from './http.ts'

export interface RequestBudget {
  readonly limit: number
  readonly windowMs: number
  /** The response header with what the window has used so far. */
  readonly usedHeader?: string
}

/** Left unused, for requests of others and for our own errors. */
const BUDGET_RESERVE = 0.1
/** The venue's clock is not ours: a new window is entered this much late, or by a tenth of a short one. */
const WINDOW_GUARD_MS = 1_000

export function createWeightBudget(options: { budget: RequestBudget; clock: Clock }) {
  const { budget, clock } = options
  const usable = budget.limit * (1 - BUDGET_RESERVE)
  const guardMs = Math.min(WINDOW_GUARD_MS, budget.windowMs / 10)
  let window = -1
  let used = 0
  /** Taken and not settled. */
  let underWay = 0
  /** Settled so late that the venue may have counted it in its next window. */
  let late = 0
  /** Requests of the live side that wait for room; those of the backfill wait behind them. */
  let liveWaiting = 0

  const enterWindow = () => {
    const current = Math.floor((clock.now() - guardMs) / budget.windowMs)
    if (current === window) return
    used = underWay + (current === window + 1 ? late : 0)
    late = 0
    window = current
  }

  return {
    /**
     * Waits until the window has room, then takes it. A share below 1 is that of the backfill: it ends that much
     * sooner, and requests without one go first.
     */
    async take(weight: number, signal: AbortSignal, share = 1) {
      const isBackground = share < 1
      let isWaiting = false
      try {
        for (;;) {
          enterWindow()
          // A single request above the whole budget must still get through, alone.
          const hasRoom = used + weight <= usable * share || used === 0
          if (hasRoom && !(isBackground && liveWaiting > 0)) break
          if (!isBackground && !isWaiting) {
            isWaiting = true
            liveWaiting += 1
          }
          const nextMs = (window + 1) * budget.windowMs + guardMs
          // Room left to the live side is checked again soon: the live side may not need all of it.
          const waitMs = hasRoom ? budget.windowMs / 20 : nextMs - clock.now()
          await clock.sleep(Math.max(1, waitMs), signal)
        }
      } finally {
        if (isWaiting) liveWaiting -= 1
      }
      used += weight
      underWay += weight
    },
    /** The request was answered, or will not be: the venue has counted it by now. */
    settle(weight: number) {
      enterWindow()
      underWay -= weight
      if (clock.now() >= (window + 1) * budget.windowMs - guardMs) late += weight
    },
    /** Takes over what a response reports about its window. */
    correct(headers: ResponseHeaders) {
      if (budget.usedHeader === undefined) return
      const reported = Number(headers.get(budget.usedHeader) ?? Number.NaN)
      if (Number.isFinite(reported) && reported > used) used = reported
    },
    used() {
      enterWindow()
      return used
    },
  }
}
