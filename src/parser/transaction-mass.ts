/**
 * The masses that follow from a transaction alone, in grams. Compute mass counts bytes, output scripts and
 * signature work; transient mass counts bytes only, on a scale of its own (a block holds twice as much).
 */
import { isCoinbase, type Transaction } from '../core/chain/transaction.ts'

const GRAMS_PER_BYTE = 1
const GRAMS_PER_SCRIPT_BYTE = 10
const GRAMS_PER_SIG_OP = 1_000
const GRAMS_PER_BUDGET_UNIT = 100
const TRANSIENT_GRAMS_PER_BYTE = 4

/** What a block holds of each mass. */
export const BLOCK_MASS_LIMITS = { compute: 500_000, transient: 1_000_000, storage: 500_000 } as const

/** The size that enters the masses: an agreed estimate, not the size on any wire. */
export function estimatedSize(transaction: Transaction): number {
  const { version, inputs, outputs, payload } = transaction
  let size = 2 + 8 + 8 + 8 + 20 + 8 + 32 + 8 + payload.length / 2
  for (const input of inputs) size += 36 + 8 + input.signatureScript.length / 2 + 8 + (version > 0 ? 2 : 0)
  for (const output of outputs) {
    size += 8 + 2 + 8 + (output.scriptPublicKey.length - 4) / 2 + (output.covenant === null ? 0 : 34)
  }
  return size
}

export function computeMass(transaction: Transaction): number {
  if (isCoinbase(transaction)) return 0
  let mass = estimatedSize(transaction) * GRAMS_PER_BYTE
  for (const output of transaction.outputs)
    mass += (output.scriptPublicKey.length / 2) * GRAMS_PER_SCRIPT_BYTE
  for (const input of transaction.inputs) {
    mass +=
      transaction.version === 0
        ? input.sigOpCount * GRAMS_PER_SIG_OP
        : input.computeBudget * GRAMS_PER_BUDGET_UNIT
  }
  return mass
}

export function transientMass(transaction: Transaction): number {
  return isCoinbase(transaction) ? 0 : estimatedSize(transaction) * TRANSIENT_GRAMS_PER_BYTE
}

/** Transient mass on the scale of compute mass. */
export function normalisedTransientMass(transaction: Transaction): number {
  return Math.ceil((transientMass(transaction) * BLOCK_MASS_LIMITS.compute) / BLOCK_MASS_LIMITS.transient)
}
