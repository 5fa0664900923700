/** Writes of the chain index. Each runs inside a transaction that the caller has begun. */
import type { DatabaseSync } from 'node:sqlite'
import { acceptedRank, DROPPED_RANK, PENDING_TIME } from '../chain/history-place.ts'
import { CONFIRMED, DIRECTIONS, DROPPED, PENDING } from '../chain/row-codes.ts'
import {
  type AcceptedTransaction,
  type AddedBlock,
  type AddressEffect,
  type ChainBlock,
  type ChainGap,
  type ChainPlace,
  type ChainWrite,
  type ChainWritten,
  CheckpointMovedError,
  type DroppedTransaction,
  type HistoryPlace,
  type TransactionRecord,
} from '../chain.ts'
import type { AddressTable } from './chain-addresses.ts'
import { laterFact } from './chain-facts.ts'
import { blockReader } from './chain-read.ts'
import type { TransactionTexts } from './chain-texts.ts'
import { covenantWriter } from './covenants.ts'
import type { EventWriter } from './events-write.ts'
import { blob } from './hex-blob.ts'
import { tokenWriter } from './tokens.ts'

export function chainWriter(
  database: DatabaseSync,
  parts: { addresses: AddressTable; texts: TransactionTexts; events: EventWriter },
) {
  const { texts, events } = parts
  const followed = followedChain(database)
  const transactions = transactionWriter(database, parts)
  const covenants = covenantWriter(database)
  const tokens = tokenWriter(database)
  const { checkpoint } = blockReader(database)
  const insertSeen = database.prepare('INSERT OR IGNORE INTO seen_blocks VALUES (?, ?)')

  function addBlock(block: AddedBlock, { atMs, events: reported = [] }: ChainWrite, firstSeq: number): void {
    const blockId = followed.put(block)
    for (const [index, transaction] of block.transactions.entries()) {
      const rank = acceptedRank(block.blueScore, index)
      const { tx, isKnown } = transactions.confirm(transaction, { block, rank, atMs, firstSeq })
      followed.accept(blockId, tx)
      if (transaction.covenants !== undefined)
        covenants.apply(transaction.txId, transaction.covenants, {
          rank,
          timeMs: transaction.blockTimeMs,
          isKnown,
        })
      const { tokens: changes = [], retractable = [] } = transaction
      tokens.apply(rank, changes)
      tokens.report(
        rank,
        retractable.flatMap((place) => {
          const event = reported[place]
          return event === undefined ? [] : [{ seq: firstSeq + place, event }]
        }),
      )
    }
  }

  return (batch: ChainWrite): ChainWritten => {
    const { atMs } = batch
    const found = checkpoint()?.hash ?? null
    if (found !== batch.expects) throw new CheckpointMovedError(batch.expects, found)
    const firstSeq = events.append(batch.events ?? [])
    for (const gap of batch.gaps ?? []) followed.recordGap(gap)
    if (batch.start) followed.startAt(batch.start)
    for (const hash of batch.removed ?? [])
      followed.remove(hash, atMs, (block, blueScore) => {
        covenants.removeBlock(block)
        tokens.removeBlock(blueScore)
      })
    if (batch.start || batch.forgetTokens) tokens.forget()
    for (const block of batch.added ?? []) addBlock(block, batch, firstSeq)
    for (const transaction of batch.entered ?? []) transactions.enter(transaction, atMs, firstSeq)
    for (const dropped of batch.dropped ?? []) transactions.drop(dropped, atMs)
    for (const hash of batch.seen ?? []) insertSeen.run(blob(hash), atMs)
    if (batch.seenTo) followed.seenTo(batch.seenTo)
    if (batch.added?.length || batch.entered?.length) texts.pack()
    return { newestSeq: events.newestSeq(), checkpoint: checkpoint() }
  }
}

/** The blocks of the followed chain, what each accepted, and where the chain is incomplete. */
function followedChain(database: DatabaseSync) {
  const setFact = database.prepare('INSERT OR REPLACE INTO facts VALUES (?, ?)')
  const addFact = database.prepare('INSERT OR IGNORE INTO facts VALUES (?, ?)')
  const setLater = laterFact(database)
  const insertGap = database.prepare('INSERT INTO gaps VALUES (?, ?)')
  const insertBlock = database.prepare(
    'INSERT INTO chain_blocks (id, hash, blue_score, daa_score, time) VALUES ((SELECT coalesce(max(id), 0) + 1 FROM chain_blocks), ?, ?, ?, ?)',
  )
  const findBlock = database.prepare('SELECT id, blue_score FROM chain_blocks WHERE hash = ?')
  const removeBlock = database.prepare('DELETE FROM chain_blocks WHERE id = ?')
  const insertAcceptance = database.prepare('INSERT INTO acceptances VALUES (?, ?)')
  const removeAcceptances = database.prepare('DELETE FROM acceptances WHERE block = ?')
  const unconfirm = database.prepare(
    `UPDATE transactions SET status = ${PENDING}, changed_at = ?, block_hash = NULL, block_time = NULL,
      accepting_hash = NULL, accepting_time = NULL, accepting_blue_score = NULL, accepting_daa_score = NULL
      WHERE id IN (SELECT tx FROM acceptances WHERE block = ?)`,
  )
  const unconfirmRows = database.prepare(
    `UPDATE address_rows SET time = ${PENDING_TIME}, rank = tx
      WHERE tx IN (SELECT tx FROM acceptances WHERE block = ?)`,
  )
  const put = ({ hash, blueScore, daaScore, timeMs }: ChainBlock): number =>
    Number(insertBlock.run(blob(hash), blueScore, daaScore, timeMs).lastInsertRowid)

  return {
    put,
    seenTo: ({ hash, blueScore }: ChainPlace) => void setFact.run('seen_to', `${blueScore} ${hash}`),
    accept: (block: number, tx: number) => void insertAcceptance.run(block, tx),
    startAt(block: ChainBlock): void {
      database.exec('DELETE FROM acceptances; DELETE FROM chain_blocks')
      put(block)
      setFact.run('coverage_from', String(block.timeMs))
      addFact.run('indexed_from', String(block.timeMs))
    },
    /**
     * An unreadable transaction is missing from the rows of its addresses, which are unknown, so coverage restarts
     * after it.
     */
    recordGap(gap: ChainGap): void {
      insertGap.run(gap.atMs, JSON.stringify(gap))
      if (gap.reason === 'unreadable') setLater.run('coverage_from', String(gap.toTimeMs))
    },
    remove(hash: string, atMs: number, onRemove: (block: number, blueScore: number) => void): void {
      const { id, blue_score: blueScore } = findBlock.get(blob(hash)) ?? {}
      if (id === undefined) throw new Error(`block ${hash} is not in the followed chain`)
      onRemove(Number(id), Number(blueScore))
      unconfirm.run(atMs, Number(id))
      unconfirmRows.run(Number(id))
      removeAcceptances.run(Number(id))
      removeBlock.run(Number(id))
    },
  }
}

