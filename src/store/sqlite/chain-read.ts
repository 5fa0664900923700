/** Reads of the chain index: point look-ups and index ranges. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterAll, NEWEST, PENDING_TIME, sumMoved } from '../chain/history-place.ts'
import { indexedOutputs } from '../chain/indexed-output.ts'
import { directionOf, statusOf } from '../chain/row-codes.ts'
import type {
  AddressMoved,
  AddressMovedQuery,
  AddressPage,
  ChainBlock,
  ChainGap,
  ChainPlace,
  Confirmation,
  HistoryPlace,
  IndexedOutput,
  KnownTransaction,
  TransactionRow,
} from '../chain.ts'
import type { OutputPoint } from '../output-point.ts'
import type { AddressTable } from './chain-addresses.ts'
import { transactionTexts } from './chain-texts.ts'
import { covenantReader } from './covenants.ts'
import { logIdOf } from './events-read.ts'
import { blob, hexOf } from './hex-blob.ts'
import { oneStateOf } from './open.ts'
import { numberOrNull, type Row, recordOf } from './rows.ts'
import { tokenReader } from './tokens.ts'

const MAX_GAPS = 1_000

/** Reads the followed chain. */
export function blockReader(database: DatabaseSync) {
  const tip = database.prepare('SELECT * FROM chain_blocks ORDER BY id DESC LIMIT 1')
  const below = database.prepare(
    `SELECT * FROM chain_blocks WHERE id >= (SELECT max(id) FROM chain_blocks) - ? ORDER BY id LIMIT 1`,
  )
  const blockId = database.prepare('SELECT id FROM chain_blocks WHERE hash = ?')
  const above = database.prepare('SELECT * FROM chain_blocks WHERE id > ? ORDER BY id')
  return {
    checkpoint: (): ChainBlock | undefined => recordOf(tip.get(), toBlock),
    chainBlockBelow: (steps: number): ChainBlock | undefined => recordOf(below.get(steps), toBlock),
    chainAbove(hash: string): ChainBlock[] | undefined {
      const id = blockId.get(blob(hash))?.id
      return id === undefined ? undefined : above.all(Number(id)).map(toBlock)
    },
    followed: (hashes: readonly string[]): string[] =>
      hashes.filter((hash) => blockId.get(blob(hash)) !== undefined),
  }
}

