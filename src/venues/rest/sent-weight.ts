/**
 * Counts what was actually sent in each window of a budget, at the moment a request leaves. This checks the budget
 * (weight-budget.ts), which counts when room is taken, and everything in between.
 */
import type { Clock } from '../../kit/clock.ts'
import type { RequestBudget } from './weight-budget.ts'

export interface SentWeight {
  readonly pool: string
  readonly limit: number
  /** Weight sent in the current window. */
  readonly sent: number
  /** Number of windows in which more was sent than the venue allows. */
  readonly overruns: number
}

export function countSentWeight(budgets: Readonly<Record<string, RequestBudget>>, clock: Clock) {
  const pools = new Map(
    Object.entries(budgets).map(([pool, { limit, windowMs }]) => [
      pool,
      { pool, limit, windowMs, window: -1, sent: 0, requests: 0, overruns: 0 },
    ]),
  )
  return {
    add(name: string, weight: number): void {
      const pool = pools.get(name)
      if (pool === undefined) return
      const window = Math.floor(clock.now() / pool.windowMs)
      if (window !== pool.window) {
        pool.window = window
        pool.sent = 0
        pool.requests = 0
      }
      const wasInside = pool.sent <= pool.limit || pool.requests === 1
      pool.sent += weight
      pool.requests += 1
      // A single request above the whole budget is no overrun, because it is sent alone.
      if (wasInside && pool.sent > pool.limit && pool.requests > 1) pool.overruns += 1
    },
    read: (): SentWeight[] =>
      [...pools.values()].map(({ pool, limit, sent, overruns }) => ({ pool, limit, sent, overruns })),
  }
}
