/**
 * Gives free pages back to the file system: pages from the end of the file move into them, and the file is truncated.
 */
import type { DatabaseSync } from 'node:sqlite'

/** Moving a page takes about 50 µs, during which other writers wait. */
const PAGES_AT_ONCE = 64
/** This share of the file stays free, because new rows need pages, too. */
const STAY_FREE = 1 / 50
const INCREMENTAL = 2

/**
 * Runs inside the caller's transaction. Files created before `auto_vacuum` was enabled keep their free pages for new
 * rows.
 */
export function vacuumStep(database: DatabaseSync): { bytes: number; more: boolean } {
  const pragma = (what: string) => Number(Object.values(database.prepare(`PRAGMA ${what}`).get() ?? {})[0])
  if (pragma('auto_vacuum') !== INCREMENTAL) return { bytes: 0, more: false }
  const [pages, free] = [pragma('page_count'), pragma('freelist_count')]
  const spare = free - Math.ceil(pages * STAY_FREE)
  if (spare <= 0) return { bytes: 0, more: false }
  const count = Math.min(spare, PAGES_AT_ONCE)
  database.exec(`PRAGMA incremental_vacuum(${count})`)
  const given = pages - pragma('page_count')
  return { bytes: given * pragma('page_size'), more: given > 0 && spare > count }
}
