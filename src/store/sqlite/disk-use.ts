/**
 * The disk use of a data folder's files. Rows of all datasets are in one tree, whose pages are divided in proportion to
 * byte counts that every write updates, so that no page has to be read.
 */
import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { ENVIRONMENTS, type Environment } from '../../core/environment.ts'
import type { Dataset } from '../../core/feed.ts'
import { type DiskUse, type PartUse, shareOf } from '../disk-use.ts'
import { type DatabaseFile, databaseFiles } from './files.ts'
import { openDatabase } from './open.ts'

/** Bytes of a row besides its text: key, columns and its slot on a page. */
const ROW_OVERHEAD = 36
/** Bytes of a group besides its blocks: its row, its index entries, and unused space on the pages of its blocks. */
const GROUP_OVERHEAD = 200

/** Bytes of a block of rows besides its data, including the unused end of its page. */
const BLOCK_OVERHEAD = 300

const BY_DATASET = `SELECT dataset, sum(rows) AS rows, sum(weight) AS weight FROM (
    SELECT dataset, rows, bytes + rows * ${ROW_OVERHEAD} AS weight FROM feeds
    UNION ALL
    SELECT f.dataset, sum(g.rows), sum(g.bytes + ${GROUP_OVERHEAD})
      FROM feeds f CROSS JOIN book_groups g ON g.feed = f.id GROUP BY f.id
    UNION ALL
    SELECT f.dataset, sum(p.rows), sum(p.bytes + ${BLOCK_OVERHEAD})
      FROM feeds f CROSS JOIN packed_rows p ON p.feed = f.id GROUP BY f.id)
  GROUP BY dataset HAVING sum(weight) > 0`

export function measureFolder(folder: string): DiskUse {
  const measured = databaseFiles(folder)
    .filter(({ path }) => existsSync(path))
    .map(measureFile)
  return {
    parts: measured.flatMap(({ parts }) => parts),
    reusableBytes: measured.reduce((sum, { reusableBytes }) => sum + reusableBytes, 0),
  }
}

function measureFile({ name, label, path }: DatabaseFile): DiskUse {
  const database = openDatabase({ file: path, readOnly: true })
  try {
    const pragma = (what: string) => Number(Object.values(database.prepare(`PRAGMA ${what}`).get() ?? {})[0])
    const [pages, free, size] = [pragma('page_count'), pragma('freelist_count'), pragma('page_size')]
    const bytes = (pages - free) * size
    const environment = ENVIRONMENTS.find((each) => name === each || name.startsWith(`${each}-`)) ?? null
    const whole = (part: PartUse['part']): PartUse[] => [{ environment, part, bytes, rows: null }]
    const parts =
      label === 'environment'
        ? datasets(database, environment, bytes)
        : whole(label === 'chain' ? 'chain' : label === 'jobs' ? 'webhooks' : 'accounts')
    return { parts, reusableBytes: free * size }
  } finally {
    database.close()
  }
}

function datasets(database: DatabaseSync, environment: Environment | null, bytes: number): PartUse[] {
  const found = database
    .prepare(BY_DATASET)
    .all()
    .map((row) => ({
      part: String(row.dataset) as Dataset,
      rows: Number(row.rows),
      weight: Number(row.weight),
    }))
  if (found.length === 0) return [{ environment, part: 'other', bytes, rows: null }]
  return shareOf(found, bytes).map(({ part, rows, bytes }) => ({ environment, part, rows, bytes }))
}
