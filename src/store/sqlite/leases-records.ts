import type { DatabaseSync } from 'node:sqlite'
import { type Fence, MAX_LEASE_AHEAD_MS } from '../leases.ts'

export function leaseWriters(db: DatabaseSync) {
  const take = db.prepare(
    `INSERT INTO leases AS l (part, holder, term, until) VALUES (?, ?, 1, ?)
     ON CONFLICT (part) DO UPDATE SET holder = excluded.holder, term = l.term + 1, until = excluded.until
       WHERE l.until <= ? OR l.until > ?
     RETURNING term`,
  )
  const renew = db.prepare('UPDATE leases SET until = ? WHERE part = ? AND term = ? AND until > 0')
  const release = db.prepare('UPDATE leases SET until = 0 WHERE part = ? AND term = ?')
  return {
    takeLease(
      { part, holder, durationMs }: { part: string; holder: string; durationMs: number },
      nowMs: number,
    ): Fence | undefined {
      const row = take.get(part, holder, nowMs + durationMs, nowMs, nowMs + MAX_LEASE_AHEAD_MS)
      return row === undefined ? undefined : { part, term: Number(row.term) }
    },
    renewLease: ({ part, term }: Fence, untilMs: number) => renew.run(untilMs, part, term).changes > 0,
    releaseLease: ({ part, term }: Fence) => void release.run(part, term),
  }
}
