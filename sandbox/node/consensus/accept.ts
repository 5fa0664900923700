/** Which transactions of a merge set are accepted, and what that changes. */
import { type Block, isCoinbase, outpointKey, type Tx, type UtxoEntry } from './model.ts'
import type { UtxoChange, UtxoSet } from './utxo-set.ts'

export interface AcceptedTx {
  tx: Tx
  /** The block whose copy of the transaction was accepted. */
  blockHash: string
  /** The outputs that its inputs spent, in order. */
  spent: UtxoEntry[]
}

export interface Acceptance {
  transactions: AcceptedTx[]
  log: UtxoChange[]
  /** Fees of the accepted transactions by the block that carried them. */
  fees: Map<string, bigint>
}

export const emptyAcceptance = (): Acceptance => ({ transactions: [], log: [], fees: new Map() })

/**
 * Accepts a merge set on the state of its selected parent and changes that state. First come, first served: a
 * transaction whose inputs are gone (because a rival or a copy came before) is not accepted. Of the coinbase
 * transactions, only that of the selected parent counts.
 */
export function acceptMergeSet(
  records: ReadonlyMap<string, { readonly block: Block }>,
  utxos: UtxoSet,
  coinbaseMaturity: number,
  data: { selectedParent: string | undefined; blues: string[]; reds: string[]; daaScore: bigint },
): Acceptance {
  const acceptance = emptyAcceptance()
  for (const blockHash of [...data.blues, ...data.reds]) {
    let fees = 0n
    for (const tx of records.get(blockHash)?.block.transactions ?? []) {
      if (isCoinbase(tx) && blockHash !== data.selectedParent) continue
      const spent = spendable(utxos, tx, data.daaScore - BigInt(coinbaseMaturity))
      if (spent === undefined) continue
      const changes = changesOf(tx, spent, data.daaScore)
      utxos.redo(changes)
      acceptance.log.push(...changes)
      acceptance.transactions.push({ tx, blockHash, spent })
      if (!isCoinbase(tx)) fees += feeOf(tx, spent)
    }
    acceptance.fees.set(blockHash, fees)
  }
  return acceptance
}

function spendable(utxos: UtxoSet, tx: Tx, matureDaaScore: bigint): UtxoEntry[] | undefined {
  const spent: UtxoEntry[] = []
  for (const input of tx.inputs) {
    const entry = utxos.get(outpointKey(input.previousOutpoint))
    if (entry === undefined || (entry.isCoinbase && entry.blockDaaScore > matureDaaScore)) return undefined
    spent.push(entry)
  }
  return spent
}

export function changesOf(tx: Tx, spent: readonly UtxoEntry[], blockDaaScore: bigint): UtxoChange[] {
  const changes: UtxoChange[] = []
  tx.inputs.forEach((input, i) => {
    const entry = spent[i]
    if (entry !== undefined) changes.push({ key: outpointKey(input.previousOutpoint), entry, created: false })
  })
  tx.outputs.forEach((output, index) => {
    const entry: UtxoEntry = {
      amount: output.value,
      scriptPublicKey: output.scriptPublicKey,
      blockDaaScore,
      isCoinbase: isCoinbase(tx),
      covenantId: output.covenant?.covenantId ?? null,
    }
    changes.push({ key: outpointKey({ transactionId: tx.id, index }), entry, created: true })
  })
  return changes
}

function feeOf(tx: Tx, spent: readonly UtxoEntry[]): bigint {
  const paid = spent.reduce((sum, entry) => sum + entry.amount, 0n)
  return paid - tx.outputs.reduce((sum, output) => sum + output.value, 0n)
}
