/**
 * The storage port of the minutes in which the service answered. All processes write into the same rows: half an hour
 * with one bit for each minute, so that marking a minute twice changes nothing and 90 days are a few thousand rows.
 */
import { DAY_MS } from '../core/time.ts'

export const MINUTE_MS = 60_000
export const MINUTES_PER_SLOT = 30
export const UPTIME_KEPT_MS = 100 * DAY_MS

export interface UptimeSlot {
  /** Half hours since 1970. */
  slot: number
  /** A bit for each of its minutes, the first one lowest. */
  minutes: number
}

export interface UptimeStore {
  /** The service answered in the minute of this time. Forgets minutes that are older than those that are kept. */
  markUp(atMs: number): Promise<void>
  /** In the order of time. */
  listUptime(fromMs: number): Promise<UptimeSlot[]>
}

export function slotOf(atMs: number): UptimeSlot {
  const minute = Math.floor(atMs / MINUTE_MS)
  return { slot: Math.floor(minute / MINUTES_PER_SLOT), minutes: 1 << (minute % MINUTES_PER_SLOT) }
}
