import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import type { ChainStore } from '../store/chain.ts'

/**
 * The outputs that each transaction spends, as far as they are in the index or among these transactions. Uses one read
 * for all.
 */
export async function spentOutputs(
  seen: readonly { readonly txId: string; readonly transaction: Transaction }[],
  store: Pick<ChainStore, 'outputs'>,
): Promise<(readonly (SpentOutput | null)[])[]> {
  const points = seen.map(({ transaction }) =>
    transaction.inputs.map(({ previousOutpoint: { transactionId, index } }) => ({
      txId: transactionId,
      index,
    })),
  )
  const flat = points.flat()
  const indexed = await store.outputs(flat)
  const own = new Map(seen.map(({ txId, transaction }) => [txId, transaction.outputs]))
  const found = flat.map(({ txId, index }, at): SpentOutput | null => {
    const output = indexed[at]
    const unknown = { isCoinbase: null, blockDaaScore: null }
    if (output !== undefined) return { ...output, ...unknown }
    const sibling = own.get(txId)?.[index]
    if (sibling === undefined) return null
    const { value, scriptPublicKey, covenant } = sibling
    return { amount: value, scriptPublicKey, covenantId: covenant?.covenantId ?? null, ...unknown }
  })
  let at = 0
  return points.map(({ length }) => {
    at += length
    return found.slice(at - length, at)
  })
}
