/** Forgets what the index need not keep any longer, in bounded steps inside the caller's transaction. */
import type { DatabaseSync } from 'node:sqlite'
import type { IndexRetention } from '../chain.ts'
import { DROPPED, PENDING } from './chain-schema.ts'
import type { TransactionTexts } from './chain-texts.ts'

/** Rows of each kind that one step forgets at most. */
const PRUNE_STEP = 300

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
  const removeRows = database.prepare('DELETE FROM address_rows WHERE tx = ?')
  const removeTransaction = database.prepare('DELETE FROM transactions WHERE id = ?')

  function expired({ transactionsBeforeMs, droppedBeforeMs }: IndexRetention): Set<number> {
    const ids = new Set(dropped.all(droppedBeforeMs).map((row) => Number(row.id)))
    if (transactionsBeforeMs === null) return ids
    for (const row of oldest.all()) {
      if (Number(row.first_seen) >= transactionsBeforeMs) break
      ids.add(Number(row.id))
    }
    return ids
  }

  function forgetTransactions(ids: ReadonlySet<number>): void {
    for (const id of ids) {
      removeRows.run(id)
      texts.remove(id)
      removeTransaction.run(id)
    }
    const lowest = lowestId.get()?.id
    if (ids.size > 0 && typeof lowest === 'number') texts.dropBlocksBelow(lowest)
  }

  return (retention: IndexRetention): { deleted: number; more: boolean } => {
    const { transactionsBeforeMs } = retention
    blocks.run(retention.chainBlocks)
    const ids = expired(retention)
    forgetTransactions(ids)
    if (transactionsBeforeMs !== null) {
      setFact.run('kept_from', String(transactionsBeforeMs))
      gaps.run(transactionsBeforeMs)
    }
    const counts = [
      ids.size,
      Number(acceptances.run().changes),
      Number(seen.run(retention.seenBeforeMs).changes),
    ]
    return {
      deleted: counts.reduce((sum, count) => sum + count, 0),
      more: counts.some((count) => count >= PRUNE_STEP),
    }
  }
}
