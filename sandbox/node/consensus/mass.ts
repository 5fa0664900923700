/** The three masses of a transaction and what is derived from them: limits, fees and fee rates. */
import { isCoinbase, type TxBody } from './model.ts'

export const BLOCK_MASS_LIMIT = { compute: 500_000n, storage: 500_000n, transient: 1_000_000n } as const
/** The fee rate in sompi per gram below which nothing is relayed. */
export const MINIMUM_FEERATE = 100n
const STORAGE_MASS_PARAMETER = 1_000_000_000_000n

interface SpentAmount {
  amount: bigint
  scriptPublicKey: string
  covenantId: string | null
}

function estimatedSize(tx: TxBody): number {
  let size = 2 + 8 + 8 + 8 + 20 + 8 + 32 + 8 + tx.payload.length / 2
  for (const input of tx.inputs)
    size += 36 + 8 + input.signatureScript.length / 2 + 8 + (tx.version >= 1 ? 2 : 0)
  for (const output of tx.outputs) {
    size += 8 + 2 + 8 + (output.scriptPublicKey.length - 4) / 2 + (output.covenant === null ? 0 : 34)
  }
  return size
}

export function computeMass(tx: TxBody): number {
  if (isCoinbase(tx)) return 0
  let mass = estimatedSize(tx)
  for (const output of tx.outputs) mass += 10 * (output.scriptPublicKey.length / 2)
  for (const input of tx.inputs)
    mass += tx.version === 0 ? 1000 * input.sigOpCount : 100 * input.computeBudget
  return mass
}

export function transientMass(tx: TxBody): number {
  return isCoinbase(tx) ? 0 : 4 * estimatedSize(tx)
}

/** How many storage units an output takes: one for every started 100 bytes of its database row. */
function plurality(scriptPublicKey: string, hasCovenant: boolean): bigint {
  const bytes = 63 + (scriptPublicKey.length - 4) / 2 + (hasCovenant ? 32 : 0)
  return BigInt(Math.ceil(bytes / 100))
}

/** KIP-9: the cost of creating many small outputs; undefined if an output of zero makes it incomputable. */
export function storageMass(tx: TxBody, spent: readonly SpentAmount[]): bigint | undefined {
  if (isCoinbase(tx)) return 0n
  const outs = tx.outputs.map((output) => ({
    amount: output.value,
    units: plurality(output.scriptPublicKey, output.covenant !== null),
  }))
  const ins = spent.map((entry) => ({
    amount: entry.amount,
    units: plurality(entry.scriptPublicKey, entry.covenantId !== null),
  }))
  if (outs.some((cell) => cell.amount === 0n) || ins.some((cell) => cell.amount === 0n)) return undefined
  const harmonic = (cells: typeof outs) =>
    cells.reduce((sum, cell) => sum + (cell.units * cell.units * STORAGE_MASS_PARAMETER) / cell.amount, 0n)
  const count = (cells: typeof outs) => cells.reduce((sum, cell) => sum + cell.units, 0n)
  const outCost = harmonic(outs)
  const outCount = count(outs)
  const inCount = count(ins)
  const relaxed = outCount === 1n || inCount === 1n || (inCount === 2n && outCount === 2n)
  const total = ins.reduce((sum, cell) => sum + cell.amount, 0n)
  const inCost =
    relaxed || total === 0n ? harmonic(ins) : inCount * (STORAGE_MASS_PARAMETER / (total / inCount))
  return outCost > inCost ? outCost - inCost : 0n
}

/** The mass on which fee rates are based: every dimension scaled to its share of a block. */
export function normalizedMass(tx: TxBody, storage: bigint): bigint {
  const compute = BigInt(computeMass(tx))
  const transient = BigInt(transientMass(tx)) / 2n
  return [compute, transient, storage].reduce((max, mass) => (mass > max ? mass : max), 1n)
}
