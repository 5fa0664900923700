import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Dataset, Feed } from '../../core/feed.ts'
import type { EncodedRow } from '../../core/rows/encoded-row.ts'
import { RowError } from '../../core/rows/row-error.ts'
import { type FeedRows, type RowInputs, rowEncoder } from '../../core/rows/row-kinds.ts'
import { type AppendResult, MAX_BATCH_ROWS } from '../series.ts'
import { type PackedRows, packRows } from './packed.ts'

const ROWS_PER_LOOK = 16
const ROWS_PER_PACK = 500

/** Rows that are handed over together, and where each of them stands among the rows of its feed. */
export interface EncodedRows {
  packed: PackedRows
  indexes: number[]
}

export interface EncodedBatch {
  /** Each list is one transaction. */
  transactions: EncodedRows[][]
  refused: AppendResult['refused']
}

/**
 * Validates and encodes every row before any is written. In `throw` mode the first wrong row ends it. Gives way to
 * other work of the thread after each `holdMs`.
 */
export async function encodeBatch(
  batch: readonly FeedRows[],
  mode: 'throw' | 'skip',
  holdMs: number,
): Promise<EncodedBatch> {
  const transactions: EncodedRows[][] = [[]]
  const refused: AppendResult['refused'] = []
  let inTransaction = 0
  let holdingSince = performance.now()

  const flush = (feed: Feed, rows: EncodedRow[], indexes: number[]) => {
    if (rows.length === 0) return
    if (inTransaction + rows.length > MAX_BATCH_ROWS) {
      transactions.push([])
      inTransaction = 0
    }
    transactions.at(-1)?.push({ packed: packRows(feed, rows), indexes })
    inTransaction += rows.length
  }

  for (const { feed, rows } of batch) {
    const encode = rowEncoder(feed)
    let encoded: EncodedRow[] = []
    let indexes: number[] = []
    for (const [index, row] of (rows as readonly RowInputs[Dataset][]).entries()) {
      try {
        encoded.push(checked(encode(row)))
        indexes.push(index)
      } catch (error) {
        refused.push({ feed, index, error: asRowError(error) })
        if (mode === 'throw') return { transactions, refused }
      }
      if (encoded.length >= ROWS_PER_PACK) {
        flush(feed, encoded, indexes)
        encoded = []
        indexes = []
      }
      if (index % ROWS_PER_LOOK === 0 && performance.now() - holdingSince > holdMs) {
        await nextTurn()
        holdingSince = performance.now()
      }
    }
    flush(feed, encoded, indexes)
  }
  // Handing a batch over copies it: that is a stretch of its own.
  if (performance.now() - holdingSince > holdMs / 2) await nextTurn()
  return { transactions: transactions.filter((rows) => rows.length > 0), refused }
}

/** Columns are joined by line breaks: one inside an identifier would shift every row behind it. */
function checked(row: EncodedRow): EncodedRow {
  if (row.instrument.includes('\n')) throw new RowError('instrument', 'must not contain a line break')
  return row
}

/** Whatever an encoder stumbles over is that row's fault: it must not hold back the rows around it. */
function asRowError(error: unknown): RowError {
  if (error instanceof RowError) return error
  return new RowError('row', error instanceof Error ? error.message : String(error))
}
