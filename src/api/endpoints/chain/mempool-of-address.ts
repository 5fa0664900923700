import type { Transaction } from '../../../core/chain/transaction.ts'
import { readTransaction } from '../../../core/chain/transaction-json.ts'
import { type ExactJson, parseExactInSlices } from '../../../kit/exact-json.ts'
import { hasList, nestedElementsOf } from '../../../kit/json-slices.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import { TRANSACTION_ANSWER_LIMITS } from './mempool-entry.ts'
import { unusableAnswer } from './upstream-error.ts'

/**
 * The entries in a node's answer to getMempoolEntriesByAddresses for one address. An answer without a list, or about
 * another address, must not pass for an address without pending transactions.
 */
export async function* mempoolOfAddress(
  address: string,
  { bytes, node }: { readonly bytes: Uint8Array; readonly node: string },
): AsyncGenerator<{ readonly list: 'sending' | 'receiving'; readonly text: string }> {
  if (!(await hasList(bytes, 'entries'))) throw unusableAnswer(node, 'mempool entries')
  for await (const { list, text } of nestedElementsOf(bytes, 'entries', [
    'address',
    'sending',
    'receiving',
  ])) {
    const isFitting = list === 'address' ? text === JSON.stringify(address) : text.startsWith('{')
    if (!isFitting) throw unusableAnswer(node, 'mempool entries')
    if (list !== 'address') yield { list, text }
  }
}

const TX_ID = /^[0-9a-f]{64}$/

/**
 * Undefined for a transaction in an unknown form. The steps for a large one take milliseconds each and are apart in
 * turns of the loop. Hashing takes longest, so the id is the one that the node names, if it names one.
 */
export async function readPendingEntry(
  text: string,
  node: string,
): Promise<{ readonly txId: string; readonly transaction: Transaction } | undefined> {
  const entry = await parseExactInSlices(text, TRANSACTION_ANSWER_LIMITS)
  if (!entry.ok) throw unusableAnswer(node, entry.message)
  await turnFor(text)
  const json = (entry.value as { transaction?: ExactJson } | null)?.transaction ?? null
  const read = readTransaction(json)
  if (!read.ok) return undefined
  const { transaction } = read
  const { verboseData } = json as { verboseData?: { transactionId?: unknown } | null }
  const named = verboseData?.transactionId
  await turnFor(text)
  if (typeof named === 'string' && TX_ID.test(named)) return { txId: named, transaction }
  const txId = transactionId(transaction)
  await turnFor(text)
  return { txId, transaction }
}

/** Every step of reading an entry with a shorter text takes less than a millisecond. */
const SMALL_ENTRY_CHARS = 20_000

/** Resolves in another turn of the loop, in which the next step for this entry may begin; a small one needs none. */
export async function turnFor(text: string): Promise<void> {
  if (text.length > SMALL_ENTRY_CHARS) await nextTurn()
}
