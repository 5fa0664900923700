/** Writes of transactions and of the rows of their addresses: each list is one statement. */

import { CONFIRMED, DIRECTIONS, DROPPED, PENDING } from '../chain/row-codes.ts'
import type { AcceptedTransaction, ChainBlock, TransactionRecord } from '../chain.ts'
import { bytea } from './bytea.ts'
import { type Queries, statement } from './database.ts'

const CONFIRM = statement(
  'chain_confirm',
  `INSERT INTO transactions AS t (tx_id, place, status, first_seen, changed_at, mempool_event, accepted_event, fee,
      block_hash, block_time, accepting_hash, accepting_time, accepting_blue_score, accepting_daa_score, parsed)
    SELECT n.tx_id, n.place, ${CONFIRMED}, $1::bigint, $1::bigint, false, true, n.fee, n.block_hash, n.block_time,
        n.accepting_hash, n.accepting_time, n.accepting_blue_score, n.accepting_daa_score, n.parsed
      FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[], $7::bytea[], $8::bigint[],
          $9::bigint[], $10::bigint[], $11::text[])
        AS n (tx_id, place, fee, block_hash, block_time, accepting_hash, accepting_time, accepting_blue_score,
          accepting_daa_score, parsed)
    ON CONFLICT (tx_id) DO UPDATE SET status = ${CONFIRMED}, changed_at = excluded.changed_at,
      accepted_event = true, fee = coalesce(excluded.fee, t.fee), block_hash = excluded.block_hash,
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
    ON CONFLICT (tx_id) DO UPDATE SET mempool_event = true, changed_at = excluded.changed_at,
      status = CASE t.status WHEN ${DROPPED} THEN ${PENDING} ELSE t.status END
    RETURNING encode(tx_id, 'hex') AS "txId", place`,
)
const UNCONFIRM = statement(
  'chain_unconfirm',
  `UPDATE transactions SET status = ${PENDING}, changed_at = $1::bigint, block_hash = NULL, block_time = NULL,
      accepting_hash = NULL, accepting_time = NULL, accepting_blue_score = NULL, accepting_daa_score = NULL
    WHERE accepting_blue_score = ANY($2::bigint[]) AND accepting_hash = ANY($3::bytea[])`,
)
const DROP = statement(
  'chain_drop',
  `UPDATE transactions SET status = ${DROPPED}, changed_at = $1::bigint
    WHERE tx_id = ANY($2::bytea[]) AND status = ${PENDING}`,
)
const PUT_ROWS = statement(
  'chain_put_rows',
  `INSERT INTO address_rows (address, place, tx_id, direction, amount, received, sent, counterparty, event_seq)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::smallint[], $5::bigint[], $6::bigint[],
      $7::bigint[], $8::text[], $9::bigint[])
    ON CONFLICT (address, place) DO UPDATE SET direction = excluded.direction, amount = excluded.amount,
      received = excluded.received, sent = excluded.sent, counterparty = excluded.counterparty,
      event_seq = excluded.event_seq`,
)

/** The numbers that a write has been given. */
export interface WriteNumbers {
  readonly atMs: number
  readonly firstSeq: number
  /** Of its first transaction. */
  readonly firstPlace: number
}

interface Accepted {
  readonly transaction: AcceptedTransaction
  readonly by: ChainBlock
}

/** A known transaction keeps its number, also in the rows of addresses that are new to it. */
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
  const transactions = rows.map(({ transaction }) => transaction)
  await putRows(queries, transactions, { places, firstSeq })
}

export async function enter(
  queries: Queries,
  entered: readonly TransactionRecord[],
  { atMs, firstSeq, firstPlace }: WriteNumbers,
): Promise<void> {
  if (entered.length === 0) return
  const list = onceEach(entered, ({ txId }) => txId)
  const rows = list.map(({ item }) => item)
  const places = await queries.rows<TransactionPlace>(ENTER, [
    atMs,
    rows.map(({ txId }) => bytea(txId)),
    list.map(({ at }) => firstPlace + at),
    rows.map(({ fee }) => fee),
    rows.map(({ parsed }) => parsed),
  ])
  await putRows(queries, rows, { places, firstSeq })
}

/** What these blocks accepted is pending again. */
export async function unconfirm(
  queries: Queries,
  blocks: readonly Pick<ChainBlock, 'hash' | 'blueScore'>[],
  atMs: number,
): Promise<void> {
  const scores = blocks.map(({ blueScore }) => blueScore)
  await queries.run(UNCONFIRM, [atMs, scores, blocks.map(({ hash }) => bytea(hash))])
}

export async function drop(queries: Queries, txIds: readonly string[], atMs: number): Promise<void> {
  if (txIds.length > 0) await queries.run(DROP, [atMs, txIds.map(bytea)])
}

async function putRows(
  queries: Queries,
  transactions: readonly TransactionRecord[],
  { places, firstSeq }: { places: readonly TransactionPlace[]; firstSeq: number },
): Promise<void> {
  const placeOf = new Map(places.map(({ txId, place }) => [txId, place]))
  const rows = transactions.flatMap(({ txId, effects }) =>
    onceEach(effects, ({ address }) => address).map(({ item }) => ({ txId, ...item })),
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
  ])
}

/** One statement changes a row once: of several items with a key the last counts, at the place of the first. */
function onceEach<T>(items: readonly T[], keyOf: (item: T) => string): { item: T; at: number }[] {
  const found = new Map<string, { item: T; at: number }>()
  for (const [at, item] of items.entries()) {
    const key = keyOf(item)
    found.set(key, { item, at: found.get(key)?.at ?? at })
  }
  return [...found.values()]
}
