/**
 * The history of deliveries is partitioned by month. Expired rows are deleted in steps; their space returns to the
 * system when the whole month has expired.
 */
import { type Database, statement } from './database.ts'
import { monthsFrom } from './months.ts'

/** How many months have partitions, including the current one. */
const MONTHS = 3
/** An arbitrary lock key, so that processes create partitions one after another. */
const LOCK = 0x5450_4a48

const LOCK_HISTORY = statement('job_history_lock', 'SELECT pg_advisory_xact_lock($1)')
const NOW = statement('job_history_now', 'SELECT now_ms() AS now')
const ADD = statement('job_history_add', 'SELECT add_history($1, $2, $3)')
const DROP = statement('job_history_drop', 'SELECT drop_history(now_ms() - $1::bigint)')

/** Creates the partitions of the next months and drops those that have expired completely. */
export function historyMonths(db: Database): (maxAgeMs: number) => Promise<void> {
  /** The months whose partitions this process has created or tried to create. */
  const tried = new Set<string>()
  let droppedIn = ''

  return async (maxAgeMs) => {
    const [row] = await db.rows<{ now: number }>(NOW)
    const nowMs = row?.now ?? 0
    const months = monthsFrom(nowMs, MONTHS).filter(({ suffix }) => !tried.has(suffix))
    const today = new Date(nowMs).toISOString().slice(0, 10)
    if (months.length === 0 && droppedIn === today) return
    await db.write(async (tx) => {
      const done = [tx.rows(LOCK_HISTORY, [LOCK])]
      for (const { suffix, low, high } of months)
        done.push(tx.rows(ADD, [`job_history_${suffix}`, low, high]))
      done.push(tx.rows(DROP, [maxAgeMs]))
      await Promise.all(done)
    })
    for (const { suffix } of months) tried.add(suffix)
    droppedIn = today
  }
}
