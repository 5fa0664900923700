/** Where a row stands in the history of its address, as both engines store it: see `HistoryPlace`. */

import type { AddressMoved, HistoryPlace } from '../chain.ts'

/** The time of pending rows. */
export const PENDING_TIME = Number.MAX_SAFE_INTEGER

/** More transactions than a chain block can accept. */
const TRANSACTIONS_PER_BLOCK = 2 ** 20

/** The order of acceptance: it is the same in every index of the chain. */
export function acceptedRank(acceptingBlueScore: number, index: number): number {
  return acceptingBlueScore * TRANSACTIONS_PER_BLOCK + index
}

/** Below the ranks of confirmed rows, so that no place is taken twice. Added to the transaction's number. */
export const DROPPED_RANK = -(2 ** 52)

/** Of an index that was made before places had ranks, as SQL over the columns of a transaction. */
export const MIGRATED_RANK = (number: string) =>
  `accepting_blue_score * ${TRANSACTIONS_PER_BLOCK} + (row_number() OVER (PARTITION BY accepting_blue_score ORDER BY ${number})) - 1`

/** Above every row. */
export const NEWEST: HistoryPlace = { timeMs: PENDING_TIME, rank: Number.MAX_SAFE_INTEGER }

/** Above every row of that time. */
export function afterAll(timeMs: number): HistoryPlace {
  return { timeMs, rank: Number.MAX_SAFE_INTEGER }
}

/** Rows of confirmed and dropped transactions in order; dropped ones moved nothing. */
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
