import type { Transaction } from '../core/chain/transaction.ts'
import {
  type ParsedTransaction,
  type ParseOptions,
  parseTransaction,
  plainTransaction,
} from '../parser/parse-transaction.ts'

/**
 * What a script says is written by strangers, so an error in reading it must not stop the index. The transaction keeps
 * the facts that need no reading of scripts, and the error is returned.
 */
export function parseOrPlain(
  transaction: Transaction,
  options: ParseOptions,
): { readonly parsed: ParsedTransaction; readonly error: string | null } {
  try {
    return { parsed: parseTransaction(transaction, options), error: null }
  } catch (error) {
    return { parsed: plainTransaction(transaction, options), error: String(error) }
  }
}
