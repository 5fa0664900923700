/** Consensus rules for a transaction. A refusal carries the node's original text. */

import { verifyScripts } from '../script/engine.ts'
import { ScriptError } from '../script/stack.ts'
import { genesisCovenantId, transactionHash, transactionId } from './hashing.ts'
import { computeMass, storageMass } from './mass.ts'
import {
  COINBASE_SUBNETWORK,
  isCoinbase,
  MAX_SOMPI,
  NATIVE_SUBNETWORK,
  outpointKey,
  type Tx,
  type TxBody,
  type UtxoEntry,
} from './model.ts'

export class TxRefusal extends Error {}

const MAX_INPUTS = 1000
const MAX_OUTPUTS = 1000
const MAX_SIGNATURE_SCRIPT = 250_000
const LOCK_TIME_THRESHOLD = 500_000_000_000n
const SEQUENCE_DISABLED = 1n << 63n
const FINAL_SEQUENCE = 0xffffffffffffffffn
/** The DAA score of an output that is only in the mempool. */
export const UNACCEPTED_DAA_SCORE = 0xffffffffffffffffn

const refuse = (text: string): never => {
  throw new TxRefusal(text)
}

export function sealTransaction(body: TxBody): Tx {
  return { ...body, id: transactionId(body), hash: transactionHash(body), computeMass: computeMass(body) }
}

export function checkInIsolation(tx: TxBody): void {
  if (tx.inputs.length === 0) refuse('transaction has no inputs')
  if (isCoinbase(tx)) refuse(`coinbase transaction has ${tx.inputs.length} inputs while none are expected`)
  if (tx.inputs.length > MAX_INPUTS)
    refuse(`transaction has ${tx.inputs.length} inputs where the max allowed is ${MAX_INPUTS}`)
  if (tx.outputs.length > MAX_OUTPUTS) {
    refuse(`transaction has ${tx.outputs.length} outputs where the max allowed is ${MAX_OUTPUTS}`)
  }
  tx.inputs.forEach((input, i) => {
    if (input.signatureScript.length / 2 > MAX_SIGNATURE_SCRIPT) {
      refuse(`transaction input #${i} signature script is above ${MAX_SIGNATURE_SCRIPT} bytes`)
    }
  })
  let total = 0n
  tx.outputs.forEach((output, i) => {
    if (output.value === 0n) refuse(`transaction output ${i} has zero value`)
    if (output.value > MAX_SOMPI)
      refuse(`transaction output ${i} value is higher than the max allowed of ${MAX_SOMPI}`)
    total += output.value
    if (total > MAX_SOMPI)
      refuse(`transaction total outputs value is higher than the max allowed of ${MAX_SOMPI}`)
  })
  if (new Set(tx.inputs.map((input) => outpointKey(input.previousOutpoint))).size !== tx.inputs.length) {
    refuse('transaction has duplicate inputs')
  }
  checkLane(tx)
  if (tx.version > 1) refuse(`transaction version ${tx.version} is unknown`)
  tx.outputs.forEach((output, i) => {
    if (tx.version === 0 && output.covenant !== null) {
      refuse(`transaction output #${i} has covenant field but transaction version is 0`)
    }
  })
}

/** User lanes (four bytes of name, then zeros) and gas require version 1. */
function checkLane(tx: TxBody): void {
  const isSystem = tx.subnetworkId.endsWith('00'.repeat(19))
  if (tx.gas > 0n && tx.version < 1) {
    refuse('transaction has non-zero gas: gas is only allowed for Toccata-or-newer tx versions')
  }
  if (tx.gas > 0n && isSystem) {
    refuse('transaction has non-zero gas: native / system subnetworks must use zero gas')
  }
  if (tx.subnetworkId === NATIVE_SUBNETWORK || tx.subnetworkId === COINBASE_SUBNETWORK) return
  if (isSystem || tx.version < 1 || !tx.subnetworkId.endsWith('00'.repeat(16))) {
    refuse(`transaction subnetwork id ${tx.subnetworkId} is neither native nor coinbase`)
  }
}

interface PointOfView {
  daaScore: bigint
  pastMedianTime: number
  coinbaseMaturity: number
}

/**
 * Returns the fee and the storage mass of a valid transaction. `checkFee` may refuse, for example a replacement that
 * pays too little.
 */
