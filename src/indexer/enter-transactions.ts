/**
 * Enters transactions that are seen for the first time, in a mempool or in a block. Each gets one `mempool_entry` with
 * the parsed kinds of that stage, before any event caused by its acceptance, and a pending row for each address if all
 * its inputs are known.
 */
import type { Network } from '../core/chain/network.ts'
import type { Transaction } from '../core/chain/transaction.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import type { ChainStore, KnownTransaction, TransactionRecord } from '../store/chain.ts'
import { addParsedEvents, type EventBatch } from './batch.ts'
import { feeOf, movementsOf, transactionAddresses } from './index-address.ts'
import { parseOrPlain } from './parse-or-plain.ts'
import { parsedText } from './parsed-text.ts'
import { spentOutputs } from './spent-outputs.ts'

export interface SeenTransaction {
  readonly txId: string
  readonly transaction: Transaction
  /** As reported by the node; null if the node does not report it. */
  readonly fee: bigint | null
  readonly isOrphan: boolean
  readonly firstSeen: 'mempool' | 'block'
}

export async function enterTransactions(
  seen: readonly SeenTransaction[],
  known: ReadonlyMap<string, KnownTransaction>,
  { store, network, batch }: { store: ChainStore; network: Network; batch: EventBatch },
): Promise<TransactionRecord[]> {
  const spent = await spentOutputs(seen, store)
  return seen.map((one, place) => {
    const { txId, transaction } = one
    const before = known.get(txId)
    const inputs = spent[place] ?? []
    // An error is reported when the transaction is accepted.
    const { parsed } = parseOrPlain(transaction, { network, spent: inputs, txId })
    const fee = one.fee ?? feeOf(parsed)
    if (before?.hasMempoolEvent !== true) addMempoolEvents(batch, parsed, { ...one, fee })
    // Nobody has verified an orphan's inputs or signatures, so it does not count as a payment yet. An input that is
    // older than the index may belong to any of the addresses, and its change would look like a gain. The acceptance
    // brings the rows, with all inputs resolved.
    const movements = one.isOrphan || inputs.includes(null) ? [] : movementsOf(parsed)
    const effects = movements.map(({ effect }) => ({ ...effect, event: null }))
    return { txId, parsed: parsedText(parsed), fee, effects }
  })
}

export function addMempoolEvents(
  batch: EventBatch,
  parsed: ParsedTransaction,
  { fee, isOrphan, firstSeen }: Pick<SeenTransaction, 'fee' | 'isOrphan' | 'firstSeen'>,
): void {
  const { tx_id, tags, outputs } = parsed
  batch.add(
    'mempool_entry',
    { tx_id, fee_sompi: fee, is_orphan: isOrphan, first_seen: firstSeen, tags, outputs },
    transactionAddresses(parsed),
  )
  addParsedEvents(batch, parsed, 'mempool')
}
