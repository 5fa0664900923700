/** Pages of deleted rows: those of the file's end move into them, and the file becomes shorter. */
import type { DatabaseSync } from 'node:sqlite'

/** Moving a page takes some 50 µs, and other writers wait meanwhile. */
const PAGES_AT_ONCE = 64
/** The next rows need pages, too: those of a fiftieth of the file stay free. */
const STAY_FREE = 1 / 50
const INCREMENTAL = 2

/** Inside the caller's transaction. Files that were made before this was switched on keep their pages for new rows. */
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
