/**
 * Runs the scripts of an input as consensus does: the signature script (pushes only), then the spent script, then for
 * pay-to-script-hash the revealed script. Errors carry the node's original texts. ZK precompiles, sequencing
 * commitments and a few rare operators are not implemented; a script that reaches one is refused.
 */

import { classify } from '../consensus/address.ts'
import { fromHex } from '../consensus/bytes.ts'
import type { TxBody, UtxoEntry } from '../consensus/model.ts'
import type { Frame } from './frame.ts'
import { runOperator } from './operators.ts'
import { type Instruction, parseScript } from './push.ts'
import { SigHasher } from './sighash.ts'
import { isTrue, ScriptError } from './stack.ts'

const MAX_STACK = 244
const UNITS_PER_SIGOP = 100_000
const UNITS_PER_BUDGET = 10_000
const FREE_UNITS = UNITS_PER_BUDGET - 1

/** Verifies every input; throws ScriptError with the node's text. */
export function verifyScripts(tx: TxBody, entries: readonly UtxoEntry[]): void {
  const sighash = new SigHasher(tx)
  tx.inputs.forEach((_, index) => void verifyInput(tx, entries, index, sighash))
}

function verifyInput(tx: TxBody, entries: readonly UtxoEntry[], index: number, sighash: SigHasher): void {
  const input = tx.inputs[index]
  const entry = entries[index]
  if (input === undefined || entry === undefined)
    throw new ScriptError('Engine is not running on a transaction input')
  if (Number.parseInt(entry.scriptPublicKey.slice(0, 4), 16) > 0) return
  const committed =
    tx.version === 0 ? input.sigOpCount * UNITS_PER_SIGOP : input.computeBudget * UNITS_PER_BUDGET
  const limit = committed + FREE_UNITS
  let used = 0
  const charge = (units: number) => {
    used += units
    if (used > limit) {
      const text = `script units exceeded the amount committed in the input: used=${used}, limit=${limit}`
      throw new ScriptError(text)
    }
  }
  const frame: Frame = {
    tx,
    entries,
    index,
    sighash,
    stack: [],
    alt: [],
    conditions: [],
    spendSigOps: (count) => charge(count * UNITS_PER_SIGOP),
    push(item) {
      charge(item.length)
      this.stack.push(item)
    },
  }
  const signatureScript = fromHex(input.signatureScript)
  const spentScript = fromHex(entry.scriptPublicKey.slice(4))
  if (signatureScript.length === 0 && spentScript.length === 0) throw new ScriptError(EVAL_FALSE)
  run(frame, signatureScript, true)
  const afterPushes = [...frame.stack]
  run(frame, spentScript, false)
  if (classify(entry.scriptPublicKey) === 'ScriptHash') {
    checkTop(frame)
    frame.stack = afterPushes
    const revealed = frame.stack.pop()
    if (revealed === undefined) throw new ScriptError('attempt to read from empty stack')
    run(frame, revealed, false)
  }
  if (frame.stack.length > 1)
    throw new ScriptError(`stack contains ${frame.stack.length - 1} unexpected items`)
  checkTop(frame)
}

const EVAL_FALSE = 'false stack entry at end of script execution'

function checkTop(frame: Frame): void {
  const top = frame.stack.pop()
  if (top === undefined) throw new ScriptError('attempt to read from empty stack')
  if (!isTrue(top)) throw new ScriptError(EVAL_FALSE)
}

function run(frame: Frame, script: Uint8Array, pushOnly: boolean): void {
  const instructions = parseScript(script)
  if (instructions === undefined)
    throw new ScriptError('opcode requires more bytes than script has remaining')
  for (const instruction of instructions) {
    if (pushOnly && instruction.data === undefined) throw new ScriptError('signature script is not push only')
    step(frame, instruction)
    if (frame.stack.length + frame.alt.length > MAX_STACK) {
      const size = frame.stack.length + frame.alt.length
      throw new ScriptError(`combined stack size ${size} > max allowed ${MAX_STACK}`)
    }
  }
  if (frame.conditions.length > 0) throw new ScriptError('end of script reached in conditional execution')
  frame.alt = []
}

function step(frame: Frame, { opcode, data }: Instruction): void {
  const running = frame.conditions.every((condition) => condition === 'run')
  if (data !== undefined) {
    if (running) frame.push(data)
    return
  }
  const conditional = opcode === 0x63 || opcode === 0x64 || opcode === 0x67 || opcode === 0x68
  if (running || conditional) runOperator(frame, opcode, running)
}
