/**
 * Finds rows that passed every check but are refused by the database. Rows are written together; only if that fails
 * because of a row, and not because of the file or the disk, is each row tried alone.
 */
import { bytesOf, joinBytes, type PackedRows } from './packed.ts'

/** A refused row in a list of packs. */
export interface FaultyRow {
  readonly pack: number
  /** Index among the rows of its pack. */
  readonly index: number
  readonly reason: string
}

/** `faultOf` tries one row and returns the reason if it is refused. */
export function findFaultyRows(
  packs: readonly PackedRows[],
  faultOf: (row: PackedRows) => string | undefined,
): FaultyRow[] {
  const found: FaultyRow[] = []
  for (const [pack, rows] of packs.entries()) {
    let index = 0
    for (const row of single(rows)) {
      const reason = faultOf(row)
      if (reason !== undefined) found.push({ pack, index, reason })
      index++
    }
  }
  return found
}

/** Each row as a separate pack. */
function* single(rows: PackedRows): Generator<PackedRows> {
  const split = (texts: string | null) => texts?.split('\n') ?? null
  const [texts, instruments, sides] = [rows.texts, rows.instruments, rows.sides].map(split)
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
      books: rows.books === null ? null : joinBytes([bytesOf(rows.books, i)]),
    }
}
