/**
 * Tracks how many requests a venue allows. A header of every response corrects our count, because other programs may
 * share the address. A window is a fixed slice of the clock, as the venues count, not a sliding one. A request near the
 * boundary may be counted in either window by the venue, so it counts in both here.
 */

import type { Clock } from '../../kit/clock.ts'
import type { ResponseHeaders } from './http.ts'

export interface RequestBudget {
  readonly limit: number
  readonly windowMs: number
  /** The response header that reports how much of the window is used. */
  readonly usedHeader?: string
}

/** Headroom for other clients on the same address and for errors in our own counting. */
const BUDGET_RESERVE = 0.1
/**
 * The venue's clock differs from ours, so a new window is entered this much late (a tenth of the window if shorter).
 */
const WINDOW_GUARD_MS = 1_000

export function createWeightBudget(options: { budget: RequestBudget; clock: Clock }) {
  const { budget, clock } = options
  const usable = budget.limit * (1 - BUDGET_RESERVE)
  const guardMs = Math.min(WINDOW_GUARD_MS, budget.windowMs / 10)
  let window = -1
  let used = 0
  /** Weight that was taken and is not settled yet. */
  let underWay = 0
  /** Weight settled so late in the window that the venue may have counted it in the next one. */
  let late = 0
  /** Number of live requests that wait for room; backfill requests wait behind them. */
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
     * Waits until the window has room, then takes it. A share below 1 marks the backfill, which may use only this share
     * of the window and yields to requests without one.
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
          // While live requests wait, the backfill checks again soon, because they may not need all of the room.
          const waitMs = hasRoom ? budget.windowMs / 20 : nextMs - clock.now()
          await clock.sleep(Math.max(1, waitMs), signal)
        }
      } finally {
        if (isWaiting) liveWaiting -= 1
      }
      used += weight
      underWay += weight
    },
    /** The request was answered or has failed, so the venue has counted it by now. */
    settle(weight: number) {
      enterWindow()
      underWay -= weight
      if (clock.now() >= (window + 1) * budget.windowMs - guardMs) late += weight
    },
    /** Adopts the usage that a response reports, if it is higher than our count. */
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