export function checkInContext(
  tx: Tx,
  spent: readonly UtxoEntry[],
  view: PointOfView,
  options: { skipScripts: boolean; checkFee?: (fee: bigint, storage: bigint) => void },
): { fee: bigint; storageMass: bigint } {
  checkLockTime(tx, view)
  const storage = storageMass(tx, spent)
  if (storage === undefined) return refuse('contextual mass (including storage mass) is incomputable')
  checkMaturity(tx, spent, view)
  const total = spent.reduce((sum, entry) => sum + entry.amount, 0n)
  if (total > MAX_SOMPI) {
    refuse(`transaction total inputs spending amount is higher than the max allowed of ${MAX_SOMPI}`)
  }
  const paid = tx.outputs.reduce((sum, output) => sum + output.value, 0n)
  if (paid > total) refuse(`transaction tries to spend ${paid} while its total inputs amount is ${total}`)
  checkSequence(tx, spent, view)
  options.checkFee?.(total - paid, storage)
  checkCovenants(tx, spent)
  if (!options.skipScripts) checkScripts(tx, spent)
  return { fee: total - paid, storageMass: storage }
}

function checkLockTime(tx: Tx, view: PointOfView): void {
  if (tx.lockTime === 0n) return
  const now = tx.lockTime < LOCK_TIME_THRESHOLD ? view.daaScore : BigInt(view.pastMedianTime)
  if (tx.lockTime < now) return
  const open = tx.inputs.findIndex((input) => input.sequence !== FINAL_SEQUENCE)
  if (open >= 0) refuse(`transaction input #${open} is not finalized`)
}

function checkMaturity(tx: Tx, spent: readonly UtxoEntry[], view: PointOfView): void {
  spent.forEach((entry, i) => {
    if (!entry.isCoinbase || entry.blockDaaScore + BigInt(view.coinbaseMaturity) <= view.daaScore) return
    const outpoint = tx.inputs[i]?.previousOutpoint
    refuse(
      'one of the transaction inputs spends an immature UTXO: ' +
        `transaction input #${i} tried to spend coinbase outpoint (${outpoint?.transactionId}, ${outpoint?.index}) with daa score of ${entry.blockDaaScore}\n` +
        `    while the merging block daa score is ${view.daaScore} and the coinbase maturity period of ${view.coinbaseMaturity} hasn't passed yet`,
    )
  })
}

function checkSequence(tx: Tx, spent: readonly UtxoEntry[], view: PointOfView): void {
  tx.inputs.forEach((input, i) => {
    if ((input.sequence & SEQUENCE_DISABLED) !== 0n) return
    const relative = input.sequence & 0xffffffffn
    // The score of an output in the mempool is the highest u64, which is -1 as a signed number.
    const score = spent[i]?.blockDaaScore ?? 0n
    const since = score === UNACCEPTED_DAA_SCORE ? -1n : score
    const locked = since + relative - 1n >= view.daaScore
    if (locked) refuse('one of the transaction sequence locks conditions was not met')
  })
}

/**
 * Every covenant output either continues the covenant of its authorising input or has the id that the genesis formula
 * gives.
 */
function checkCovenants(tx: Tx, spent: readonly UtxoEntry[]): void {
  const born = new Map<string, { index: number; output: Tx['outputs'][number] }[]>()
  tx.outputs.forEach((output, index) => {
    if (output.covenant === null) return
    const { authorizingInput, covenantId } = output.covenant
    if (authorizingInput >= tx.inputs.length) {
      refuse(
        `covenants error: output #${index} covenant authorizing input index ${authorizingInput} is out of bounds`,
      )
    }
    if (spent[authorizingInput]?.covenantId === covenantId) return
    const group = `${authorizingInput}:${covenantId}`
    born.set(group, [...(born.get(group) ?? []), { index, output }])
  })
  for (const [group, outputs] of born) {
    const [authorizingInput = '', covenantId = ''] = group.split(':')
    const outpoint = tx.inputs[Number(authorizingInput)]?.previousOutpoint
    if (outpoint === undefined || genesisCovenantId(outpoint, outputs) === covenantId) continue
    refuse(
      `covenants error: input #${authorizingInput} and outputs with covenant id ${covenantId} do not correspond to the expected genesis hashing`,
    )
  }
}

function checkScripts(tx: Tx, spent: readonly UtxoEntry[]): void {
  try {
    verifyScripts(tx, spent)
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error
    const empty = tx.inputs.some((input) => input.signatureScript === '')
    const head = empty
      ? 'failed to verify empty signature script. Inner error'
      : 'failed to verify the signature script'
    refuse(`${head}: ${error.message}`)
  }
}
