/** The covenants of the chain index. Writes run inside the transaction that applies or removes their block. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type {
  CovenantChange,
  CovenantStep,
  CovenantSteps,
  CovenantUtxo,
  CovenantUtxos,
} from '../covenants.ts'
import type { OutputPoint } from '../output-point.ts'
import { blob, hexOf } from './hex-blob.ts'
import { type Row, recordOf } from './rows.ts'

export function covenantWriter(database: DatabaseSync) {
  const insertStep = database.prepare('INSERT OR REPLACE INTO covenant_steps VALUES (?, ?, ?, ?, ?)')
  const insertOutput = database.prepare(
    'INSERT OR REPLACE INTO covenant_outputs VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)',
  )
  const spend = database.prepare(
    'UPDATE covenant_outputs SET spent_by = ?, spent_rank = ? WHERE tx_id = ? AND idx = ?',
  )
  const removeSteps = database.prepare('DELETE FROM covenant_steps WHERE tx_id = ?')
  const removeOutputs = database.prepare('DELETE FROM covenant_outputs WHERE tx_id = ?')
  const unspend = database.prepare(
    'UPDATE covenant_outputs SET spent_by = NULL, spent_rank = NULL WHERE spent_by = ?',
  )
  const accepted = database.prepare(
    `SELECT s.tx_id FROM acceptances a JOIN transactions t ON t.id = a.tx JOIN covenant_steps s ON s.tx_id = t.tx_id
      WHERE a.block = ? GROUP BY s.tx_id`,
  )

  function undo(txId: Uint8Array): void {
    removeSteps.run(txId)
    removeOutputs.run(txId)
    unspend.run(txId)
  }

  return {
    apply(
      txId: string,
      changes: readonly CovenantChange[],
      { rank, timeMs, isKnown }: { rank: number; timeMs: number; isKnown: boolean },
    ): void {
      const tx = blob(txId)
      // The transaction was accepted before a gap, and its block left the chain unseen.
      if (isKnown) undo(tx)
      for (const { covenantId, text, spent, created } of changes) {
        const covenant = blob(covenantId)
        insertStep.run(covenant, rank, tx, timeMs, text)
        for (const { index, amount, scriptPublicKey, address } of created) {
          insertOutput.run(tx, index, covenant, amount, scriptPublicKey, address, timeMs)
        }
        for (const point of spent) spend.run(tx, rank, blob(point.txId), point.index)
      }
    },
    /** Undoes the chain block with this id, which leaves the chain; its acceptances are still stored. */
    removeBlock(block: number): void {
      for (const row of accepted.all(block)) undo(row.tx_id as Uint8Array)
    },
  }
}

/** Spent outputs are kept while the block that spent them can still leave the chain. */
export function covenantPruner(database: DatabaseSync, step: number) {
  const prune = database.prepare(
    `DELETE FROM covenant_outputs WHERE (tx_id, idx) IN (SELECT tx_id, idx FROM covenant_outputs
      WHERE spent_rank < (SELECT min(blue_score) FROM chain_blocks) * 1048576 LIMIT ${step})`,
  )
  const removeSteps = database.prepare(
    'DELETE FROM covenant_steps WHERE tx_id = (SELECT tx_id FROM transactions WHERE id = ?)',
  )
  return {
    spentOutputs: (): number => Number(prune.run().changes),
    /** Deletes the steps of a transaction that is about to be deleted. */
    stepsOf: (tx: number) => void removeSteps.run(tx),
  }
}

const BEFORE_ALL: OutputPoint = { txId: '', index: -1 }

export function covenantReader(database: DatabaseSync) {
  const steps = database.prepare(
    'SELECT * FROM covenant_steps WHERE covenant = ? AND rank < ? ORDER BY rank DESC LIMIT ?',
  )
  const first = database.prepare('SELECT * FROM covenant_steps WHERE covenant = ? ORDER BY rank LIMIT 1')
  const covered = `time_ms >= (SELECT CAST(value AS INTEGER) FROM facts WHERE name = 'coverage_from')`
  const ofCovenant = exact(
    database.prepare(
      `SELECT * FROM covenant_outputs WHERE covenant = ? AND spent_by IS NULL AND (tx_id, idx) > (?, ?) AND ${covered}
        ORDER BY tx_id, idx LIMIT ?`,
    ),
  )
  const ofAddress = exact(
    database.prepare(
      `SELECT * FROM covenant_outputs WHERE address = ? AND spent_by IS NULL AND (covenant, tx_id, idx) > (?, ?, ?)
          AND ${covered}
        ORDER BY covenant, tx_id, idx LIMIT ?`,
    ),
  )
  const some = exact(
    database.prepare(`SELECT * FROM covenant_outputs WHERE spent_by IS NULL AND address > '' AND ${covered}
      ORDER BY address LIMIT 1`),
  )
  return {
    covenantSteps(query: { covenantId: string; limit: number; before?: number }): CovenantSteps {
      const { covenantId, limit, before = Number.MAX_SAFE_INTEGER } = query
      const rows = steps.all(blob(covenantId), before, limit + 1)
      return { steps: rows.slice(0, limit).map(toStep), hasMore: rows.length > limit }
    },
    firstCovenantStep: (covenantId: string): CovenantStep | undefined =>
      recordOf(first.get(blob(covenantId)), toStep),
    covenantUtxos(query: { covenantId: string; limit: number; after?: OutputPoint }): CovenantUtxos {
      const { covenantId, limit, after = BEFORE_ALL } = query
      const rows = ofCovenant.all(blob(covenantId), blob(after.txId), after.index, limit + 1)
      return toUtxos(rows, limit)
    },
    someCovenantUtxo: (): CovenantUtxo | undefined => toUtxos(some.all(), 1).utxos[0],
    addressCovenants(query: {
      address: string
      limit: number
      after?: OutputPoint & { readonly covenantId: string }
    }): CovenantUtxos {
      const { address, limit, after = { ...BEFORE_ALL, covenantId: '' } } = query
      const place = [blob(after.covenantId), blob(after.txId), after.index] as const
      return toUtxos(ofAddress.all(address, ...place, limit + 1), limit)
    },
  }
}

function exact(statement: StatementSync): StatementSync {
  statement.setReadBigInts(true)
  return statement
}

function toStep(row: Row): CovenantStep {
  return {
    txId: hexOf(row.tx_id),
    rank: Number(row.rank),
    timeMs: Number(row.time_ms),
    text: String(row.step),
  }
}

function toUtxos(rows: readonly Row[], limit: number): CovenantUtxos {
  return {
    hasMore: rows.length > limit,
    utxos: rows.slice(0, limit).map((row) => ({
      covenantId: hexOf(row.covenant),
      txId: hexOf(row.tx_id),
      index: Number(row.idx),
      amount: row.amount as bigint,
      scriptPublicKey: String(row.script),
      address: row.address === null ? null : String(row.address),
      timeMs: Number(row.time_ms),
    })),
  }
}
