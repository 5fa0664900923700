import { DAY_MS } from '../core/time.ts'
import { type Clock, runEvery } from '../kit/clock.ts'
import { MINUTE_MS, MINUTES_PER_SLOT, type UptimeSlot, type UptimeStore } from '../store/uptime.ts'

export type Uptime = ReturnType<typeof createUptime>

export interface UptimeDay {
  readonly upMinutes: number
  /** Minutes of the day from the first known minute up to now. */
  readonly minutes: number
}

/** More than twice a minute, so that no minute is missed. */
const MARK_EVERY_MS = 20_000
const DAY_MINUTES = DAY_MS / MINUTE_MS

/** The minutes in which at least one process could answer and record that. */
export function createUptime(deps: { store: UptimeStore; clock: Clock }) {
  const { store, clock } = deps
  return {
    /** Marks minutes for this process until the returned function is called. */
    mark(canAnswer: () => Promise<boolean>): () => Promise<void> {
      let markedMinute = -1
      let running: Promise<void> | undefined
      const look = async () => {
        const nowMs = clock.now()
        const minute = Math.floor(nowMs / MINUTE_MS)
        if (minute === markedMinute || !(await canAnswer())) return
        await store.markUp(nowMs)
        markedMinute = minute
      }
      const stop = runEvery(clock, MARK_EVERY_MS, () => {
        // An unavailable store is noticed elsewhere; here it only leaves a minute unmarked.
        running ??= look()
          .catch(() => {})
          .finally(() => {
            running = undefined
          })
      })
      return async () => {
        stop()
        await running
      }
    },
    /** By UTC day, oldest first and today last; null before the first known minute. */
    async days(count: number): Promise<(UptimeDay | null)[]> {
      const nowMinute = Math.floor(clock.now() / MINUTE_MS)
      const first = Math.floor(nowMinute / DAY_MINUTES) - (count - 1)
      const slots = await store.listUptime(0)
      const start = slots[0] === undefined ? Number.POSITIVE_INFINITY : firstMinute(slots[0])
      const up = new Map<number, number>()
      for (const { slot, minutes } of slots) {
        const day = Math.floor((slot * MINUTES_PER_SLOT) / DAY_MINUTES)
        // The current minute is not over and does not count.
        const isNow = slot === Math.floor(nowMinute / MINUTES_PER_SLOT)
        const over = isNow ? minutes & ((1 << (nowMinute % MINUTES_PER_SLOT)) - 1) : minutes
        if (day >= first) up.set(day, (up.get(day) ?? 0) + countBits(over))
      }
      return Array.from({ length: count }, (_, index) => {
        const from = (first + index) * DAY_MINUTES
        const minutes = Math.min(from + DAY_MINUTES, nowMinute) - Math.max(from, start)
        return minutes > 0 ? { upMinutes: up.get(first + index) ?? 0, minutes } : null
      })
    },
  }
}

function firstMinute({ slot, minutes }: UptimeSlot): number {
  return slot * MINUTES_PER_SLOT + Math.log2(minutes & -minutes)
}

function countBits(bits: number): number {
  let count = 0
  for (let left = bits; left !== 0; left &= left - 1) count++
  return count
}
