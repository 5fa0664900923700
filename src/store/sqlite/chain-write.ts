/** Writes of the chain index. Each runs inside a transaction that the caller has begun. */
import type { DatabaseSync } from 'node:sqlite'
import type {
  AcceptedTransaction,
  AddedBlock,
  AddressEffect,
  ChainBlock,
  ChainGap,
  ChainWrite,
  IndexRetention,
  TransactionRecord,
} from '../chain.ts'
import type { AddressTable } from './chain-addresses.ts'
import { DIRECTIONS } from './chain-schema.ts'
import type { EventWriter } from './events-write.ts'
import { blob } from './hex-blob.ts'

const PENDING = 0
const CONFIRMED = 1
const DROPPED = 2
/** Rows that one step of pruning forgets at most. */
const PRUNE_STEP = 300

export function chainWriter(database: DatabaseSync, addresses: AddressTable, events: EventWriter) {
  const setFact = database.prepare('INSERT OR REPLACE INTO facts VALUES (?, ?)')
  const addFact = database.prepare('INSERT OR IGNORE INTO facts VALUES (?, ?)')
  const laterFact = database.prepare(
    `INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value
      WHERE CAST(excluded.value AS INTEGER) > CAST(value AS INTEGER)`,
  )
  const insertGap = database.prepare('INSERT INTO gaps VALUES (?, ?)')
  const insertBlock = database.prepare(
    'INSERT INTO chain_blocks (id, hash, blue_score, daa_score, time) VALUES ((SELECT coalesce(max(id), 0) + 1 FROM chain_blocks), ?, ?, ?, ?)',
  )
  const findBlock = database.prepare('SELECT id FROM chain_blocks WHERE hash = ?')
  const removeBlock = database.prepare('DELETE FROM chain_blocks WHERE id = ?')
  const removeAcceptances = database.prepare('DELETE FROM acceptances WHERE block = ?')
  const unconfirm = database.prepare(
    `UPDATE transactions SET status = ${PENDING}, changed_at = ?, block_hash = NULL, block_time = NULL,
      accepting_hash = NULL, accepting_time = NULL, accepting_blue_score = NULL, accepting_daa_score = NULL
      WHERE id IN (SELECT tx FROM acceptances WHERE block = ?)`,
  )
  const confirm = database.prepare(
    `INSERT INTO transactions (tx_id, status, first_seen, changed_at, told_mempool, told_accepted, fee, block_hash,
        block_time, accepting_hash, accepting_time, accepting_blue_score, accepting_daa_score, parsed)
      VALUES (?1, ${CONFIRMED}, ?2, ?2, 0, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
      ON CONFLICT (tx_id) DO UPDATE SET status = ${CONFIRMED}, changed_at = ?2, told_accepted = 1,
        fee = coalesce(?3, fee), block_hash = ?4, block_time = ?5, accepting_hash = ?6, accepting_time = ?7,
        accepting_blue_score = ?8, accepting_daa_score = ?9, parsed = ?10
      RETURNING id`,
  )
  const enter = database.prepare(
    `INSERT INTO transactions (tx_id, status, first_seen, changed_at, told_mempool, told_accepted, fee, parsed)
      VALUES (?1, ${PENDING}, ?2, ?2, 1, 0, ?3, ?4)
      ON CONFLICT (tx_id) DO UPDATE SET told_mempool = 1, changed_at = ?2,
        status = CASE status WHEN ${DROPPED} THEN ${PENDING} ELSE status END
      RETURNING id`,
  )
  const drop = database.prepare(
    `UPDATE transactions SET status = ${DROPPED}, changed_at = ? WHERE tx_id = ? AND status = ${PENDING}`,
  )
  const accept = database.prepare('INSERT INTO acceptances VALUES (?, ?)')
  const putRow = database.prepare(
    `INSERT INTO address_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET direction = excluded.direction, amount = excluded.amount,
        received = excluded.received, sent = excluded.sent, counterparty = excluded.counterparty,
        event_seq = excluded.event_seq`,
  )
  const insertSeen = database.prepare('INSERT OR IGNORE INTO seen_blocks VALUES (?, ?)')

  const pruneBlocks = database.prepare(
    'DELETE FROM chain_blocks WHERE id <= (SELECT max(id) FROM chain_blocks) - ?',
  )
  const pruneAcceptances = database.prepare(
    `DELETE FROM acceptances WHERE (block, tx) IN (SELECT block, tx FROM acceptances
      WHERE block < (SELECT min(id) FROM chain_blocks) LIMIT ${PRUNE_STEP})`,
  )
  const pruneSeen = database.prepare(
    `DELETE FROM seen_blocks WHERE hash IN (SELECT hash FROM seen_blocks WHERE at < ? LIMIT ${PRUNE_STEP})`,
  )
  const pruneGaps = database.prepare(
    `DELETE FROM gaps WHERE at < ? AND rowid IN (SELECT rowid FROM gaps ORDER BY rowid LIMIT ${PRUNE_STEP})`,
  )
  const oldTransactions = database.prepare(
    `SELECT id, first_seen FROM transactions WHERE status <> ${PENDING} ORDER BY id LIMIT ${PRUNE_STEP}`,
  )
  const oldDropped = database.prepare(
    `SELECT id FROM transactions WHERE status = ${DROPPED} AND changed_at < ? LIMIT ${PRUNE_STEP}`,
  )
  const removeRows = database.prepare('DELETE FROM address_rows WHERE tx = ?')
  const removeTransaction = database.prepare('DELETE FROM transactions WHERE id = ?')

  function startAt(block: ChainBlock): void {
    database.exec('DELETE FROM acceptances; DELETE FROM chain_blocks')
    putBlock(block)
    setFact.run('coverage_from', String(block.timeMs))
    addFact.run('indexed_from', String(block.timeMs))
  }

  /** A transaction that could not be read is missing in the rows of its addresses, which nobody knows. */
  function noteGap(gap: ChainGap): void {
    insertGap.run(gap.atMs, JSON.stringify(gap))
    if (gap.reason === 'unreadable') laterFact.run('coverage_from', String(gap.toTimeMs))
  }

  function putBlock(block: ChainBlock): number {
    const { lastInsertRowid } = insertBlock.run(
      blob(block.hash),
      block.blueScore,
      block.daaScore,
      block.timeMs,
    )
    return Number(lastInsertRowid)
  }

  function removeChainBlock(hash: string, atMs: number): void {
    const id = findBlock.get(blob(hash))?.id
    if (id === undefined) throw new Error(`block ${hash} is not in the followed chain`)
    unconfirm.run(atMs, Number(id))
    removeAcceptances.run(Number(id))
    removeBlock.run(Number(id))
  }

  function addChainBlock(block: AddedBlock, atMs: number, firstSeq: number): void {
    const blockId = putBlock(block)
    for (const transaction of block.transactions) {
      const tx = confirmTransaction(transaction, block, atMs)
      accept.run(blockId, tx)
      putEffects(tx, transaction.effects, firstSeq)
    }
  }

  function confirmTransaction(transaction: AcceptedTransaction, block: ChainBlock, atMs: number): number {
    const row = confirm.get(
      blob(transaction.txId),
      atMs,
      transaction.fee,
      blob(transaction.blockHash),
      transaction.blockTimeMs,
      blob(block.hash),
      block.timeMs,
      block.blueScore,
      block.daaScore,
      transaction.parsed,
    )
    return Number(row?.id)
  }

  function enterMempool(transaction: TransactionRecord, atMs: number, firstSeq: number): void {
    const row = enter.get(blob(transaction.txId), atMs, transaction.fee, transaction.parsed)
    putEffects(Number(row?.id), transaction.effects, firstSeq)
  }

  function putEffects(tx: number, effects: readonly AddressEffect[], firstSeq: number): void {
    for (const effect of effects) {
      putRow.run(
        addresses.open(effect.address),
        tx,
        DIRECTIONS.indexOf(effect.direction),
        effect.amount,
        effect.received,
        effect.sent,
        effect.counterparty === null ? null : addresses.open(effect.counterparty),
        effect.event === null ? null : firstSeq + effect.event,
      )
    }
  }

  return {
    write(batch: ChainWrite): { newestSeq: number } {
      const firstSeq = events.append(batch.events ?? [])
      for (const gap of batch.gaps ?? []) noteGap(gap)
      if (batch.start) startAt(batch.start)
      for (const hash of batch.removed ?? []) removeChainBlock(hash, batch.atMs)
      for (const block of batch.added ?? []) addChainBlock(block, batch.atMs, firstSeq)
      for (const transaction of batch.entered ?? []) enterMempool(transaction, batch.atMs, firstSeq)
      for (const txId of batch.dropped ?? []) drop.run(batch.atMs, blob(txId))
      for (const hash of batch.seen ?? []) insertSeen.run(blob(hash), batch.atMs)
      return { newestSeq: events.newestSeq() }
    },
    prune(retention: IndexRetention): { deleted: number; more: boolean } {
      const { transactionsBeforeMs } = retention
      pruneBlocks.run(retention.chainBlocks)
      const old = oldDropped.all(retention.droppedBeforeMs).map((row) => Number(row.id))
      if (transactionsBeforeMs !== null) {
        for (const row of oldTransactions.all()) {
          if (Number(row.first_seen) >= transactionsBeforeMs) break
          old.push(Number(row.id))
        }
        setFact.run('kept_from', String(transactionsBeforeMs))
        pruneGaps.run(transactionsBeforeMs)
      }
      for (const id of old) {
        removeRows.run(id)
        removeTransaction.run(id)
      }
      const counts = [
        old.length,
        Number(pruneAcceptances.run().changes),
        Number(pruneSeen.run(retention.seenBeforeMs).changes),
      ]
      return {
        deleted: counts.reduce((sum, count) => sum + count, 0),
        more: counts.some((count) => count >= PRUNE_STEP),
      }
    },
  }
}
