/**
 * The mempool by difference: what is new becomes an event and a pending row; what has been missing for a while and
 * was not accepted is dropped. That time covers the interval between leaving the mempool for a block and acceptance,
 * and a change to a node that has not got the transaction yet.
 */

import type { Network } from '../core/chain/network.ts'
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import { readTransaction } from '../core/chain/transaction-json.ts'
import { parseTransaction } from '../parser/parse-transaction.ts'
import type { ChainStore, KnownTransaction, TransactionRecord } from '../store/chain.ts'
import { parsedText } from './apply-block.ts'
import { addParsedEvents, type EventBatch, eventBatch } from './batch.ts'
import { feeOf, movementsOf, transactionAddresses } from './index-address.ts'
import { parse } from './read-chain.ts'

export interface MempoolState {
  /** Pending transactions, and when each was last in the mempool or became pending. */
  readonly pending: Map<string, number>
}

export interface ApplyMempoolOptions {
  store: ChainStore
  network: Network
  now: () => number
  state: MempoolState
  dropAfterMs: number
  bytes: Uint8Array
}

interface Entry {
  txId: string
  fee: bigint
  isOrphan: boolean
  transaction: Transaction
}

/** New ones that one write takes at most; the next poll takes the rest. */
const MAX_ENTERED = 2_000
const MAX_DROPPED = 2_000

/** The newest number of the log, when anything was written. */
export async function applyMempool(options: ApplyMempoolOptions): Promise<number | undefined> {
  const { store, network, now, state } = options
  const atMs = now()
  const fresh: Entry[] = []
  for (const json of entriesOf(options.bytes)) {
    const txId = idOf(json)
    if (state.pending.has(txId)) state.pending.set(txId, atMs)
    else if (fresh.length < MAX_ENTERED) {
      const entry = readEntry(json, txId)
      if (entry !== undefined) fresh.push(entry)
    }
  }
  const expects = (await store.checkpoint())?.hash ?? null
  const known = await store.known(fresh.map(({ txId }) => txId))
  const batch = eventBatch(network, atMs)
  // The mempool of a node that is behind: the index is newer.
  const present = fresh.filter(({ txId }) => known.get(txId)?.status !== 'confirmed')
  const unreported = present.filter(({ txId }) => {
    const before = known.get(txId)
    return before?.status !== 'pending' || !before.hasMempoolEvent
  })
  const outputs = await spentOutputs(unreported, store)
  const entered = unreported.map((entry, place) =>
    enter(entry, outputs[place] ?? [], known.get(entry.txId), { batch, network }),
  )
  const dropped = dueForDrop(state, atMs - options.dropAfterMs)
  const written =
    entered.length > 0 || dropped.length > 0
      ? await store.write({ atMs, expects, entered, dropped, events: batch.events })
      : undefined
  // Only after the write: what could not be written is new again at the next poll.
  for (const { txId } of present) state.pending.set(txId, atMs)
  for (const txId of dropped) state.pending.delete(txId)
  return written?.newestSeq
}

/** What the inputs of each transaction spend, as far as it is indexed: one read for all of them. */
async function spentOutputs(
  entries: readonly Entry[],
  store: ChainStore,
): Promise<(readonly (SpentOutput | null)[])[]> {
  const points = entries.map(({ transaction }) =>
    transaction.inputs.map(({ previousOutpoint: { transactionId, index } }) => ({
      txId: transactionId,
      index,
    })),
  )
  const found = (await store.outputs(points.flat())).map((output): SpentOutput | null =>
    output === undefined ? null : { ...output, isCoinbase: null, blockDaaScore: null },
  )
  let at = 0
  return points.map(({ length }) => {
    at += length
    return found.slice(at - length, at)
  })
}

function enter(
  { txId, transaction, isOrphan, fee: nodeFee }: Entry,
  spent: readonly (SpentOutput | null)[],
  before: KnownTransaction | undefined,
  { batch, network }: { batch: EventBatch; network: Network },
): TransactionRecord {
  const parsed = parseTransaction(transaction, { network, spent, txId })
  // The node does not know an orphan's fee.
  const fee = isOrphan ? feeOf(parsed) : nodeFee
  if (before?.hasMempoolEvent !== true) {
    const { tags, outputs } = parsed
    batch.add(
      'mempool_entry',
      { tx_id: txId, fee_sompi: nodeFee, is_orphan: isOrphan, tags, outputs },
      transactionAddresses(parsed),
    )
    addParsedEvents(batch, parsed, 'mempool')
  }
  // The rows of one that was accepted before were made from resolved inputs: they are better than these.
  const effects =
    before === undefined ? movementsOf(parsed).map(({ effect }) => ({ ...effect, event: null })) : []
  return { txId, parsed: parsedText(parsed), fee, effects }
}

function dueForDrop(state: MempoolState, lastSeenBeforeMs: number): string[] {
  const due: string[] = []
  for (const [txId, seenMs] of state.pending) {
    if (seenMs < lastSeenBeforeMs && due.length < MAX_DROPPED) due.push(txId)
  }
  return due
}

type Members = Record<string, unknown>

function entriesOf(bytes: Uint8Array): Members[] {
  const entries = parse(bytes).mempoolEntries
  return Array.isArray(entries) ? (entries as Members[]) : []
}

function idOf(entry: Members): string {
  const verbose = (entry.transaction as Members).verboseData as Members
  return String(verbose.transactionId)
}

function readEntry(entry: Members, txId: string): Entry | undefined {
  const read = readTransaction(entry.transaction)
  if (!read.ok) return undefined
  return {
    txId,
    fee: BigInt(entry.fee as number | bigint),
    isOrphan: entry.is_orphan === true,
    transaction: read.transaction,
  }
}
