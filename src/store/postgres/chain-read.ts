/** Reads the chain index. A list of any length takes the same number of statements. */

import { afterAll, NEWEST, PENDING_TIME, sumMoved } from '../chain/history-place.ts'
import { indexedOutputs } from '../chain/indexed-output.ts'
import { directionOf, PENDING, statusOf } from '../chain/row-codes.ts'
import type {
  AddressMoved,
  AddressMovedQuery,
  AddressPage,
  AddressRow,
  ChainGap,
  ChainPlace,
  Confirmation,
  HistoryPlace,
  IndexedOutput,
  KnownTransaction,
  TransactionRow,
} from '../chain.ts'
import { eventIds } from '../events/event-id.ts'
import type { OutputPoint } from '../output-point.ts'
import { bytea } from './bytea.ts'
import { blockReader, blocksOf } from './chain-blocks.ts'
import { covenantReader } from './covenants.ts'
import { type Database, type Queries, statement } from './database.ts'
import { tokenReader } from './tokens.ts'

const COVERAGE = statement(
  'chain_coverage',
  `SELECT greatest(coverage_from, retained_from) AS "coverageFrom",
      greatest(coalesce(indexed_from, coverage_from), retained_from) AS "indexedFrom",
      coverage_from IS NOT NULL AS "isStarted"
    FROM chain_state`,
)
const SEEN_TO = statement(
  'chain_seen_to_read',
  `SELECT encode(seen_to, 'hex') AS hash, seen_to_score AS "blueScore" FROM chain_state WHERE seen_to IS NOT NULL`,
)
const GAPS = statement('chain_gaps', 'SELECT gap FROM gaps ORDER BY id DESC LIMIT $1::int')
const KNOWN = statement(
  'chain_known',
  `SELECT encode(tx_id, 'hex') AS "txId", status, mempool_event AS "hasMempoolEvent",
      accepted_event AS "hasAcceptedEvent"
    FROM transactions WHERE tx_id = ANY($1::bytea[])`,
)
const SEEN = statement(
  'chain_seen',
  `SELECT encode(hash, 'hex') AS hash FROM seen_blocks WHERE hash = ANY($1::bytea[])`,
)
const PENDING_IDS = statement(
  'chain_pending',
  `SELECT encode(tx_id, 'hex') AS "txId" FROM transactions
    WHERE status = ${PENDING} AND changed_at > $2::bigint ORDER BY place LIMIT $1::int`,
)
const TEXTS = statement(
  'chain_texts',
  `SELECT encode(tx_id, 'hex') AS "txId", parsed FROM transactions WHERE tx_id = ANY($1::bytea[])`,
)
const TRANSACTION = statement(
  'chain_transaction',
  `SELECT status, parsed, fee::text, encode(block_hash, 'hex') AS "blockHash", block_time AS "blockTimeMs",
      encode(accepting_hash, 'hex') AS "acceptingBlockHash", accepting_time AS "acceptingBlockTimeMs",
      accepting_blue_score AS "acceptingBlueScore", encode(replaced_by, 'hex') AS "replacedBy",
      first_seen AS "firstSeenMs"
    FROM transactions WHERE tx_id = $1`,
)
/** The page is materialized before the join, because its transactions may be on other servers. */
export const ADDRESS_PAGE = statement(
  'chain_address_page',
  `WITH page AS MATERIALIZED (
      SELECT * FROM address_rows WHERE address = $1 AND (time_ms, rank) < ($2::bigint, $3::bigint)
        ORDER BY time_ms DESC, rank DESC LIMIT $4::int)
    SELECT encode(p.tx_id, 'hex') AS "txId", p.direction, p.amount::text, p.received::text, p.sent::text,
        p.counterparty, t.status, t.block_time AS "blockTimeMs", p.time_ms AS "timeMs", p.rank
      FROM page p JOIN transactions t ON t.tx_id = p.tx_id ORDER BY p.time_ms DESC, p.rank DESC`,
)
const MOVED = statement(
  'chain_address_moved',
  `SELECT time_ms AS "timeMs", rank, received::text, sent::text FROM address_rows
    WHERE address = $1 AND (time_ms, rank) > ($2::bigint, $3::bigint) AND time_ms < ${PENDING_TIME}
    ORDER BY time_ms, rank LIMIT $4::int`,
)
const LOG_NAME = statement('chain_log_name', 'SELECT log_name AS "logName" FROM chain_state')
const CONFIRMED_BY = statement(
  'chain_confirmed_by',
  `SELECT encode(tx_id, 'hex') AS "txId", place, parsed, encode(accepting_hash, 'hex') AS "acceptingBlockHash",
      accepting_daa_score AS "acceptingDaaScore"
    FROM transactions WHERE accepting_blue_score = ANY($1::bigint[]) AND accepting_hash = ANY($2::bytea[])
    ORDER BY place DESC`,
)
const EVENTS_OF = statement(
  'chain_events_of',
  `SELECT place, address, event_seq AS "eventSeq" FROM address_rows
    WHERE -place = ANY($1::bigint[]) AND event_seq IS NOT NULL ORDER BY event_seq DESC, address`,
)

const MAX_GAPS = 1_000

