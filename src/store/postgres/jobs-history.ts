/**
 * The history of deliveries lies in one part per month of its time. Rows are deleted in steps when they have expired; what they
 * leave behind is given back to the system when all of a month has.
 */
import { type Database, statement } from './database.ts'

/** How many months have their parts, this one included. */
const MONTHS = 3
/** Any number: processes make parts one after another. */
const LOCK = 0x5450_4a48

const LOCK_HISTORY = statement('job_history_lock', 'SELECT pg_advisory_xact_lock($1)')
const NOW = statement('job_history_now', 'SELECT now_ms() AS now')
const ADD = statement('job_history_add', 'SELECT add_history($1, $2, $3)')
const DROP = statement('job_history_drop', 'SELECT drop_history(now_ms() - $1::bigint)')

/** Makes the parts of the next months, and drops those of which everything is older. */
export function historyMonths(db: Database): (maxAgeMs: number) => Promise<void> {
  /** Those that this process has made, or tried to. */
  const tried = new Set<string>()
  let droppedIn = ''

  return async (maxAgeMs) => {
    const [row] = await db.rows<{ now: number }>(NOW)
    const months = monthsFrom(row?.now ?? 0).filter(({ name }) => !tried.has(name))
    const today = new Date(row?.now ?? 0).toISOString().slice(0, 10)
    if (months.length === 0 && droppedIn === today) return
    await db.write(async (tx) => {
      const done = [tx.rows(LOCK_HISTORY, [LOCK])]
      for (const { name, low, high } of months) done.push(tx.rows(ADD, [name, low, high]))
      done.push(tx.rows(DROP, [maxAgeMs]))
      await Promise.all(done)
    })
    for (const { name } of months) tried.add(name)
    droppedIn = today
  }
}

function monthsFrom(nowMs: number): { name: string; low: number; high: number }[] {
  const now = new Date(nowMs)
  return Array.from({ length: MONTHS }, (_, ahead) => {
    const [low, high] = [ahead, ahead + 1].map((n) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + n))
    const [year, month] = new Date(low ?? 0).toISOString().split('-')
    return { name: `job_history_y${year}m${month}`, low: low ?? 0, high: high ?? 0 }
  })
}
