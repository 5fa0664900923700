import type { DatabaseSync } from 'node:sqlite'

/**
 * Raises the counters of a restored database, by its label. Other databases assign no numbers that are known outside.
 */
export const CONTINUE_NUMBERS: Record<string, (database: DatabaseSync, above: number) => void> = {
  chain: (database, above) =>
    void database.prepare('UPDATE event_log SET newest_seq = newest_seq + ?').run(above),
  jobs(database, above) {
    const found = database.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'jobs'`).get()
    database.prepare(`DELETE FROM sqlite_sequence WHERE name = 'jobs'`).run()
    database
      .prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?)`)
      .run(Number(found?.seq ?? 0) + above)
  },
}
