/**
 * The storage port of the minutes in which the service answered. All processes write to the same rows. A row covers
 * half an hour with one bit per minute, so that marking a minute twice changes nothing and 90 days take a few thousand
 * rows.
 */
import { DAY_MS } from '../core/time.ts'

export const MINUTE_MS = 60_000
export const MINUTES_PER_SLOT = 30
export const UPTIME_KEPT_MS = 100 * DAY_MS

export interface UptimeSlot {
  /** Number of half hours since 1970. */
  slot: number
  /** One bit per minute, the first minute in the lowest bit. */
  minutes: number
}

export interface UptimeStore {
  /** Marks the minute of this time as answered, and deletes minutes older than UPTIME_KEPT_MS. */
  markUp(atMs: number): Promise<void>
  /** In the order of time. */
  listUptime(fromMs: number): Promise<UptimeSlot[]>
}

export function slotOf(atMs: number): UptimeSlot {
  const minute = Math.floor(atMs / MINUTE_MS)
  return { slot: Math.floor(minute / MINUTES_PER_SLOT), minutes: 1 << (minute % MINUTES_PER_SLOT) }
}