/** Transactions with their texts, and the rows of their addresses. */
function transactionWriter(
  database: DatabaseSync,
  { addresses, texts }: { addresses: AddressTable; texts: TransactionTexts },
) {
  const confirm = database.prepare(
    `INSERT INTO transactions (tx_id, status, first_seen, changed_at, mempool_event, accepted_event, fee, block_hash,
        block_time, accepting_hash, accepting_time, accepting_blue_score, accepting_daa_score)
      VALUES (?1, ${CONFIRMED}, ?2, ?2, 1, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      ON CONFLICT (tx_id) DO UPDATE SET status = ${CONFIRMED}, changed_at = ?2, mempool_event = 1, accepted_event = 1,
        replaced_by = NULL, fee = coalesce(?3, fee), block_hash = ?4, block_time = ?5, accepting_hash = ?6, accepting_time = ?7,
        accepting_blue_score = ?8, accepting_daa_score = ?9
      RETURNING id`,
  )
  const enter = database.prepare(
    `INSERT INTO transactions (tx_id, status, first_seen, changed_at, mempool_event, accepted_event, fee)
      VALUES (?1, ${PENDING}, ?2, ?2, 1, 0, ?3)
      ON CONFLICT (tx_id) DO UPDATE SET mempool_event = 1, changed_at = ?2, replaced_by = NULL, fee = coalesce(fee, ?3),
        status = CASE status WHEN ${DROPPED} THEN ${PENDING} ELSE status END
      RETURNING id, status`,
  )
  const drop = database.prepare(
    `UPDATE transactions SET status = ${DROPPED}, changed_at = ?, replaced_by = ?
      WHERE tx_id = ? AND status = ${PENDING} RETURNING id, first_seen`,
  )
  const rowId = database.prepare('SELECT id FROM transactions WHERE tx_id = ?')
  const putRow = database.prepare(
    `INSERT INTO address_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET direction = excluded.direction, amount = excluded.amount,
        received = excluded.received, sent = excluded.sent, counterparty = excluded.counterparty,
        event_seq = excluded.event_seq`,
  )
  const moveRows = database.prepare('UPDATE address_rows SET time = ?, rank = ? WHERE tx = ?')
  const removeRows = database.prepare('DELETE FROM address_rows WHERE tx = ?')
  const hasRows = database.prepare('SELECT 1 FROM address_rows WHERE tx = ? LIMIT 1')

  function putEffects(
    tx: number,
    { timeMs, rank }: HistoryPlace,
    effects: readonly AddressEffect[],
    firstSeq: number,
  ): void {
    for (const effect of effects) {
      putRow.run(
        addresses.open(effect.address),
        timeMs,
        rank,
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
    confirm(
      transaction: AcceptedTransaction,
      { block, rank, atMs, firstSeq }: { block: ChainBlock; rank: number; atMs: number; firstSeq: number },
    ): { tx: number; isKnown: boolean } {
      const known = rowId.get(blob(transaction.txId))?.id
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
      )
      const tx = Number(row?.id)
      texts.put(tx, transaction.parsed)
      // All inputs are resolved now, so these rows replace the incomplete ones.
      if (known !== undefined) removeRows.run(tx)
      putEffects(tx, { timeMs: transaction.blockTimeMs, rank }, transaction.effects, firstSeq)
      return { tx, isKnown: known !== undefined }
    },
    enter(transaction: TransactionRecord, atMs: number, firstSeq: number): void {
      const known = rowId.get(blob(transaction.txId))?.id
      const row = enter.get(blob(transaction.txId), atMs, transaction.fee)
      const tx = Number(row?.id)
      if (known !== undefined) {
        if (row?.status !== PENDING) return
        moveRows.run(PENDING_TIME, tx, tx)
        if (transaction.effects.length === 0 || hasRows.get(tx) !== undefined) return
      }
      texts.put(tx, transaction.parsed)
      putEffects(tx, { timeMs: PENDING_TIME, rank: tx }, transaction.effects, firstSeq)
    },
    drop({ txId, replacedBy }: DroppedTransaction, atMs: number): void {
      const row = drop.get(atMs, replacedBy === null ? null : blob(replacedBy), blob(txId))
      if (row === undefined) return
      const tx = Number(row.id)
      moveRows.run(Number(row.first_seen), tx + DROPPED_RANK, tx)
    },
  }
}
