import type { Transaction } from '../../../core/chain/transaction.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import type { ExactJson } from '../../../kit/exact-json.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import { isAmount } from './is-amount.ts'

export interface MempoolEntry {
  readonly transaction: Transaction
  /** Null for an orphan, whose fee the node does not know. */
  readonly fee: number | bigint | null
}

/** A node's answer to getMempoolEntry; undefined if it is not about this transaction. */
export function readMempoolEntry(answer: ExactJson, txId: string): MempoolEntry | undefined {
  const { mempoolEntry } = answer as {
    mempoolEntry?: { fee?: unknown; is_orphan?: unknown; transaction?: ExactJson }
  }
  const read = readTransaction(mempoolEntry?.transaction ?? null)
  if (!read.ok || transactionId(read.transaction) !== txId) return undefined
  if (mempoolEntry?.is_orphan === true) return { transaction: read.transaction, fee: null }
  return isAmount(mempoolEntry?.fee) ? { transaction: read.transaction, fee: mempoolEntry.fee } : undefined
}
