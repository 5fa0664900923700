/** Double-spends of payments, for a branch in which the same money was spent differently. */
import type { Ledger } from '../consensus/ledger.ts'
import { outpointKey, type Tx, type UtxoEntry } from '../consensus/model.ts'
import { sign, type Wallet } from './wallet.ts'

/** How many chain blocks are searched for the outputs that a transaction spent. */
const SEARCH_DEPTH = 2000

/** Replaces the first plain payment of a user with a rival transaction. `branch` holds transactions by block. */
export function undoOnePayment(ledger: Ledger, users: readonly Wallet[], branch: Tx[][]): void {
  for (const transactions of branch) {
    for (const [at, tx] of transactions.entries()) {
      const owner = users.find((user) => user.script === tx.outputs.at(-1)?.scriptPublicKey)
      const rival = owner === undefined ? undefined : rivalOf(ledger, tx, owner)
      if (rival === undefined) continue
      transactions[at] = rival
      return
    }
  }
}

/** Pays the same inputs back to their owner; undefined unless the owner's key alone can spend all of them. */
function rivalOf(ledger: Ledger, tx: Tx, owner: Wallet): Tx | undefined {
  const spent = spentBy(ledger, tx.id)
  if (spent === undefined || spent.length === 0) return undefined
  if (spent.some((entry) => entry.scriptPublicKey !== owner.script)) return undefined
  const coins = tx.inputs.flatMap((input, i) => {
    const entry = spent[i]
    return entry === undefined ? [] : [{ key: outpointKey(input.previousOutpoint), entry, owner }]
  })
  const value = tx.outputs.reduce((sum, output) => sum + output.value, 0n)
  const outputs = [{ value, scriptPublicKey: owner.script, covenant: null }]
  return sign({ ...tx, inputs: tx.inputs.map((input) => ({ ...input })), outputs, payload: '' }, coins)
}

function spentBy(ledger: Ledger, id: string): UtxoEntry[] | undefined {
  const { chain, virtual } = ledger
  const pending = virtual.acceptance.transactions.find((accepted) => accepted.tx.id === id)
  if (pending !== undefined) return pending.spent
  for (let i = chain.length - 1; i >= Math.max(0, chain.length - SEARCH_DEPTH); i--) {
    const accepted = ledger.record(chain[i] ?? '')?.acceptance?.transactions
    const found = accepted?.find((candidate) => candidate.tx.id === id)
    if (found !== undefined) return found.spent
  }
  return undefined
}
