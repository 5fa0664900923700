/**
 * Rows that the database itself will not take. Rows are written together; only when that fails because of what they
 * are, and not because of the file or the disk, are they written one by one, and those that fail alone are listed.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { PackedRows } from '../rows/packed.ts'
import type { AppendCounts } from './series-append.ts'

export interface AppendOutcome extends AppendCounts {
  /** Places among the packed rows. */
  refused: { index: number; reason: string }[]
}

/** SQLite's codes for a value that is too big, breaks a constraint, has the wrong type or cannot be bound. */
const ROW_FAULTS = new Set([18, 19, 20, 25])

export function rowsOrRefusals(
  database: DatabaseSync,
  append: (rows: PackedRows, recordedAt: number) => AppendCounts,
  /** What is remembered of the file may be wrong after rows were undone. */
  forget: () => void,
): (rows: PackedRows, mode: 'throw' | 'skip', recordedAt: number) => AppendOutcome {
  function undone<T>(work: () => T): T {
    database.exec('SAVEPOINT rows')
    try {
      const result = work()
      database.exec('RELEASE rows')
      return result
    } catch (error) {
      database.exec('ROLLBACK TO rows')
      database.exec('RELEASE rows')
      forget()
      throw error
    }
  }

  return (rows, mode, recordedAt) => {
    if (mode === 'throw') return { ...append(rows, recordedAt), refused: [] }
    try {
      return { ...undone(() => append(rows, recordedAt)), refused: [] }
    } catch (error) {
      if (!isRowFault(error)) throw error
    }
    const outcome: AppendOutcome = { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, refused: [] }
    let index = 0
    for (const row of single(rows)) {
      try {
        const counts = undone(() => append(row, recordedAt))
        for (const name of ['inserted', 'unchanged', 'rewritten', 'corrected'] as const)
          outcome[name] += counts[name]
      } catch (error) {
        if (!isRowFault(error)) throw error
        outcome.refused.push({ index, reason: error instanceof Error ? error.message : String(error) })
      }
      index += 1
    }
    return outcome
  }
}

function isRowFault(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode
  return code === undefined || ROW_FAULTS.has(code & 0xff)
}

/** Each row as a pack of its own. */
function* single(rows: PackedRows): Generator<PackedRows> {
  const split = (texts: string | null) => texts?.split('\n') ?? null
  const [texts, instruments, sides, books] = [rows.texts, rows.instruments, rows.sides, rows.books].map(split)
  for (let i = 0; i < rows.count; i++)
    yield {
      feed: rows.feed,
      count: 1,
      ts: rows.ts.slice(i, i + 1),
      seq: rows.seq.slice(i, i + 1),
      closed: rows.closed.slice(i, i + 1),
      texts: texts?.[i] ?? '',
      instruments: instruments?.[i] ?? null,
      sides: sides?.[i] ?? null,
      usd: rows.usd?.slice(i, i + 1) ?? null,
      books: books?.[i] ?? null,
    }
}
