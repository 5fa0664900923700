/** Deletes what the index need not retain, in bounded steps of one transaction each. */

import { DROPPED, PENDING } from '../chain/row-codes.ts'
import type { IndexRetention } from '../chain.ts'
import { PRUNE_SPENT, removeCovenantSteps } from './covenants.ts'
import { type Database, statement } from './database.ts'
import { PRUNE_TOKENS } from './tokens.ts'

/** Rows of each kind that one step deletes at most. */
const PRUNE_STEP = 1_000

/** Asked for once: where tables lie on several servers, each of those has another clock. */
const NOW = statement('chain_prune_now', 'SELECT now_ms() AS now')
const BLOCKS = statement(
  'chain_prune_blocks',
  `DELETE FROM chain_blocks WHERE id IN (SELECT id FROM chain_blocks
    WHERE id < greatest((SELECT chain_from FROM chain_state), (SELECT max(id) FROM chain_blocks) - $1::bigint + 1)
    ORDER BY id LIMIT ${PRUNE_STEP})`,
)
const SEEN = statement(
  'chain_prune_seen',
  `DELETE FROM seen_blocks WHERE hash IN (SELECT hash FROM seen_blocks
    WHERE seen_at < least($1::bigint, (SELECT max(seen_at) FROM seen_blocks) - $2::bigint)
    ORDER BY seen_at LIMIT ${PRUNE_STEP})`,
)
/**
 * Coverage goes by the time of blocks, which may be long after a transaction was first seen. What is pending for so long
 * was pending when part of the chain was lost: nobody waits for it any more.
 */
const EXPIRED = statement(
  'chain_expired',
  `SELECT tx_id, place FROM transactions WHERE (status <> ${PENDING} OR changed_at < $1::bigint)
      AND first_seen < $1::bigint AND coalesce(block_time, 0) < $1::bigint
    ORDER BY first_seen LIMIT ${PRUNE_STEP}`,
)
const DROPPED_BEFORE = statement(
  'chain_dropped_before',
  `SELECT tx_id, place FROM transactions WHERE status = ${DROPPED} AND changed_at < $1::bigint
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
/** What was deleted does not come back when more is to be retained. */
const RETAINED_FROM = statement(
  'chain_retained_from',
  'UPDATE chain_state SET retained_from = greatest(retained_from, $1::bigint)',
)
const GAPS = statement(
  'chain_prune_gaps',
  `DELETE FROM gaps WHERE recorded_at < $1::bigint
    AND id IN (SELECT id FROM gaps ORDER BY id LIMIT ${PRUNE_STEP})`,
)

interface OldTransaction {
  readonly tx_id: Buffer
  readonly place: number
}

export function chainPruner(database: Database) {
  return ({ maxTransactionAgeMs, maxDroppedAgeMs, chainBlocks, maxSeenAgeMs }: IndexRetention) =>
    database.write(async (transaction) => {
      const [clock] = await transaction.rows<{ now: number }>(NOW)
      const before = (ageMs: number) => (clock?.now ?? 0) - ageMs
      const oldest = maxTransactionAgeMs === null ? undefined : before(maxTransactionAgeMs)
      const [dropped, expired, blocks, seen, spent, ...tokens] = await Promise.all([
        transaction.rows<OldTransaction>(DROPPED_BEFORE, [before(maxDroppedAgeMs)]),
        oldest === undefined ? [] : transaction.rows<OldTransaction>(EXPIRED, [oldest]),
        transaction.run(BLOCKS, [chainBlocks]),
        transaction.run(SEEN, [before(maxSeenAgeMs), maxSeenAgeMs]),
        transaction.run(PRUNE_SPENT, [PRUNE_STEP]),
        ...PRUNE_TOKENS.map((prune) => transaction.run(prune, [PRUNE_STEP])),
      ])
      const old = [...new Map([...dropped, ...expired].map((one) => [one.place, one])).values()]
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
      if (oldest !== undefined) {
        await Promise.all([transaction.run(RETAINED_FROM, [oldest]), transaction.run(GAPS, [oldest])])
      }
      const counts = [old.length, blocks, seen, spent, ...tokens]
      return {
        deleted: counts.reduce((sum, count) => sum + count, 0),
        more: counts.some((count) => count >= PRUNE_STEP),
      }
    })
}
