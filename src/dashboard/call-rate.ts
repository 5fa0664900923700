import { RateWindow } from '../accounts/rate-window.ts'
import { Lru } from '../kit/lru.ts'
import { DashboardError } from './route.ts'

/**
 * Far above what the page does by itself, which is a poll every few seconds. Calls cost no credits, so nothing else
 * bounds them.
 */
const LIMITS = { perSecond: 300, perMinute: 1_200 }
const MAX_USERS = 2_000

/** Limits each user in this process, across all of the user's sessions. */
export function createCallRate(nowMs = () => performance.now()): (userId: string) => void {
  const windows = new Lru<string, RateWindow>({ maxEntries: MAX_USERS })
  return (userId) => {
    let window = windows.get(userId)
    if (window === undefined) {
      window = new RateWindow(LIMITS)
      windows.set(userId, window)
    }
    const taken = window.take(nowMs())
    if (taken.ok) return
    const seconds = String(Math.ceil(taken.retryAfterMs / 1000))
    throw new DashboardError(429, 'rate_limited', 'Too many calls of the dashboard. Try again in a moment.', [
      'Retry-After',
      seconds,
    ])
  }
}
