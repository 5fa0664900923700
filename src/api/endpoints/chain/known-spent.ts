import type { Outpoint, SpentOutput, Transaction } from '../../../core/chain/transaction.ts'
import { nextTurn, Slice } from '../../../kit/time-slices.ts'
import type { ChainStore, IndexedOutput } from '../../../store/chain.ts'

/** Reads under way at once; an embedded store has read when the call returns. */
const MAX_READS = 8

/**
 * The outputs that the index has, in turns of the loop: the transaction of an output is read as a whole, and may be
 * large. Each transaction is read once.
 */
export async function knownOutputs(
  points: readonly Outpoint[],
  index: Pick<ChainStore, 'outputs'>,
): Promise<(IndexedOutput | undefined)[]> {
  const found: (IndexedOutput | undefined)[] = points.map(() => undefined)
  const slice = new Slice()
  let reads: Promise<void>[] = []
  for (const [txId, own] of Map.groupBy(points.entries(), ([, { transactionId }]) => transactionId)) {
    const read = async () => {
      const outputs = await index.outputs(own.map(([, point]) => ({ txId, index: point.index })))
      for (const [at, [place]] of own.entries()) found[place] = outputs[at]
    }
    reads.push(read())
    if (reads.length < MAX_READS && !slice.isOver) continue
    await Promise.all(reads)
    reads = []
    if (slice.isOver) await slice.next()
  }
  await Promise.all(reads)
  return found
}

/** What a pending transaction spends, as far as the index has it. A node's mempool does not say it. */
export async function knownSpent(
  { inputs }: Transaction,
  index: Pick<ChainStore, 'outputs'>,
): Promise<(SpentOutput | null)[]> {
  const found = await knownOutputs(
    inputs.map(({ previousOutpoint }) => previousOutpoint),
    index,
  )
  await nextTurn()
  return found.map((output) =>
    output === undefined ? null : { ...output, isCoinbase: null, blockDaaScore: null },
  )
}
