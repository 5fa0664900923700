import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { PruneTime } from '../chain/prune-time.ts'

/** Reads the time from which ages are counted. */
export function pruneTimeReader(database: DatabaseSync): (nowMs: number) => {
  time: PruneTime
  newestBlockMs: number | undefined
} {
  const newest = database.prepare('SELECT time FROM chain_blocks ORDER BY id DESC LIMIT 1')
  return (nowMs) => {
    const newestBlockMs = newest.get()?.time as number | undefined
    return { time: new PruneTime(nowMs, newestBlockMs), newestBlockMs }
  }
}

/** Sets a time among the facts of the chain, unless the stored one is later. */
export function laterFact(database: DatabaseSync): StatementSync {
  return database.prepare(
    `INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value
      WHERE CAST(excluded.value AS INTEGER) > CAST(value AS INTEGER)`,
  )
}
