import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Dataset, Feed } from '../../core/feed.ts'
import type { EncodedRow } from '../../core/rows/encoded-row.ts'
import { checkKey } from '../../core/rows/key-text.ts'
import { RowError } from '../../core/rows/row-error.ts'
import { type FeedRows, type RowInputs, rowEncoder } from '../../core/rows/row-kinds.ts'
import { turnTimeMs } from '../../kit/turns.ts'
import { MAX_BATCH_BYTES, MAX_BATCH_ROWS, type RowRefusal } from '../environment.ts'
import { type PackedRows, packRows } from './packed.ts'

const ROWS_PER_LOOK = 16
const ROWS_PER_PACK = 500

/** Rows that are sent together, and the index of the first among the rows of its feed. */
export interface EncodedRows {
  packed: PackedRows
  firstIndex: number
}

export interface EncodedBatch {
  /** Each list is one transaction. None may be written if a row is refused. */
  transactions: EncodedRows[][]
  refused: RowRefusal[]
}

/** Checks and encodes every row before any is written. Yields to other work of the thread after each `holdMs`. */
export async function encodeBatch(batch: readonly FeedRows[], holdMs: number): Promise<EncodedBatch> {
  const transactions: EncodedRows[][] = [[]]
  const refused: RowRefusal[] = []
  let inTransaction = 0
  let bytesInTransaction = 0
  let holdingSince = turnTimeMs()

  const flush = (feed: Feed, rows: EncodedRow[], firstIndex: number) => {
    if (rows.length === 0) return
    const packed = packRows(feed, rows)
    const bytes = packed.texts.length + (packed.books?.bytes.length ?? 0)
    const isFull =
      inTransaction + rows.length > MAX_BATCH_ROWS || bytesInTransaction + bytes > MAX_BATCH_BYTES
    if (isFull && inTransaction > 0) {
      transactions.push([])
      inTransaction = 0
      bytesInTransaction = 0
    }
    transactions.at(-1)?.push({ packed, firstIndex })
    inTransaction += rows.length
    bytesInTransaction += bytes
  }

  for (const { feed, rows } of batch) {
    const encode = rowEncoder(feed)
    let encoded: EncodedRow[] = []
    let firstIndex = 0
    for (const [index, row] of (rows as readonly RowInputs[Dataset][]).entries()) {
      try {
        encoded.push(checked(encode(row)))
      } catch (error) {
        refused.push({ feed, index, error: asRowError(error) })
      }
      if (encoded.length >= ROWS_PER_PACK) {
        flush(feed, encoded, firstIndex)
        encoded = []
        firstIndex = index + 1
      }
      if (index % ROWS_PER_LOOK === 0 && turnTimeMs() - holdingSince > holdMs) {
        await nextTurn()
        holdingSince = turnTimeMs()
      }
    }
    flush(feed, encoded, firstIndex)
  }
  // Sending a batch to another thread copies it, which takes time as well.
  if (turnTimeMs() - holdingSince > holdMs / 2) await nextTurn()
  return { transactions: transactions.filter((rows) => rows.length > 0), refused }
}

/** Columns are joined by line breaks, so one inside an identifier would shift every row after it. */
function checked(row: EncodedRow): EncodedRow {
  if (row.instrument.includes('\n')) throw new RowError('instrument', 'must not contain a line break')
  checkKey('instrument', row.instrument)
  return row
}

/** Any error of an encoder counts as a refusal of that row, so that the rows around it are not held up. */
function asRowError(error: unknown): RowError {
  if (error instanceof RowError) return error
  return new RowError('row', error instanceof Error ? error.message : String(error))
}
