/** Writes transactions and the rows of their addresses, each list in one statement. */

import { acceptedRank, DROPPED_RANK, PENDING_TIME } from '../chain/history-place.ts'
import { CONFIRMED, DIRECTIONS, DROPPED, PENDING } from '../chain/row-codes.ts'
import type {
  AcceptedTransaction,
  ChainBlock,
  DroppedTransaction,
  HistoryPlace,
  TransactionRecord,
} from '../chain.ts'
import { bytea } from './bytea.ts'
import { applyCovenants, undoCovenants } from './covenants.ts'
import { type Queries, statement } from './database.ts'

const CONFIRM = statement(
  'chain_confirm',
  `INSERT INTO transactions AS t (tx_id, place, status, first_seen, changed_at, mempool_event, accepted_event, fee,
      block_hash, block_time, accepting_hash, accepting_time, accepting_blue_score, accepting_daa_score, parsed)
    SELECT n.tx_id, n.place, ${CONFIRMED}, $1::bigint, $1::bigint, true, true, n.fee, n.block_hash, n.block_time,
        n.accepting_hash, n.accepting_time, n.accepting_blue_score, n.accepting_daa_score, n.parsed
      FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[], $7::bytea[], $8::bigint[],
          $9::bigint[], $10::bigint[], $11::text[])
        AS n (tx_id, place, fee, block_hash, block_time, accepting_hash, accepting_time, accepting_blue_score,
          accepting_daa_score, parsed)
    ON CONFLICT (tx_id) DO UPDATE SET status = ${CONFIRMED}, changed_at = excluded.changed_at,
      mempool_event = true, accepted_event = true, replaced_by = NULL, fee = coalesce(excluded.fee, t.fee), block_hash = excluded.block_hash,
      block_time = excluded.block_time, accepting_hash = excluded.accepting_hash,
      accepting_time = excluded.accepting_time, accepting_blue_score = excluded.accepting_blue_score,
      accepting_daa_score = excluded.accepting_daa_score, parsed = excluded.parsed
    RETURNING encode(tx_id, 'hex') AS "txId", place`,
)
const ENTER = statement(
  'chain_enter',
  `INSERT INTO transactions AS t (tx_id, place, status, first_seen, changed_at, mempool_event, accepted_event, fee,
      parsed)
    SELECT n.tx_id, n.place, ${PENDING}, $1::bigint, $1::bigint, true, false, n.fee, n.parsed
      FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::text[]) AS n (tx_id, place, fee, parsed)
    ON CONFLICT (tx_id) DO UPDATE SET mempool_event = true, changed_at = excluded.changed_at, replaced_by = NULL,
      fee = coalesce(t.fee, excluded.fee),
      status = CASE t.status WHEN ${DROPPED} THEN ${PENDING} ELSE t.status END
    RETURNING encode(tx_id, 'hex') AS "txId", place, status = ${PENDING} AS "isPending"`,
)
const UNCONFIRM = statement(
  'chain_unconfirm',
  `UPDATE transactions SET status = ${PENDING}, changed_at = $1::bigint, block_hash = NULL, block_time = NULL,
      accepting_hash = NULL, accepting_time = NULL, accepting_blue_score = NULL, accepting_daa_score = NULL
    WHERE accepting_blue_score = ANY($2::bigint[]) AND accepting_hash = ANY($3::bytea[])
    RETURNING place, tx_id AS "id"`,
)
const DROP = statement(
  'chain_drop',
  `UPDATE transactions t SET status = ${DROPPED}, changed_at = $1::bigint, replaced_by = n.replaced_by
    FROM unnest($2::bytea[], $3::bytea[]) AS n (tx_id, replaced_by)
    WHERE t.tx_id = n.tx_id AND t.status = ${PENDING}
    RETURNING t.place, t.first_seen AS "firstSeenMs"`,
)
const PUT_ROWS = statement(
  'chain_put_rows',
  `INSERT INTO address_rows (address, place, tx_id, direction, amount, received, sent, counterparty, event_seq,
      time_ms, rank)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::smallint[], $5::bigint[], $6::bigint[],
      $7::bigint[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[])`,
)
const WITH_ROWS = statement(
  'chain_with_rows',
  'SELECT DISTINCT place FROM address_rows WHERE -place = ANY($1::bigint[])',
)
const PUT_TEXTS = statement(
  'chain_put_texts',
  `UPDATE transactions t SET parsed = n.parsed FROM unnest($1::bytea[], $2::text[]) AS n (tx_id, parsed)
    WHERE t.tx_id = n.tx_id`,
)
const REMOVE_ROWS = statement(
  'chain_remove_rows',
  'DELETE FROM address_rows WHERE -place = ANY($1::bigint[])',
)
const MOVE_ROWS = statement(
  'chain_move_rows',
  `UPDATE address_rows r SET time_ms = n.time_ms, rank = n.rank
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (negative_place, time_ms, rank)
    WHERE -r.place = n.negative_place`,
)

