import type { SpentOutput, Transaction } from '../../../core/chain/transaction.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import type { ChainStore } from '../../../store/chain.ts'

/** The transaction of each output is read as a whole, and may be large. */
const MAX_PER_TURN = 20

/** What a pending transaction spends, as far as the index has it. A node's mempool does not say it. */
export async function knownSpent(
  { inputs }: Transaction,
  index: Pick<ChainStore, 'outputs'>,
): Promise<(SpentOutput | null)[]> {
  const spent: (SpentOutput | null)[] = []
  while (spent.length < inputs.length) {
    const points = inputs.slice(spent.length, spent.length + MAX_PER_TURN).map(({ previousOutpoint }) => ({
      txId: previousOutpoint.transactionId,
      index: previousOutpoint.index,
    }))
    for (const output of await index.outputs(points))
      spent.push(output === undefined ? null : { ...output, isCoinbase: null, blockDaaScore: null })
    await nextTurn()
  }
  return spent
}
