/** The place of a row in the history of its address, as both engines store it: see `HistoryPlace`. */

import type { AddressMoved, HistoryPlace } from '../chain.ts'

/** The time stored for pending rows. */
export const PENDING_TIME = Number.MAX_SAFE_INTEGER

/** More transactions than a chain block can accept. */
const TRANSACTIONS_PER_BLOCK = 2 ** 20

/** The order of acceptance, which is the same in every index of the chain. */
export function acceptedRank(acceptingBlueScore: number, index: number): number {
  return acceptingBlueScore * TRANSACTIONS_PER_BLOCK + index
}

/**
 * Added to the transaction's number. Keeps dropped rows below the ranks of confirmed ones, so that no place is used
 * twice.
 */
export const DROPPED_RANK = -(2 ** 52)

/** The rank in an index that was created before rows had ranks, as SQL over the columns of a transaction. */
export const MIGRATED_RANK = (number: string) =>
  `accepting_blue_score * ${TRANSACTIONS_PER_BLOCK} + (row_number() OVER (PARTITION BY accepting_blue_score ORDER BY ${number})) - 1`

/** Above every row. */
export const NEWEST: HistoryPlace = { timeMs: PENDING_TIME, rank: Number.MAX_SAFE_INTEGER }

/** Above every row of this time. */
export function afterAll(timeMs: number): HistoryPlace {
  return { timeMs, rank: Number.MAX_SAFE_INTEGER }
}

/** Expects rows of confirmed and dropped transactions in order, and sums only the confirmed ones. */
export function sumMoved(
  rows: readonly { readonly received: bigint; readonly sent: bigint; readonly place: HistoryPlace }[],
  limit: number,
): AddressMoved {
  const confirmed = rows.filter(({ place }) => place.rank >= 0)
  return {
    received: confirmed.reduce((sum, row) => sum + row.received, 0n),
    sent: confirmed.reduce((sum, row) => sum + row.sent, 0n),
    rows: confirmed.length,
    next: rows.length < limit ? undefined : rows.at(-1)?.place,
  }
}
