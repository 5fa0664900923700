/** Deletes what the index need not retain, in bounded steps inside the caller's transaction. */
import type { DatabaseSync } from 'node:sqlite'
import { DROPPED, PENDING } from '../chain/row-codes.ts'
import { laterFact } from './chain-facts.ts'
import type { TransactionTexts } from './chain-texts.ts'
import { covenantPruner } from './covenants.ts'
import { tokenPruner } from './tokens.ts'

/** Rows of each kind that one step deletes at most. */
const PRUNE_STEP = 300
/** Transactions that one step looks at: some of the oldest wait until the block that confirmed them is old, too. */
const MAX_LOOKED_AT = 10 * PRUNE_STEP

/** What is older than these is deleted; null retains it. */
export interface IndexBorders {
  readonly transactionsBeforeMs: number | null
  readonly droppedBeforeMs: number
  readonly seenBeforeMs: number
  /** From the newest recorded block. */
  readonly maxSeenAgeMs: number
  readonly chainBlocks: number
}

export function chainPruner(database: DatabaseSync, texts: TransactionTexts) {
  const setLater = laterFact(database)
  const blocks = database.prepare(
    'DELETE FROM chain_blocks WHERE id <= (SELECT max(id) FROM chain_blocks) - ?',
  )
  const acceptances = database.prepare(
    `DELETE FROM acceptances WHERE (block, tx) IN (SELECT block, tx FROM acceptances
      WHERE block < (SELECT min(id) FROM chain_blocks) LIMIT ${PRUNE_STEP})`,
  )
  const seen = database.prepare(
    `DELETE FROM seen_blocks WHERE hash IN (SELECT hash FROM seen_blocks
      WHERE at < min(?, (SELECT max(at) FROM seen_blocks) - ?) LIMIT ${PRUNE_STEP})`,
  )
  const gaps = database.prepare(
    `DELETE FROM gaps WHERE at < ? AND rowid IN (SELECT rowid FROM gaps ORDER BY rowid LIMIT ${PRUNE_STEP})`,
  )
  // What is pending for so long was pending when part of the chain was lost: nobody waits for it any more.
  const oldest = database.prepare(
    `SELECT id, first_seen, block_time FROM transactions WHERE status <> ${PENDING} OR changed_at < ?
      ORDER BY id LIMIT ${MAX_LOOKED_AT}`,
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
    let found = 0
    for (const row of oldest.iterate(transactionsBeforeMs)) {
      if (found === PRUNE_STEP || Number(row.first_seen) >= transactionsBeforeMs) break
      // Coverage goes by the time of blocks, which may be long after a transaction was first seen.
      if (Number(row.block_time ?? 0) >= transactionsBeforeMs) continue
      ids.add(Number(row.id))
      found++
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
      // What was deleted does not come back when more is to be retained.
      setLater.run('kept_from', String(transactionsBeforeMs))
      gaps.run(transactionsBeforeMs)
    }
    const counts = [
      ids.size,
      Number(acceptances.run().changes),
      covenants.spentOutputs(),
      tokens(),
      Number(seen.run(borders.seenBeforeMs, borders.maxSeenAgeMs).changes),
    ]
    return {
      deleted: counts.reduce((sum, count) => sum + count, 0),
      more: counts.some((count) => count >= PRUNE_STEP),
    }
  }
}
