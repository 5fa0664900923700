import type { DatabaseSync } from 'node:sqlite'
import type { AttemptCount } from '../attempt-counts.ts'
import type { Heartbeat } from '../heartbeats.ts'
import { HOLDER_MS, type OthersCounts, type OwnCount } from '../shared-counts.ts'

/** All writes of the coordination store. An exchange writes before it reads, so it is a write too. */
export function coordinationWriters(db: DatabaseSync) {
  const forgetCounts = db.prepare('DELETE FROM shared_counts WHERE until <= ?')
  const forgetHolders = db.prepare('DELETE FROM count_holders WHERE until <= ?')
  const putHolder = db.prepare('INSERT OR REPLACE INTO count_holders VALUES (?, ?)')
  const putCount = db.prepare('INSERT OR REPLACE INTO shared_counts VALUES (?, ?, ?, ?, ?)')
  const others = db.prepare(
    'SELECT COALESCE(SUM(count), 0) AS n FROM shared_counts WHERE name = ? AND window_start = ? AND holder <> ?',
  )
  const holders = db.prepare('SELECT COUNT(*) AS n FROM count_holders')
  const forgetAttempts = db.prepare('DELETE FROM attempts WHERE until <= ?')
  // An end further ahead than one window was written under a clock that has since been set back.
  const addAttempt = db.prepare(
    `INSERT INTO attempts VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET
       count = CASE WHEN until <= excluded.until THEN count + 1 ELSE 1 END,
       until = MIN(until, excluded.until)
     RETURNING count - 1 AS before, until`,
  )
  const takeBack = db.prepare('UPDATE attempts SET count = MAX(count - 1, 0) WHERE name = ?')
  const forget = db.prepare('DELETE FROM attempts WHERE name = ?')
  const putSecret = db.prepare('INSERT OR IGNORE INTO shared_secrets VALUES (?, ?)')
  const secret = db.prepare('SELECT value FROM shared_secrets WHERE name = ?')
  const putHeartbeat = db.prepare('INSERT OR REPLACE INTO heartbeats VALUES (?, ?, ?)')
  const removeHeartbeat = db.prepare('DELETE FROM heartbeats WHERE part = ?')
  return {
    exchangeCounts(own: { holder: string; counts: readonly OwnCount[] }, nowMs: number): OthersCounts {
      forgetCounts.run(nowMs)
      forgetHolders.run(nowMs)
      putHolder.run(own.holder, nowMs + HOLDER_MS)
      const sums = own.counts.map(({ name, windowStartMs, count, validMs }) => {
        putCount.run(name, windowStartMs, own.holder, count, nowMs + validMs)
        return Number(others.get(name, windowStartMs, own.holder)?.n)
      })
      return { others: sums, processes: Number(holders.get()?.n), nowMs }
    },
    addAttempts(names: readonly string[], windowMs: number, nowMs: number): AttemptCount[] {
      forgetAttempts.run(nowMs)
      return names.map((name) => {
        const row = addAttempt.get(name, nowMs + windowMs)
        return { before: Number(row?.before), leftMs: Number(row?.until) - nowMs }
      })
    },
    takeBackAttempts: (names: readonly string[]) => names.forEach((name) => void takeBack.run(name)),
    forgetAttempts: (names: readonly string[]) => names.forEach((name) => void forget.run(name)),
    sharedSecret(name: string, proposed: string): string {
      putSecret.run(name, proposed)
      return String(secret.get(name)?.value)
    },
    putHeartbeat: ({ part, text }: Heartbeat, nowMs: number) => void putHeartbeat.run(part, text, nowMs),
    removeHeartbeat: (part: string) => void removeHeartbeat.run(part),
  }
}
