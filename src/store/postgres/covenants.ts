/** The covenants of the chain index. Writes run inside the transaction that applies or removes their block. */

import type {
  CovenantChange,
  CovenantStep,
  CovenantSteps,
  CovenantUtxo,
  CovenantUtxos,
} from '../covenants.ts'
import type { OutputPoint } from '../output-point.ts'
import { bytea } from './bytea.ts'
import { type Database, type Queries, statement } from './database.ts'

/** After a gap the chain may restart below its former end, where steps and outputs are already stored. */
const INSERT_STEPS = statement(
  'covenant_insert_steps',
  `INSERT INTO covenant_steps (covenant, rank, tx_id, time_ms, step)
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bigint[], $5::text[])
    ON CONFLICT (covenant, rank) DO UPDATE SET tx_id = excluded.tx_id, time_ms = excluded.time_ms, step = excluded.step`,
)
const INSERT_OUTPUTS = statement(
  'covenant_insert_outputs',
  `INSERT INTO covenant_outputs (tx_id, idx, covenant, amount, script, address, time_ms)
    SELECT * FROM unnest($1::bytea[], $2::int[], $3::bytea[], $4::bigint[], $5::text[], $6::text[], $7::bigint[])
    ON CONFLICT (tx_id, idx) DO UPDATE SET covenant = excluded.covenant, amount = excluded.amount,
      script = excluded.script, address = excluded.address, time_ms = excluded.time_ms, spent_by = NULL,
      spent_rank = NULL`,
)
const SPEND = statement(
  'covenant_spend',
  `UPDATE covenant_outputs o SET spent_by = n.spent_by, spent_rank = n.rank
    FROM unnest($1::bytea[], $2::int[], $3::bytea[], $4::bigint[]) AS n (tx_id, idx, spent_by, rank)
    WHERE o.tx_id = n.tx_id AND o.idx = n.idx`,
)
const REMOVE_STEPS = statement(
  'covenant_remove_steps',
  'DELETE FROM covenant_steps WHERE tx_id = ANY($1::bytea[])',
)
const REMOVE_OUTPUTS = statement(
  'covenant_remove_outputs',
  'DELETE FROM covenant_outputs WHERE tx_id = ANY($1::bytea[])',
)
const UNSPEND = statement(
  'covenant_unspend',
  'UPDATE covenant_outputs SET spent_by = NULL, spent_rank = NULL WHERE spent_by = ANY($1::bytea[])',
)
const STEP = `encode(tx_id, 'hex') AS "txId", rank, time_ms AS "timeMs", step AS text`
const STEPS = statement(
  'covenant_steps',
  `SELECT ${STEP} FROM covenant_steps WHERE covenant = $1 AND rank < $2::bigint ORDER BY rank DESC LIMIT $3::int`,
)
const FIRST_STEP = statement(
  'covenant_first_step',
  `SELECT ${STEP} FROM covenant_steps WHERE covenant = $1 ORDER BY rank LIMIT 1`,
)
const UTXO = `encode(covenant, 'hex') AS "covenantId", encode(tx_id, 'hex') AS "txId", idx AS index, amount::text,
    script AS "scriptPublicKey", address, time_ms AS "timeMs"`
const COVERED = 'time_ms >= (SELECT coverage_from FROM chain_state)'
const OF_COVENANT = statement(
  'covenant_utxos',
  `SELECT ${UTXO} FROM covenant_outputs
    WHERE covenant = $1 AND spent_by IS NULL AND (tx_id, idx) > ($2::bytea, $3::int) AND ${COVERED}
    ORDER BY covenant_outputs.tx_id, idx LIMIT $4::int`,
)
const OF_ADDRESS = statement(
  'covenant_utxos_of_address',
  `SELECT ${UTXO} FROM covenant_outputs
    WHERE address = $1 AND spent_by IS NULL AND (covenant, tx_id, idx) > ($2::bytea, $3::bytea, $4::int) AND ${COVERED}
    ORDER BY covenant_outputs.covenant, covenant_outputs.tx_id, idx LIMIT $5::int`,
)
const SOME = statement(
  'covenant_some_utxo',
  `SELECT ${UTXO} FROM covenant_outputs WHERE spent_by IS NULL AND address > '' AND ${COVERED}
    ORDER BY address LIMIT 1`,
)
/** Spent outputs are kept as long as the block that spent them can leave the chain. */
export const PRUNE_SPENT = statement(
  'covenant_prune_spent',
  `DELETE FROM covenant_outputs WHERE (tx_id, idx) IN (SELECT tx_id, idx FROM covenant_outputs
    WHERE spent_rank < (SELECT min(blue_score) FROM chain_blocks
      WHERE id >= (SELECT chain_from FROM chain_state)) * 1048576
    LIMIT $1::int)`,
)

