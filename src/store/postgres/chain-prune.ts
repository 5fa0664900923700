/** Deletes what the index no longer needs to retain, in bounded steps of one transaction each. */

import { isPruned, type PrunedTimes, PruneTime } from '../chain/prune-time.ts'
import { DROPPED, PENDING } from '../chain/row-codes.ts'
import type { IndexRetention } from '../chain.ts'
import { PRUNE_SPENT, removeCovenantSteps } from './covenants.ts'
import { type Database, type Queries, statement } from './database.ts'
import { PRUNE_TOKENS } from './tokens.ts'

/** The maximum number of rows of each kind that one step deletes. */
const PRUNE_STEP = 1_000
/** The maximum number of transactions first seen by a clock that was ahead that one step examines. */
const MAX_LOOKED_AT = 3 * PRUNE_STEP

/** Read once, because the servers of a distributed database each have their own clock. */
const NOW = statement(
  'chain_prune_now',
  'SELECT now_ms() AS now, (SELECT time_ms FROM chain_blocks ORDER BY id DESC LIMIT 1) AS newest',
)
const BLOCKS = statement(
  'chain_prune_blocks',
  `DELETE FROM chain_blocks WHERE id IN (SELECT id FROM chain_blocks
    WHERE id < greatest((SELECT chain_from FROM chain_state), (SELECT max(id) FROM chain_blocks) - $1::bigint + 1)
    ORDER BY id LIMIT ${PRUNE_STEP})`,
)
const SEEN = statement(
  'chain_prune_seen',
  `DELETE FROM seen_blocks WHERE hash IN (SELECT hash FROM seen_blocks
    WHERE seen_at > $1::bigint
      AND seen_at < least($2::bigint, (SELECT max(seen_at) FROM seen_blocks) - $3::bigint)
    ORDER BY seen_at LIMIT ${PRUNE_STEP})`,
)
/**
 * Coverage follows block times, which may be long after a transaction was first seen. A transaction that has been
 * pending for this long was pending when part of the chain was lost, and nobody waits for it any more.
 */
const EXPIRED = statement(
  'chain_expired',
  `SELECT tx_id, place FROM transactions WHERE (status <> ${PENDING} OR changed_at < $1::bigint)
      AND first_seen < $1::bigint AND coalesce(block_time, 0) < $1::bigint
    ORDER BY first_seen LIMIT ${PRUNE_STEP}`,
)
const SEEN_AHEAD = statement(
  'chain_seen_ahead',
  `SELECT tx_id, place, changed_at AS "changedAtMs", block_time AS "blockTimeMs" FROM transactions
    WHERE first_seen > $1::bigint AND (status <> ${PENDING} OR changed_at < $2::bigint)
    ORDER BY first_seen LIMIT ${MAX_LOOKED_AT}`,
)
const DROPPED_BEFORE = statement(
  'chain_dropped_before',
  `SELECT tx_id, place FROM transactions WHERE status = ${DROPPED}
      AND changed_at > $1::bigint AND changed_at < $2::bigint
    ORDER BY changed_at LIMIT ${PRUNE_STEP}`,
)
const DELETE_ROWS = statement(
  'chain_delete_rows',
  'DELETE FROM address_rows WHERE -place = ANY($1::bigint[])',
)
const DELETE_TRANSACTIONS = statement(
  'chain_delete_transactions',
  'DELETE FROM transactions WHERE tx_id = ANY($1::bytea[])',
)
/** Never moves back, because deleted rows do not return when the retention is extended. */
const RETAINED_FROM = statement(
  'chain_retained_from',
  'UPDATE chain_state SET retained_from = greatest(retained_from, $1::bigint)',
)
/**
 * Corrects a border written by a release that pruned by a clock that was ahead. A border up to the newest block is
 * right, because the clock may be behind.
 */
const LOWER_FUTURE = statement(
  'chain_lower_future',
  'UPDATE chain_state SET retained_from = $1::bigint WHERE retained_from > $2::bigint',
)
const GAPS = statement(
  'chain_prune_gaps',
  `DELETE FROM gaps WHERE recorded_at > $1::bigint AND recorded_at < $2::bigint
    AND id IN (SELECT id FROM gaps ORDER BY id LIMIT ${PRUNE_STEP})`,
)

