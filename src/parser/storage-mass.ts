/**
 * Storage mass (KIP-9): what a transaction adds to the set of unspent outputs. Small outputs are heavy, and
 * spending small inputs pays back. It needs the spent outputs, so only a node or an index can tell it.
 */
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import { isCoinbase } from '../core/chain/transaction.ts'

const STORAGE_MASS_PARAMETER = 1_000_000_000_000n
const MAX_U64 = 0xffff_ffff_ffff_ffffn
/** The fixed part of a stored output, and the unit in which its size is counted. */
const STORED_BYTES = 63
const COVENANT_ID_BYTES = 32
const UNIT_BYTES = 100

/** An unspent output as storage sees it: an amount that occupies a number of units. */
export interface StorageCell {
  readonly amount: bigint
  readonly units: bigint
}

export function storageCell(amount: bigint, scriptPublicKey: string, hasCovenant: boolean): StorageCell {
  const bytes = STORED_BYTES + (scriptPublicKey.length - 4) / 2 + (hasCovenant ? COVENANT_ID_BYTES : 0)
  return { amount, units: BigInt(Math.ceil(bytes / UNIT_BYTES)) }
}

/** Null when it cannot be reckoned: a spent output is unknown, an amount is zero, or the mass overflows. */
export function storageMass(transaction: Transaction, spent: readonly (SpentOutput | null)[]): bigint | null {
  if (isCoinbase(transaction)) return 0n
  const inputs: StorageCell[] = []
  for (let index = 0; index < transaction.inputs.length; index++) {
    const output = spent[index]
    if (!output || output.amount === null || output.scriptPublicKey === null) return null
    inputs.push(storageCell(output.amount, output.scriptPublicKey, output.covenantId !== null))
  }
  const outputs = transaction.outputs.map((output) =>
    storageCell(output.value, output.scriptPublicKey, output.covenant !== null),
  )
  return storageMassOfCells(inputs, outputs)
}

export function storageMassOfCells(
  inputs: readonly StorageCell[],
  outputs: readonly StorageCell[],
): bigint | null {
  if (inputs.length === 0 || [...inputs, ...outputs].some((cell) => cell.amount <= 0n)) return null
  const added = harmonic(outputs)
  if (added > MAX_U64) return null
  const outputUnits = unitsOf(outputs)
  const inputUnits = unitsOf(inputs)
  const relaxed = outputUnits === 1n || inputUnits === 1n || (outputUnits === 2n && inputUnits === 2n)
  const freed = relaxed
    ? harmonic(inputs)
    : inputUnits * (STORAGE_MASS_PARAMETER / meanOf(inputs, inputUnits))
  return added > freed ? added - freed : 0n
}

function harmonic(cells: readonly StorageCell[]): bigint {
  let sum = 0n
  for (const { amount, units } of cells) sum += (STORAGE_MASS_PARAMETER * units * units) / amount
  return sum
}

function unitsOf(cells: readonly StorageCell[]): bigint {
  return cells.reduce((sum, cell) => sum + cell.units, 0n)
}

/** At least 1: amounts below their number of units cannot be divided further. */
function meanOf(cells: readonly StorageCell[], units: bigint): bigint {
  const mean = cells.reduce((sum, cell) => sum + cell.amount, 0n) / units
  return mean > 0n ? mean : 1n
}
