import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Sets a time among the facts of the chain; one that is later already stays. */
export function laterFact(database: DatabaseSync): StatementSync {
  return database.prepare(
    `INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value
      WHERE CAST(excluded.value AS INTEGER) > CAST(value AS INTEGER)`,
  )
}
