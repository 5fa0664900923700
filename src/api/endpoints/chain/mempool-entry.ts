import { isAmount } from '../../../core/chain/is-amount.ts'
import type { Transaction } from '../../../core/chain/transaction.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import type { ExactJson, JsonLimits } from '../../../kit/exact-json.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import { transactionId } from '../../../parser/transaction-id.ts'

/**
 * For a node's answer with one transaction: more than 250 kB take in hexadecimal, with a thousand inputs and outputs and
 * the node's remarks.
 */
export const TRANSACTION_ANSWER_LIMITS: JsonLimits = {
  maxDepth: 64,
  maxChars: 2 * 1024 * 1024,
  maxValues: 100_000,
}

export interface MempoolEntry {
  readonly transaction: Transaction
  /** Null for an orphan, whose fee the node does not know. */
  readonly fee: number | bigint | null
}

/**
 * A node's answer to getMempoolEntry; undefined if it is not about this transaction. Reading and hashing a large
 * transaction are apart in turns of the loop, and the caller goes on in a third one.
 */
export async function readMempoolEntry(answer: ExactJson, txId: string): Promise<MempoolEntry | undefined> {
  const { mempoolEntry } = answer as {
    mempoolEntry?: { fee?: unknown; is_orphan?: unknown; transaction?: ExactJson }
  }
  const read = readTransaction(mempoolEntry?.transaction ?? null)
  if (!read.ok) return undefined
  await nextTurn()
  if (transactionId(read.transaction) !== txId) return undefined
  await nextTurn()
  if (mempoolEntry?.is_orphan === true) return { transaction: read.transaction, fee: null }
  return isAmount(mempoolEntry?.fee) ? { transaction: read.transaction, fee: mempoolEntry.fee } : undefined
}