interface OldTransaction {
  readonly tx_id: Buffer
  readonly place: number
}

export function chainPruner(database: Database) {
  return ({ maxTransactionAgeMs, maxDroppedAgeMs, chainBlocks, maxSeenAgeMs }: IndexRetention) =>
    database.write(async (transaction) => {
      const [row] = await transaction.rows<{ now: number; newest: number | null }>(NOW)
      const { now, newest } = row ?? { now: 0, newest: null }
      const time = new PruneTime(now, newest)
      const inSpans = <T>(
        spans: readonly PrunedTimes[],
        run: (values: [number, number]) => Promise<T>,
      ): Promise<T[]> => Promise.all(spans.map(({ afterMs, beforeMs }) => run([afterMs, beforeMs])))
      // Includes transactions dropped while the clock was ahead; otherwise each step would examine them until that time
      // has come.
      const droppedSpans = [...time.olderThan(maxDroppedAgeMs), time.farFuture]
      // Without a block there is no coverage whose start could move.
      const maxAgeMs = newest === null ? null : maxTransactionAgeMs
      const [dropped, expired, blocks, seen, spent, ...tokens] = await Promise.all([
        inSpans(droppedSpans, (span) => transaction.rows<OldTransaction>(DROPPED_BEFORE, span)),
        maxAgeMs === null ? [] : expiredTransactions(transaction, time, maxAgeMs),
        transaction.run(BLOCKS, [chainBlocks]),
        inSpans(time.olderThan(maxSeenAgeMs), (span) => transaction.run(SEEN, [...span, maxSeenAgeMs])),
        transaction.run(PRUNE_SPENT, [PRUNE_STEP]),
        ...PRUNE_TOKENS.map((prune) => transaction.run(prune, [PRUNE_STEP])),
      ])
      const old = [...new Map([...dropped.flat(), ...expired].map((one) => [one.place, one])).values()]
      if (old.length > 0) {
        await Promise.all([
          transaction.run(DELETE_ROWS, [old.map(({ place }) => -place)]),
          transaction.run(DELETE_TRANSACTIONS, [old.map(({ tx_id }) => tx_id)]),
          removeCovenantSteps(
            transaction,
            old.map(({ tx_id }) => tx_id),
          ),
        ])
      }
      if (newest !== null) await transaction.run(LOWER_FUTURE, [newest + 1, Math.max(time.latestMs, newest)])
      if (maxAgeMs !== null) {
        await Promise.all([
          transaction.run(RETAINED_FROM, [time.border(maxAgeMs)]),
          inSpans(time.olderThan(maxAgeMs), (span) => transaction.run(GAPS, span)),
        ])
      }
      const counts = [old.length, blocks, ...seen, spent, ...tokens]
      return {
        deleted: counts.reduce((sum, count) => sum + count, 0),
        more: counts.some((count) => count >= PRUNE_STEP),
      }
    })
}

/** Confirmed transactions that were first seen by a clock that was ahead expire by the time of their block. */
async function expiredTransactions(
  queries: Queries,
  time: PruneTime,
  maxAgeMs: number,
): Promise<OldTransaction[]> {
  const beforeMs = time.border(maxAgeMs)
  const spans = time.olderThan(maxAgeMs)
  const [expired, ahead] = await Promise.all([
    queries.rows<OldTransaction>(EXPIRED, [beforeMs]),
    queries.rows<OldTransaction & { changedAtMs: number; blockTimeMs: number | null }>(SEEN_AHEAD, [
      time.latestMs,
      Math.max(...spans.map((span) => span.beforeMs)),
    ]),
  ])
  const old = ahead.filter(({ changedAtMs, blockTimeMs }) =>
    blockTimeMs === null ? isPruned(changedAtMs, spans) : blockTimeMs < beforeMs,
  )
  return [...expired, ...old.slice(0, PRUNE_STEP)]
}