export interface AppliedCovenants {
  readonly txId: string
  readonly rank: number
  readonly timeMs: number
  readonly changes: readonly CovenantChange[]
}

export async function applyCovenants(queries: Queries, applied: readonly AppliedCovenants[]): Promise<void> {
  const steps = applied.flatMap(({ changes, ...at }) => changes.map((change) => ({ ...at, ...change })))
  if (steps.length === 0) return
  await queries.run(INSERT_STEPS, [
    steps.map(({ covenantId }) => bytea(covenantId)),
    steps.map(({ rank }) => rank),
    steps.map(({ txId }) => bytea(txId)),
    steps.map(({ timeMs }) => timeMs),
    steps.map(({ text }) => text),
  ])
  const created = steps.flatMap((step) => step.created.map((output) => ({ ...step, ...output })))
  if (created.length > 0)
    await queries.run(INSERT_OUTPUTS, [
      created.map(({ txId }) => bytea(txId)),
      created.map(({ index }) => index),
      created.map(({ covenantId }) => bytea(covenantId)),
      created.map(({ amount }) => amount),
      created.map(({ scriptPublicKey }) => scriptPublicKey),
      created.map(({ address }) => address),
      created.map(({ timeMs }) => timeMs),
    ])
  const spent = steps.flatMap(({ txId, rank, spent: points }) =>
    points.map((point) => ({ point, txId, rank })),
  )
  if (spent.length > 0)
    await queries.run(SPEND, [
      spent.map(({ point }) => bytea(point.txId)),
      spent.map(({ point }) => point.index),
      spent.map(({ txId }) => bytea(txId)),
      spent.map(({ rank }) => rank),
    ])
}

/** Undoes the covenant changes of transactions that are no longer accepted. */
export async function undoCovenants(queries: Queries, txIds: readonly Buffer[]): Promise<void> {
  if (txIds.length === 0) return
  await Promise.all([
    queries.run(REMOVE_STEPS, [txIds]),
    queries.run(REMOVE_OUTPUTS, [txIds]),
    queries.run(UNSPEND, [txIds]),
  ])
}

export function removeCovenantSteps(queries: Queries, txIds: readonly Buffer[]): Promise<number> {
  return queries.run(REMOVE_STEPS, [txIds])
}

const BEFORE_ALL: OutputPoint = { txId: '', index: -1 }

export function covenantReader(database: Database) {
  return {
    async covenantSteps(query: {
      covenantId: string
      limit: number
      before?: number
    }): Promise<CovenantSteps> {
      const { covenantId, limit, before = Number.MAX_SAFE_INTEGER } = query
      const rows = await database.rows<CovenantStep>(STEPS, [bytea(covenantId), before, limit + 1])
      return { steps: rows.slice(0, limit), hasMore: rows.length > limit }
    },
    async firstCovenantStep(covenantId: string): Promise<CovenantStep | undefined> {
      return (await database.rows<CovenantStep>(FIRST_STEP, [bytea(covenantId)]))[0]
    },
    async covenantUtxos(query: {
      covenantId: string
      limit: number
      after?: OutputPoint
    }): Promise<CovenantUtxos> {
      const { covenantId, limit, after = BEFORE_ALL } = query
      const place = [bytea(covenantId), bytea(after.txId), after.index]
      return toUtxos(await database.rows<StoredUtxo>(OF_COVENANT, [...place, limit + 1]), limit)
    },
    async someCovenantUtxo(): Promise<CovenantUtxo | undefined> {
      return toUtxos(await database.rows<StoredUtxo>(SOME), 1).utxos[0]
    },
    async addressCovenants(query: {
      address: string
      limit: number
      after?: OutputPoint & { readonly covenantId: string }
    }): Promise<CovenantUtxos> {
      const { address, limit, after = { ...BEFORE_ALL, covenantId: '' } } = query
      const place = [bytea(after.covenantId), bytea(after.txId), after.index]
      return toUtxos(await database.rows<StoredUtxo>(OF_ADDRESS, [address, ...place, limit + 1]), limit)
    },
  }
}

type StoredUtxo = Omit<CovenantUtxo, 'amount'> & { readonly amount: string }

function toUtxos(rows: readonly StoredUtxo[], limit: number): CovenantUtxos {
  const utxos = rows.slice(0, limit).map((row) => ({ ...row, amount: BigInt(row.amount) }))
  return { utxos, hasMore: rows.length > limit }
}
