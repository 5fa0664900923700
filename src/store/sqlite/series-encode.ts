import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Dataset, Feed } from '../../core/feed.ts'
import type { EncodedRow } from '../../core/rows/encoded-row.ts'
import { RowError } from '../../core/rows/row-error.ts'
import { type FeedRows, type RowInputs, rowEncoder } from '../../core/rows/row-kinds.ts'
import { type AppendResult, MAX_BATCH_ROWS } from '../series.ts'
import { type PackedRows, packRows } from './series-packed.ts'

const ROWS_PER_LOOK = 16
const ROWS_PER_PACK = 500

export interface EncodedBatch {
  /** Each list is one transaction. */
  transactions: PackedRows[][]
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
  const transactions: PackedRows[][] = [[]]
  const refused: AppendResult['refused'] = []
  let inTransaction = 0
  let holdingSince = performance.now()

  const flush = (feed: Feed, rows: EncodedRow[]) => {
    if (rows.length === 0) return
    if (inTransaction + rows.length > MAX_BATCH_ROWS) {
      transactions.push([])
      inTransaction = 0
    }
    transactions.at(-1)?.push(packRows(feed, rows))
    inTransaction += rows.length
  }

  for (const { feed, rows } of batch) {
    const encode = rowEncoder(feed)
    let encoded: EncodedRow[] = []
    for (const [index, row] of (rows as readonly RowInputs[Dataset][]).entries()) {
      try {
        encoded.push(encode(row))
      } catch (error) {
        if (!(error instanceof RowError)) throw error
        refused.push({ feed, index, error })
        if (mode === 'throw') return { transactions, refused }
      }
      if (encoded.length >= ROWS_PER_PACK) {
        flush(feed, encoded)
        encoded = []
      }
      if (index % ROWS_PER_LOOK === 0 && performance.now() - holdingSince > holdMs) {
        await nextTurn()
        holdingSince = performance.now()
      }
    }
    flush(feed, encoded)
  }
  // Handing a batch over copies it: that is a stretch of its own.
  if (performance.now() - holdingSince > holdMs / 2) await nextTurn()
  return { transactions: transactions.filter((rows) => rows.length > 0), refused }
}
