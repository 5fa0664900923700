/**
 * Applies the mempool as a difference: a new transaction becomes an event and a pending row, and one that has left the
 * mempool without being accepted is dropped.
 */

import { isAmount } from '../core/chain/is-amount.ts'
import type { Network } from '../core/chain/network.ts'
import type { Outpoint } from '../core/chain/transaction.ts'
import { readTransaction } from '../core/chain/transaction-json.ts'
import type { ChainStore } from '../store/chain.ts'
import { eventBatch } from './batch.ts'
import type { EarlierAcceptance } from './earlier-acceptance.ts'
import { enterTransactions, type SeenTransaction } from './enter-transactions.ts'
import type { PendingTransactions } from './pending-transactions.ts'
import { isHash, parse, UnreadableAnswerError } from './read-chain.ts'

export interface ApplyMempoolOptions {
  store: ChainStore
  network: Network
  now: () => number
  pending: PendingTransactions
  earlier: EarlierAcceptance
  /** Identifies the mempool: the node and its current run, because a restarted node has another mempool. */
  mempool: string
  /** False while the index is behind, because a transaction that has left the mempool may have been accepted. */
  mayDrop: boolean
  bytes: Uint8Array
}

export interface MempoolApplied {
  /** The newest sequence number of the log, if anything was written. */
  readonly newestSeq: number | undefined
  /** Transactions have entered recently, through the mempool or in blocks. */
  readonly isFlowing: boolean
}

/** New transactions per write; the next poll takes the rest. */
const MAX_ENTERED = 2_000
/**
 * Transactions to look up in the index per poll. The mempool of a node that is behind holds many that the index knows
 * as confirmed.
 */
const MAX_ASKED = 20_000

export async function applyMempool(options: ApplyMempoolOptions): Promise<MempoolApplied> {
  const { store, network, now, pending, earlier, mempool } = options
  const atMs = now()
  const asked = new Map<string, Members>()
  for (const json of entriesOf(options.bytes)) {
    const txId = idOf(json)
    if (json === null || txId === undefined) continue
    const isOrphan = json.is_orphan === true
    const isPending = pending.has(txId)
    if (isPending) pending.inMempool(txId, { mempool, atMs, isOrphan }, () => spendsOf(json))
    // A transaction that was an orphan still lacks its rows.
    const isDone = isPending && (isOrphan || !pending.mayLackRows(txId))
    if (!isDone && asked.size < MAX_ASKED) asked.set(txId, json)
  }
  const expects = (await store.checkpoint())?.hash ?? null
  const known = await store.known([...asked.keys()])
  const batch = eventBatch(network, atMs)
  const present: SeenTransaction[] = []
  for (const [txId, json] of asked) {
    if (present.length >= MAX_ENTERED) break
    // A confirmed transaction is still in the mempool of a node that is behind; the index is newer.
    if (known.get(txId)?.status === 'confirmed' || (!known.has(txId) && earlier.has(txId))) continue
    const entry = readEntry(json, txId)
    if (entry !== undefined) present.push(entry)
  }
  const unreported = present.filter(({ txId }) => {
    const before = known.get(txId)
    return before?.status !== 'pending' || !before.hasMempoolEvent || pending.mayLackRows(txId)
  })
  const entered = await enterTransactions(unreported, known, { store, network, batch })
  const written =
    entered.length > 0 ? await store.write({ atMs, expects, entered, events: batch.events }) : undefined
  // Only after the write, so that a transaction whose write failed is new again at the next poll.
  for (const { txId, transaction, isOrphan } of present)
    pending.inMempool(txId, { mempool, atMs, isOrphan }, () =>
      transaction.inputs.map((input) => input.previousOutpoint),
    )
  for (const { txId, isOrphan } of unreported) if (!isOrphan) pending.rowsWritten(txId)
  const dropped = options.mayDrop ? pending.due(mempool, atMs) : []
  const gone = dropped.length > 0 ? await store.write({ atMs, expects, dropped }) : undefined
  for (const { txId } of dropped) pending.leave(txId)
  return { newestSeq: (gone ?? written)?.newestSeq, isFlowing: pending.isFlowing(atMs) }
}

type Members = Record<string, unknown>

function entriesOf(bytes: Uint8Array): (Members | null)[] {
  const entries = parse(bytes).mempoolEntries
  // Taken for an empty mempool, it would drop everything that is pending.
  if (!Array.isArray(entries)) throw new UnreadableAnswerError('mempoolEntries is missing')
  return entries as (Members | null)[]
}

/** Undefined for an entry that does not name its transaction. It does not hide the others. */
function idOf(entry: Members | null): string | undefined {
  const transaction = entry?.transaction as { verboseData?: { transactionId?: unknown } | null } | null
  const txId = transaction?.verboseData?.transactionId
  return isHash(txId) ? txId : undefined
}

function spendsOf(entry: Members): Outpoint[] {
  const read = readTransaction(entry.transaction)
  return read.ok ? read.transaction.inputs.map((input) => input.previousOutpoint) : []
}

function readEntry(entry: Members, txId: string): SeenTransaction | undefined {
  const read = readTransaction(entry.transaction)
  if (!read.ok) return undefined
  const isOrphan = entry.is_orphan === true
  return {
    txId,
    // The node does not know the fee of an orphan.
    fee: isOrphan || !isAmount(entry.fee) ? null : BigInt(entry.fee),
    isOrphan,
    transaction: read.transaction,
    firstSeen: 'mempool',
  }
}
