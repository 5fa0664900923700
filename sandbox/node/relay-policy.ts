/**
 * What a node requires for relaying beyond the consensus rules: standard scripts, the fee floor, the mass of a block.
 */
import { classify } from './consensus/address.ts'
import { fromHex } from './consensus/bytes.ts'
import { BLOCK_MASS_LIMIT, MINIMUM_FEERATE, transientMass } from './consensus/mass.ts'
import type { Tx, UtxoEntry } from './consensus/model.ts'
import { TxRefusal } from './consensus/validate.ts'
import { parseScript } from './script/push.ts'

const MAX_P2SH_SIGOPS = 15
const SIGNATURE_CHECKS = new Set([0xab, 0xac, 0xad])
const MULTISIG_CHECKS = new Set([0xa9, 0xae])

export const tooHeavy = (kind: string, mass: bigint, limit: bigint) =>
  new TxRefusal(`transaction ${kind} mass of ${mass} is larger than max allowed size of ${limit}`)

export function checkLimits(tx: Tx): void {
  const { compute, transient } = BLOCK_MASS_LIMIT
  if (BigInt(tx.computeMass) > compute) throw tooHeavy('compute', BigInt(tx.computeMass), compute)
  const mass = BigInt(transientMass(tx))
  if (mass > transient) throw tooHeavy('transient (storage)', mass, transient)
}

const notStandard = (tx: Tx, text: string) => new TxRefusal(`transaction ${tx.id} is not standard: ${text}`)

export function checkOutputsStandard(tx: Tx): void {
  tx.outputs.forEach(({ scriptPublicKey }, i) => {
    if (!scriptPublicKey.startsWith('0000')) {
      throw notStandard(
        tx,
        `transaction output #${i}: the version of the scriptPublicKey is higher than the known version`,
      )
    }
    if (classify(scriptPublicKey) === 'NonStandard') {
      throw notStandard(tx, `transaction output #${i}: non-standard script form`)
    }
  })
}

export function checkInputsStandard(tx: Tx, spent: readonly UtxoEntry[]): void {
  spent.forEach(({ scriptPublicKey }, i) => {
    const kind = classify(scriptPublicKey)
    if (kind === 'NonStandard') throw notStandard(tx, `transaction input ${i}: non-standard script form`)
    if (kind !== 'ScriptHash') return
    const count = countSigOps(tx.inputs[i]?.signatureScript ?? '')
    if (count <= MAX_P2SH_SIGOPS) return
    throw notStandard(
      tx,
      `transaction input #${i} has ${count} signature operations which is more than the allowed max amount of ${MAX_P2SH_SIGOPS}`,
    )
  })
}

export function checkFee(tx: Tx, fee: bigint): void {
  const compute = BigInt(tx.computeMass)
  const transient = BigInt(transientMass(tx)) / 2n
  const required = MINIMUM_FEERATE * (compute > transient ? compute : transient)
  if (fee >= required) return
  const under = `transaction has ${fee} fees which is under the required amount of ${required}`
  const what =
    compute >= transient
      ? `compute mass ${compute}`
      : `normalized transient mass ${transient} (proportional to transaction byte size)`
  throw notStandard(tx, `${under} for ${what}`)
}

/** Counts the signature operators in the script that a pay-to-script-hash input reveals. */
function countSigOps(signatureScript: string): number {
  const revealed = parseScript(fromHex(signatureScript))?.at(-1)?.data
  const instructions = revealed === undefined ? undefined : parseScript(revealed)
  let count = 0
  instructions?.forEach(({ opcode }, i) => {
    if (SIGNATURE_CHECKS.has(opcode)) count += 1
    if (!MULTISIG_CHECKS.has(opcode)) return
    const keys = instructions[i - 1]?.opcode ?? 0
    count += keys >= 0x51 && keys <= 0x60 ? keys - 0x50 : 20
  })
  return count
}
