/** Deletes what the index need not retain, in bounded steps inside the caller's transaction. */
import type { DatabaseSync } from 'node:sqlite'
import { DROPPED, PENDING } from '../chain/row-codes.ts'
import type { TransactionTexts } from './chain-texts.ts'
import { covenantPruner } from './covenants.ts'
import { tokenPruner } from './tokens.ts'

/** Rows of each kind that one step deletes at most. */
const PRUNE_STEP = 300

/** What is older than these is deleted; null retains it. */
export interface IndexBorders {
  readonly transactionsBeforeMs: number | null
  readonly droppedBeforeMs: number
  readonly seenBeforeMs: number
  readonly chainBlocks: number
}

export function chainPruner(database: DatabaseSync, texts: TransactionTexts) {
  const setFact = database.prepare('INSERT OR REPLACE INTO facts VALUES (?, ?)')
  const blocks = database.prepare(
    'DELETE FROM chain_blocks WHERE id <= (SELECT max(id) FROM chain_blocks) - ?',
  )
  const acceptances = database.prepare(
    `DELETE FROM acceptances WHERE (block, tx) IN (SELECT block, tx FROM acceptances
      WHERE block < (SELECT min(id) FROM chain_blocks) LIMIT ${PRUNE_STEP})`,
  )
  const seen = database.prepare(
    `DELETE FROM seen_blocks WHERE hash IN (SELECT hash FROM seen_blocks WHERE at < ? LIMIT ${PRUNE_STEP})`,
  )
  const gaps = database.prepare(
    `DELETE FROM gaps WHERE at < ? AND rowid IN (SELECT rowid FROM gaps ORDER BY rowid LIMIT ${PRUNE_STEP})`,
  )
  const oldest = database.prepare(
    `SELECT id, first_seen FROM transactions WHERE status <> ${PENDING} ORDER BY id LIMIT ${PRUNE_STEP}`,
  )
  const dropped = database.prepare(
    `SELECT id FROM transactions WHERE status = ${DROPPED} AND changed_at < ? LIMIT ${PRUNE_STEP}`,
  )
  const lowestId = database.prepare('SELECT min(id) AS id FROM transactions')
  const covenants = covenantPruner(database, PRUNE_STEP)
  const tokens = tokenPruner(database, PRUNE_STEP)
  const removeRows = database.prepare('DELETE FROM address_rows WHERE tx = ?')
  const removeTransaction = database.prepare('DELETE FROM transactions WHERE id = ?')

  function expired({ transactionsBeforeMs, droppedBeforeMs }: IndexBorders): Set<number> {
    const ids = new Set(dropped.all(droppedBeforeMs).map((row) => Number(row.id)))
    if (transactionsBeforeMs === null) return ids
    for (const row of oldest.all()) {
      if (Number(row.first_seen) >= transactionsBeforeMs) break
      ids.add(Number(row.id))
    }
    return ids
  }

  function deleteTransactions(ids: ReadonlySet<number>): void {
    for (const id of ids) {
      covenants.stepsOf(id)
      removeRows.run(id)
      texts.remove(id)
      removeTransaction.run(id)
    }
    const lowest = lowestId.get()?.id
    if (ids.size > 0 && typeof lowest === 'number') texts.dropBlocksBelow(lowest)
  }

  return (borders: IndexBorders): { deleted: number; more: boolean } => {
    const { transactionsBeforeMs } = borders
    blocks.run(borders.chainBlocks)
    const ids = expired(borders)
    deleteTransactions(ids)
    if (transactionsBeforeMs !== null) {
      setFact.run('kept_from', String(transactionsBeforeMs))
      gaps.run(transactionsBeforeMs)
    }
    const counts = [
      ids.size,
      Number(acceptances.run().changes),
      covenants.spentOutputs(),
      tokens(),
      Number(seen.run(borders.seenBeforeMs).changes),
    ]
    return {
      deleted: counts.reduce((sum, count) => sum + count, 0),
      more: counts.some((count) => count >= PRUNE_STEP),
    }
  }
}
