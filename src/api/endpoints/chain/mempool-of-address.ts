import { hasList, nestedElementsOf } from '../../../kit/json-slices.ts'
import { unusableAnswer } from './upstream-error.ts'

/**
 * The entries in a node's answer to getMempoolEntriesByAddresses for one address. An answer without a list, or about
 * another address, must not pass for an address without pending transactions.
 */
export async function* mempoolOfAddress(
  address: string,
  { bytes, node }: { readonly bytes: Uint8Array; readonly node: string },
): AsyncGenerator<{ readonly list: 'sending' | 'receiving'; readonly text: string }> {
  if (!hasList(bytes, 'entries')) throw unusableAnswer(node, 'mempool entries')
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
