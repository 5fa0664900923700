/** What a node asks at least for relaying a transaction. */
import type { Transaction } from '../core/chain/transaction.ts'
import { computeMass, normalisedTransientMass } from './transaction-mass.ts'

const SOMPI_PER_KILOGRAM = 100_000n
const MAX_SOMPI = 29_000_000_000n * 100_000_000n

/** Compute or normalised transient mass, whichever is more. Storage mass has a cap but no fee floor. */
export function minimumFee(transaction: Transaction): bigint {
  const mass = BigInt(Math.max(computeMass(transaction), normalisedTransientMass(transaction)))
  const fee = (mass * SOMPI_PER_KILOGRAM) / 1_000n
  if (fee === 0n) return SOMPI_PER_KILOGRAM
  return fee < MAX_SOMPI ? fee : MAX_SOMPI
}

/** The mass that a feerate is multiplied with: the heaviest of the three on the scale of compute mass. */
export function feeMass(transaction: Transaction, storageMass: bigint): bigint {
  const mass = BigInt(Math.max(computeMass(transaction), normalisedTransientMass(transaction)))
  return storageMass > mass ? storageMass : mass
}