export function chainReader(database: DatabaseSync, addresses: AddressTable) {
  const ids = logIdOf(database)
  const texts = transactionTexts(database)
  const fact = database.prepare('SELECT CAST(value AS INTEGER) AS value FROM facts WHERE name = ?')
  const seenTo = database.prepare("SELECT value FROM facts WHERE name = 'seen_to'")
  const confirmed = database.prepare(
    `SELECT h.value AS block, t.id, t.tx_id, t.accepting_daa_score, d.address, r.event_seq
      FROM json_each(?) h JOIN chain_blocks b ON b.hash = unhex(h.value) JOIN acceptances a ON a.block = b.id
        JOIN transactions t ON t.id = a.tx
        LEFT JOIN address_rows r ON r.tx = t.id AND r.event_seq IS NOT NULL
        LEFT JOIN addresses d ON d.id = r.address
      ORDER BY h.key, t.id DESC, r.event_seq DESC, d.address`,
  )
  const known = database.prepare(
    'SELECT status, mempool_event, accepted_event FROM transactions WHERE tx_id = ?',
  )
  const seen = database.prepare('SELECT 1 FROM seen_blocks WHERE hash = ?')
  const pending = database.prepare(
    'SELECT tx_id FROM transactions WHERE status = 0 AND changed_at > ? ORDER BY id LIMIT ?',
  )
  const rowId = database.prepare('SELECT id FROM transactions WHERE tx_id = ?')
  const transaction = exact(database.prepare('SELECT * FROM transactions WHERE tx_id = ?'))
  const page = exact(
    database.prepare(
      `SELECT r.*, c.address AS counterparty_address, t.tx_id, t.status, t.block_time
        FROM address_rows r JOIN transactions t ON t.id = r.tx LEFT JOIN addresses c ON c.id = r.counterparty
        WHERE r.address = ? AND (r.time, r.rank) < (?, ?) ORDER BY r.time DESC, r.rank DESC LIMIT ?`,
    ),
  )
  const moved = exact(
    database.prepare(
      `SELECT time, rank, received, sent FROM address_rows
        WHERE address = ? AND (time, rank) > (?, ?) AND time < ${PENDING_TIME} ORDER BY time, rank LIMIT ?`,
    ),
  )
  const gaps = database.prepare('SELECT gap FROM gaps ORDER BY rowid DESC LIMIT ?')

  /** Reads a list in one state, which also takes the read lock once instead of once per statement. */
  const inOneState = oneStateOf(database)

  const factOf = (name: string): number | undefined => {
    const row = fact.get(name)
    return row && Number(row.value)
  }

  return {
    ...blockReader(database),
    ...covenantReader(database),
    ...tokenReader(database),
    coverageFromMs(): number | undefined {
      const from = factOf('coverage_from')
      return from === undefined ? undefined : Math.max(from, factOf('kept_from') ?? 0)
    },
    seenTo(): ChainPlace | undefined {
      const row = seenTo.get()
      if (row === undefined) return undefined
      const [blueScore, hash = ''] = String(row.value).split(' ')
      return { hash, blueScore: Number(blueScore) }
    },
    indexedFromMs(): number | undefined {
      const from = factOf('indexed_from') ?? factOf('coverage_from')
      return from === undefined ? undefined : Math.max(from, factOf('kept_from') ?? 0)
    },
    gaps: (limit = MAX_GAPS): ChainGap[] =>
      gaps
        .all(limit)
        .reverse()
        .map((row) => JSON.parse(String(row.gap)) as ChainGap),
    confirmedBy(hashes: readonly string[]): Confirmation[] {
      const found = new Map<number, Confirmation & { events: { address: string; eventId: string }[] }>()
      for (const row of confirmed.all(JSON.stringify(hashes))) {
        const id = Number(row.id)
        const known = found.get(id)
        const confirmation = known ?? {
          txId: hexOf(row.tx_id),
          parsed: texts.read(id) ?? '',
          acceptingBlockHash: String(row.block),
          acceptingDaaScore: Number(row.accepting_daa_score),
          events: [],
        }
        if (known === undefined) found.set(id, confirmation)
        if (row.event_seq === null) continue
        confirmation.events.push({ address: String(row.address), eventId: ids.of(Number(row.event_seq)) })
      }
      return [...found.values()]
    },
    known(txIds: readonly string[]): Map<string, KnownTransaction> {
      const found = new Map<string, KnownTransaction>()
      return inOneState(() => {
        for (const txId of txIds) {
          const row = known.get(blob(txId))
          if (row === undefined) continue
          found.set(txId, {
            status: statusOf(row.status),
            hasMempoolEvent: row.mempool_event === 1,
            hasAcceptedEvent: row.accepted_event === 1,
          })
        }
        return found
      })
    },
    unseen: (hashes: readonly string[]): string[] =>
      inOneState(() => [...new Set(hashes)].filter((hash) => seen.get(blob(hash)) === undefined)),
    pending: (limit: number, afterMs = -1): string[] =>
      pending.all(afterMs, limit).map((row) => hexOf(row.tx_id)),
    outputs(points: readonly OutputPoint[]): (IndexedOutput | undefined)[] {
      return inOneState(() =>
        indexedOutputs(points, (txId) => {
          const id = rowId.get(blob(txId))?.id
          return id === undefined ? undefined : texts.read(Number(id))
        }),
      )
    },
    transaction(txId: string): TransactionRow | undefined {
      const row = transaction.get(blob(txId))
      const text = row && texts.read(Number(row.id))
      if (row === undefined || text === undefined) return undefined
      return {
        txId,
        status: statusOf(row.status),
        parsed: text,
        fee: row.fee as bigint | null,
        blockHash: row.block_hash === null ? null : hexOf(row.block_hash),
        blockTimeMs: numberOrNull(row.block_time),
        acceptingBlockHash: row.accepting_hash === null ? null : hexOf(row.accepting_hash),
        acceptingBlockTimeMs: numberOrNull(row.accepting_time),
        acceptingBlueScore: numberOrNull(row.accepting_blue_score),
        replacedBy: row.replaced_by === null ? null : hexOf(row.replaced_by),
        firstSeenMs: Number(row.first_seen),
      }
    },
    addressMoved({ address, afterMs, after, limit }: AddressMovedQuery): AddressMoved {
      const id = addresses.find(address)
      const { timeMs, rank } = after ?? afterAll(afterMs)
      const rows = id === undefined ? [] : moved.all(id, timeMs, rank, limit)
      return sumMoved(
        rows.map((row) => ({
          received: row.received as bigint,
          sent: row.sent as bigint,
          place: { timeMs: Number(row.time), rank: Number(row.rank) },
        })),
        limit,
      )
    },
    addressPage(query: { address: string; limit: number; before?: HistoryPlace }): AddressPage {
      const id = addresses.find(query.address)
      if (id === undefined) return { rows: [], hasMore: false }
      const { timeMs, rank } = query.before ?? NEWEST
      const rows = page.all(id, timeMs, rank, query.limit + 1)
      return {
        hasMore: rows.length > query.limit,
        rows: rows.slice(0, query.limit).map((row) => ({
          txId: hexOf(row.tx_id),
          direction: directionOf(row.direction),
          amount: row.amount as bigint,
          received: row.received as bigint,
          sent: row.sent as bigint,
          counterparty: row.counterparty_address === null ? null : String(row.counterparty_address),
          status: statusOf(row.status),
          blockTimeMs: numberOrNull(row.block_time),
          place: { timeMs: Number(row.time), rank: Number(row.rank) },
        })),
      }
    },
  }
}

function exact(statement: StatementSync): StatementSync {
  statement.setReadBigInts(true)
  return statement
}

function toBlock(row: Row): ChainBlock {
  return {
    hash: hexOf(row.hash),
    blueScore: Number(row.blue_score),
    daaScore: Number(row.daa_score),
    timeMs: Number(row.time),
  }
}