/** The numbers assigned to a write. */
export interface WriteNumbers {
  readonly atMs: number
  readonly firstSeq: number
  /** The number of its first transaction. */
  readonly firstPlace: number
}

export interface Accepted {
  readonly transaction: AcceptedTransaction
  readonly by: ChainBlock
  /** Its index among the transactions that the block accepted. */
  readonly index: number
}

/** A known transaction keeps its number, including in rows of addresses that are new to it. */
interface TransactionPlace {
  readonly txId: string
  readonly place: number
}

export async function confirm(
  queries: Queries,
  accepted: readonly Accepted[],
  { atMs, firstSeq, firstPlace }: WriteNumbers,
): Promise<void> {
  if (accepted.length === 0) return
  const list = onceEach(accepted, ({ transaction }) => transaction.txId)
  const rows = list.map(({ item }) => item)
  const places = await queries.rows<TransactionPlace>(CONFIRM, [
    atMs,
    rows.map(({ transaction }) => bytea(transaction.txId)),
    list.map(({ at }) => firstPlace + at),
    rows.map(({ transaction }) => transaction.fee),
    rows.map(({ transaction }) => bytea(transaction.blockHash)),
    rows.map(({ transaction }) => transaction.blockTimeMs),
    rows.map(({ by }) => bytea(by.hash)),
    rows.map(({ by }) => by.timeMs),
    rows.map(({ by }) => by.blueScore),
    rows.map(({ by }) => by.daaScore),
    rows.map(({ transaction }) => transaction.parsed),
  ])
  // All inputs are resolved now, so these rows replace the incomplete ones.
  const known = places.filter(({ place }) => place < firstPlace)
  if (known.length > 0) await queries.run(REMOVE_ROWS, [known.map(({ place }) => -place)])
  const ranked = rows.map(({ transaction, by, index }) => ({
    transaction,
    at: { timeMs: transaction.blockTimeMs, rank: acceptedRank(by.blueScore, index) },
  }))
  await putRows(queries, ranked, { places, firstSeq })
  await confirmCovenants(queries, ranked, new Set(known.map(({ txId }) => txId)))
}

async function confirmCovenants(
  queries: Queries,
  ranked: readonly { readonly transaction: AcceptedTransaction; readonly at: HistoryPlace }[],
  known: ReadonlySet<string>,
): Promise<void> {
  const applied = ranked.flatMap(({ transaction: { txId, covenants = [] }, at: { timeMs, rank } }) =>
    covenants.length > 0 ? [{ txId, timeMs, rank, changes: covenants }] : [],
  )
  // These transactions were accepted before a gap, during which their block left the chain unseen.
  const again = applied.flatMap(({ txId }) => (known.has(txId) ? [bytea(txId)] : []))
  await undoCovenants(queries, again)
  await applyCovenants(queries, applied)
}

export async function enter(
  queries: Queries,
  entered: readonly TransactionRecord[],
  { atMs, firstSeq, firstPlace }: WriteNumbers,
): Promise<void> {
  if (entered.length === 0) return
  const list = onceEach(entered, ({ txId }) => txId)
  const rows = list.map(({ item }) => item)
  const places = await queries.rows<TransactionPlace & { isPending: boolean }>(ENTER, [
    atMs,
    rows.map(({ txId }) => bytea(txId)),
    list.map(({ at }) => firstPlace + at),
    rows.map(({ fee }) => fee),
    rows.map(({ parsed }) => parsed),
  ])
  const placeOf = new Map(places.map(({ txId, place }) => [txId, place]))
  const again = places.filter(({ place, isPending }) => place < firstPlace && isPending)
  await moveRows(queries, again.map(pendingPlace))
  const bare = await withoutRows(queries, again, rows)
  const fresh = rows.flatMap((transaction) => {
    const rank = placeOf.get(transaction.txId) ?? 0
    const isFresh = rank >= firstPlace || bare.has(transaction.txId)
    return isFresh ? [{ transaction, at: { timeMs: PENDING_TIME, rank } }] : []
  })
  await putRows(queries, fresh, { places, firstSeq })
}

