import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** A row of series_rows to be written. */
export interface PlainRow {
  ts: number
  seq: number
  instrument: string
  closed: number
  side: string | null
  usd: number | null
  text: string
}

/** Rows per insert, because most of the cost of a small insert is the call itself. */
export const MANY = 32
const CONSTRAINT_ERROR = 19

const COLUMNS = '(feed, ts, instrument, seq, text, closed, side, usd, revision, recorded_at)'
/** `#` stands for a parameter of the row; the feed (?1) and the time of writing (?2) are bound once for all rows. */
const FULL_ROW = '(?1, #, #, #, #, #, #, #, 1, ?2)'
const SHORT_ROW = "(?1, #, '', #, #, #, NULL, NULL, 1, ?2)"

export function rowInserter(database: DatabaseSync) {
  const single = database.prepare(
    `INSERT INTO series_rows ${COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`,
  )
  const full = manyOf(database, FULL_ROW)
  const short = manyOf(database, SHORT_ROW)
  return {
    /** Returns false and writes nothing if the key already exists. */
    one(feed: number, row: PlainRow, recordedAt: number): boolean {
      const { ts, instrument, seq, text, closed, side, usd } = row
      return single.run(feed, ts, instrument, seq, text, closed, side, usd, recordedAt).changes === 1
    },
    /** Inserts exactly MANY rows in one statement; returns false and inserts none if any key already exists. */
    many(feed: number, rows: readonly PlainRow[], recordedAt: number): boolean {
      const isShort = rows.every((row) => row.instrument === '' && row.side === null && row.usd === null)
      const binds: (string | number | null)[] = [feed, recordedAt]
      for (const { ts, instrument, seq, text, closed, side, usd } of rows) {
        if (isShort) binds.push(ts, seq, text, closed)
        else binds.push(ts, instrument, seq, text, closed, side, usd)
      }
      return runsThrough(isShort ? short : full, binds)
    },
  }
}

function manyOf(database: DatabaseSync, row: string): StatementSync {
  let parameter = 2
  const rows = Array.from({ length: MANY }, () => row).join(', ')
  const numbered = rows.replaceAll('#', () => `?${++parameter}`)
  return database.prepare(`INSERT INTO series_rows ${COLUMNS} VALUES ${numbered}`)
}

/** False on a duplicate key; SQLite then undoes the whole statement. */
function runsThrough(statement: StatementSync, binds: (string | number | null)[]): boolean {
  try {
    statement.run(...binds)
    return true
  } catch (error) {
    const code = (error as { errcode?: number }).errcode ?? 0
    if ((code & 0xff) !== CONSTRAINT_ERROR) throw error
    return false
  }
}
