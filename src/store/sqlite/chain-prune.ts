/** Deletes what the index no longer needs, in bounded steps inside the caller's transaction. */
import type { DatabaseSync } from 'node:sqlite'
import { isPruned, type PruneTime } from '../chain/prune-time.ts'
import { DROPPED, PENDING } from '../chain/row-codes.ts'
import type { IndexRetention } from '../chain.ts'
import { laterFact, pruneTimeReader } from './chain-facts.ts'
import type { TransactionTexts } from './chain-texts.ts'
import { covenantPruner } from './covenants.ts'
import { tokenPruner } from './tokens.ts'

/** Maximum number of rows of each kind that one step deletes. */
const PRUNE_STEP = 300
/**
 * Maximum number of transactions that one step checks. Some of the oldest stay until the block that confirmed them is
 * old, too.
 */
const MAX_LOOKED_AT = 10 * PRUNE_STEP

export function chainPruner(database: DatabaseSync, texts: TransactionTexts) {
  const setLater = laterFact(database)
  const readPruneTime = pruneTimeReader(database)
  // An earlier release may have written a time in the future while its clock was ahead. A time up to the newest block
  // is left alone, because the clock may also be behind.
  const lowerFuture = database.prepare(
    "UPDATE facts SET value = ? WHERE name = 'kept_from' AND CAST(value AS INTEGER) > ?",
  )
  const blocks = database.prepare(
    'DELETE FROM chain_blocks WHERE id <= (SELECT max(id) FROM chain_blocks) - ?',
  )
  const acceptances = database.prepare(
    `DELETE FROM acceptances WHERE (block, tx) IN (SELECT block, tx FROM acceptances
      WHERE block < (SELECT min(id) FROM chain_blocks) LIMIT ${PRUNE_STEP})`,
  )
  const seen = database.prepare(
    `DELETE FROM seen_blocks WHERE hash IN (SELECT hash FROM seen_blocks
      WHERE at > ? AND at < min(?, (SELECT max(at) FROM seen_blocks) - ?) LIMIT ${PRUNE_STEP})`,
  )
  const gaps = database.prepare(
    `DELETE FROM gaps WHERE at > ? AND at < ?
      AND rowid IN (SELECT rowid FROM gaps ORDER BY rowid LIMIT ${PRUNE_STEP})`,
  )
  // Transactions that are pending for this long were pending when part of the chain was lost, so nobody waits for them.
  const oldest = database.prepare(
    `SELECT id, status, first_seen, changed_at, block_time FROM transactions WHERE status <> ${PENDING} OR changed_at < ?
      ORDER BY id LIMIT ${MAX_LOOKED_AT}`,
  )
  const dropped = database.prepare(
    `SELECT id FROM transactions WHERE status = ${DROPPED} AND changed_at > ? AND changed_at < ? LIMIT ${PRUNE_STEP}`,
  )
  const lowestId = database.prepare('SELECT min(id) AS id FROM transactions')
  const covenants = covenantPruner(database, PRUNE_STEP)
  const tokens = tokenPruner(database, PRUNE_STEP)
  const removeRows = database.prepare('DELETE FROM address_rows WHERE tx = ?')
  const removeTransaction = database.prepare('DELETE FROM transactions WHERE id = ?')

  /**
   * Confirmed transactions whose first-seen time is in the future, because the clock was ahead, expire by the time of
   * their block.
   */
  function expired(time: PruneTime, maxAgeMs: number): number[] {
    const old = time.olderThan(maxAgeMs)
    const beforeMs = time.border(maxAgeMs)
    const ids: number[] = []
    for (const row of oldest.iterate(Math.max(...old.map((span) => span.beforeMs)))) {
      const isAhead = Number(row.first_seen) > time.latestMs
      if (ids.length === PRUNE_STEP || (!isAhead && Number(row.first_seen) >= beforeMs)) break
      // Coverage is based on block times, which may be much later than the first-seen time.
      if (Number(row.block_time ?? 0) >= beforeMs) continue
      const mustBeOld = row.block_time === null && (isAhead || row.status === PENDING)
      if (mustBeOld && !isPruned(Number(row.changed_at), old)) continue
      ids.push(Number(row.id))
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

  return (retention: IndexRetention, nowMs: number): { deleted: number; more: boolean } => {
    const { maxTransactionAgeMs, maxDroppedAgeMs, maxSeenAgeMs, chainBlocks } = retention
    const { time, newestBlockMs } = readPruneTime(nowMs)
    blocks.run(chainBlocks)
    const ids = new Set<number>()
    // Includes transactions dropped while the clock was ahead; otherwise every step would check them until that time
    // comes.
    for (const { afterMs, beforeMs } of [...time.olderThan(maxDroppedAgeMs), time.farFuture])
      for (const row of dropped.all(afterMs, beforeMs)) ids.add(Number(row.id))
    // Without any block there is no coverage to move.
    if (newestBlockMs !== undefined) {
      lowerFuture.run(String(newestBlockMs + 1), Math.max(time.latestMs, newestBlockMs))
      if (maxTransactionAgeMs !== null) {
        for (const id of expired(time, maxTransactionAgeMs)) ids.add(id)
        // Only moves forward, because deleted rows do not come back when the retention is extended.
        setLater.run('kept_from', String(time.border(maxTransactionAgeMs)))
        for (const { afterMs, beforeMs } of time.olderThan(maxTransactionAgeMs)) gaps.run(afterMs, beforeMs)
      }
    }
    deleteTransactions(ids)
    const seenRows = time
      .olderThan(maxSeenAgeMs)
      .map(({ afterMs, beforeMs }) => Number(seen.run(afterMs, beforeMs, maxSeenAgeMs).changes))
    const counts = [
      ids.size,
      Number(acceptances.run().changes),
      covenants.spentOutputs(),
      tokens(),
      ...seenRows,
    ]
    return {
      deleted: counts.reduce((sum, count) => sum + count, 0),
      more: counts.some((count) => count >= PRUNE_STEP),
    }
  }
}