/** Returns the known transactions that have no rows yet and get them now, after storing their texts. */
async function withoutRows(
  queries: Queries,
  known: readonly TransactionPlace[],
  entered: readonly TransactionRecord[],
): Promise<ReadonlySet<string>> {
  const withEffects = new Map(entered.flatMap((one) => (one.effects.length > 0 ? [[one.txId, one]] : [])))
  const asked = known.filter(({ txId }) => withEffects.has(txId))
  if (asked.length === 0) return new Set()
  const found = await queries.rows<{ place: number }>(WITH_ROWS, [asked.map(({ place }) => -place)])
  const placed = new Set(found.map(({ place }) => place))
  const bare = asked.flatMap(({ txId, place }) => (placed.has(place) ? [] : [txId]))
  if (bare.length > 0)
    await queries.run(PUT_TEXTS, [bare.map(bytea), bare.map((txId) => withEffects.get(txId)?.parsed)])
  return new Set(bare)
}

/** Makes the transactions that these blocks accepted pending again. */
export async function unconfirm(
  queries: Queries,
  blocks: readonly Pick<ChainBlock, 'hash' | 'blueScore'>[],
  atMs: number,
): Promise<void> {
  const scores = blocks.map(({ blueScore }) => blueScore)
  const hashes = blocks.map(({ hash }) => bytea(hash))
  const unconfirmed = await queries.rows<{ place: number; id: Buffer }>(UNCONFIRM, [atMs, scores, hashes])
  await moveRows(queries, unconfirmed.map(pendingPlace))
  await undoCovenants(
    queries,
    unconfirmed.map(({ id }) => id),
  )
}

export async function drop(
  queries: Queries,
  transactions: readonly DroppedTransaction[],
  atMs: number,
): Promise<void> {
  if (transactions.length === 0) return
  const list = onceEach(transactions, ({ txId }) => txId).map(({ item }) => item)
  const dropped = await queries.rows<{ place: number; firstSeenMs: number }>(DROP, [
    atMs,
    list.map(({ txId }) => bytea(txId)),
    list.map(({ replacedBy }) => (replacedBy === null ? null : bytea(replacedBy))),
  ])
  await moveRows(
    queries,
    dropped.map(({ place, firstSeenMs }) => ({ place, timeMs: firstSeenMs, rank: place + DROPPED_RANK })),
  )
}

function pendingPlace({ place }: { place: number }): MovedRows {
  return { place, timeMs: PENDING_TIME, rank: place }
}

/** The rows of the transaction with this number, and their new place in the history. */
interface MovedRows extends HistoryPlace {
  readonly place: number
}

async function moveRows(queries: Queries, moved: readonly MovedRows[]): Promise<void> {
  if (moved.length === 0) return
  await queries.run(MOVE_ROWS, [
    moved.map(({ place }) => -place),
    moved.map(({ timeMs }) => timeMs),
    moved.map(({ rank }) => rank),
  ])
}

async function putRows(
  queries: Queries,
  transactions: readonly { readonly transaction: TransactionRecord; readonly at: HistoryPlace }[],
  { places, firstSeq }: { places: readonly TransactionPlace[]; firstSeq: number },
): Promise<void> {
  const placeOf = new Map(places.map(({ txId, place }) => [txId, place]))
  const rows = transactions.flatMap(({ transaction: { txId, effects }, at }) =>
    onceEach(effects, ({ address }) => address).map(({ item }) => ({ txId, at, ...item })),
  )
  if (rows.length === 0) return
  await queries.run(PUT_ROWS, [
    rows.map(({ address }) => address),
    rows.map(({ txId }) => placeOf.get(txId)),
    rows.map(({ txId }) => bytea(txId)),
    rows.map(({ direction }) => DIRECTIONS.indexOf(direction)),
    rows.map(({ amount }) => amount),
    rows.map(({ received }) => received),
    rows.map(({ sent }) => sent),
    rows.map(({ counterparty }) => counterparty),
    rows.map(({ event }) => (event === null ? null : firstSeq + event)),
    rows.map(({ at }) => at.timeMs),
    rows.map(({ at }) => at.rank),
  ])
}

/**
 * A statement can change a row only once, so the last of several items with one key counts, at the first's position.
 */
function onceEach<T>(items: readonly T[], keyOf: (item: T) => string): { item: T; at: number }[] {
  const found = new Map<string, { item: T; at: number }>()
  for (const [at, item] of items.entries()) {
    const key = keyOf(item)
    found.set(key, { item, at: found.get(key)?.at ?? at })
  }
  return [...found.values()]
}