export function chainReader(database: Database) {
  const coverage = async () => {
    const [row] = await database.rows<{ coverageFrom: number; indexedFrom: number; isStarted: boolean }>(
      COVERAGE,
    )
    return row?.isStarted ? row : undefined
  }
  return {
    ...blockReader(database),
    ...covenantReader(database),
    ...tokenReader(database),
    coverageFromMs: async (): Promise<number | undefined> => (await coverage())?.coverageFrom,
    seenTo: async (): Promise<ChainPlace | undefined> => (await database.rows<ChainPlace>(SEEN_TO))[0],
    indexedFromMs: async (): Promise<number | undefined> => (await coverage())?.indexedFrom,
    async gaps(limit = MAX_GAPS): Promise<ChainGap[]> {
      const rows = await database.rows<{ gap: string }>(GAPS, [limit])
      return rows.reverse().map(({ gap }) => JSON.parse(gap) as ChainGap)
    },
    async confirmedBy(hashes: readonly string[]): Promise<Confirmation[]> {
      return hashes.length === 0 ? [] : database.snapshot((queries) => confirmedBy(queries, hashes))
    },
    async known(txIds: readonly string[]): Promise<Map<string, KnownTransaction>> {
      if (txIds.length === 0) return new Map()
      const rows = await database.rows<Omit<KnownTransaction, 'status'> & { txId: string; status: number }>(
        KNOWN,
        [txIds.map(bytea)],
      )
      return new Map(rows.map(({ txId, status, ...known }) => [txId, { status: statusOf(status), ...known }]))
    },
    async unseen(hashes: readonly string[]): Promise<string[]> {
      const asked = new Set(hashes)
      if (asked.size === 0) return []
      const seen = await database.rows<{ hash: string }>(SEEN, [[...asked].map(bytea)])
      for (const { hash } of seen) asked.delete(hash)
      return [...asked]
    },
    async pending(limit: number, afterMs = -1): Promise<string[]> {
      return (await database.rows<{ txId: string }>(PENDING_IDS, [limit, afterMs])).map(({ txId }) => txId)
    },
    async outputs(points: readonly OutputPoint[]): Promise<(IndexedOutput | undefined)[]> {
      const txIds = new Set(points.map(({ txId }) => txId))
      if (txIds.size === 0) return []
      const rows = await database.rows<{ txId: string; parsed: string }>(TEXTS, [[...txIds].map(bytea)])
      const texts = new Map(rows.map(({ txId, parsed }) => [txId, parsed]))
      return indexedOutputs(points, (txId) => texts.get(txId))
    },
    async transaction(txId: string): Promise<TransactionRow | undefined> {
      const [row] = await database.rows<StoredTransaction>(TRANSACTION, [bytea(txId)])
      if (row === undefined) return undefined
      const { status, fee, ...rest } = row
      return { txId, ...rest, status: statusOf(status), fee: fee === null ? null : BigInt(fee) }
    },
    async addressMoved({ address, afterMs, after, limit }: AddressMovedQuery): Promise<AddressMoved> {
      const { timeMs, rank } = after ?? afterAll(afterMs)
      const rows = await database.rows<HistoryPlace & { received: string; sent: string }>(MOVED, [
        address,
        timeMs,
        rank,
        limit,
      ])
      return sumMoved(
        rows.map(({ received, sent, ...place }) => ({
          received: BigInt(received),
          sent: BigInt(sent),
          place,
        })),
        limit,
      )
    },
    async addressPage(query: {
      address: string
      limit: number
      before?: HistoryPlace
    }): Promise<AddressPage> {
      const { address, limit, before: { timeMs, rank } = NEWEST } = query
      const rows = await database.rows<StoredAddressRow>(ADDRESS_PAGE, [address, timeMs, rank, limit + 1])
      return { hasMore: rows.length > limit, rows: rows.slice(0, limit).map(toAddressRow) }
    },
  }
}

async function confirmedBy(queries: Queries, hashes: readonly string[]): Promise<Confirmation[]> {
  const [[log], blocks] = await Promise.all([
    queries.rows<{ logName: string }>(LOG_NAME),
    blocksOf(queries, hashes),
  ])
  const ids = eventIds(log?.logName ?? '')
  const scores = blocks.map(({ blueScore }) => blueScore)
  const confirmed = await queries.rows<Omit<Confirmation, 'events'> & { place: number }>(CONFIRMED_BY, [
    scores,
    blocks.map(({ hash }) => bytea(hash)),
  ])
  const events = new Map(confirmed.map(({ place }) => [place, [] as { address: string; eventId: string }[]]))
  for (const { place, address, eventSeq } of await queries.rows<{
    place: number
    address: string
    eventSeq: number
  }>(EVENTS_OF, [confirmed.map(({ place }) => -place)])) {
    events.get(place)?.push({ address, eventId: ids.of(eventSeq) })
  }
  const order = new Map(hashes.map((hash, at) => [hash, at]))
  const orderOf = ({ acceptingBlockHash }: { acceptingBlockHash: string }) =>
    order.get(acceptingBlockHash) ?? order.size
  return confirmed
    .sort((a, b) => orderOf(a) - orderOf(b))
    .map(({ place, ...confirmation }) => ({ ...confirmation, events: events.get(place) ?? [] }))
}

type StoredTransaction = Omit<TransactionRow, 'txId' | 'status' | 'fee'> & {
  status: number
  fee: string | null
}

type StoredAddressRow = Pick<AddressRow, 'txId' | 'counterparty' | 'blockTimeMs'> & {
  timeMs: number
  rank: number
  direction: number
  amount: string
  received: string
  sent: string
  status: number
}

function toAddressRow(row: StoredAddressRow): AddressRow {
  return {
    txId: row.txId,
    direction: directionOf(row.direction),
    amount: BigInt(row.amount),
    received: BigInt(row.received),
    sent: BigInt(row.sent),
    counterparty: row.counterparty,
    status: statusOf(row.status),
    blockTimeMs: row.blockTimeMs,
    place: { timeMs: row.timeMs, rank: row.rank },
  }
}
