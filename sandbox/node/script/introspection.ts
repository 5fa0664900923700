/** Operators that read the transaction itself and its covenants (KIP-10, 17 and 20). */
import { fromHex, toHex } from '../consensus/bytes.ts'
import { type TxInput, type TxOutput, type UtxoEntry, ZERO_HASH } from '../consensus/model.ts'
import { type Frame, type Operator, pop, popIndex, substring } from './frame.ts'
import { fromNumber, ScriptError } from './stack.ts'

const number = (frame: Frame, value: number | bigint) => frame.push(fromNumber(BigInt(value)))
const outOfBounds = (kind: string, index: number, count: number) =>
  new ScriptError(`transaction ${kind} ${index} is out of bounds, should be non-negative below ${count}`)

function input(f: Frame): { input: TxInput; utxo: UtxoEntry } {
  const index = popIndex(f)
  const found = f.tx.inputs[index]
  const utxo = f.entries[index]
  if (found === undefined || utxo === undefined) throw outOfBounds('input', index, f.tx.inputs.length)
  return { input: found, utxo }
}

function output(f: Frame): TxOutput {
  const index = popIndex(f)
  const found = f.tx.outputs[index]
  if (found === undefined) throw outOfBounds('output', index, f.tx.outputs.length)
  return found
}

/** Pops `start end`, then pushes that slice of the bytes that `read` returns for the items below. */
const slicing =
  (read: (frame: Frame) => Uint8Array): Operator =>
  (f) => {
    const end = popIndex(f)
    const start = popIndex(f)
    f.push(substring(read(f), start, end))
  }

function indexesOf(f: Frame, covenantId: string, side: 'inputs' | 'outputs'): number[] {
  const ids =
    side === 'inputs'
      ? f.entries.map((entry) => entry.covenantId)
      : f.tx.outputs.map((out) => out.covenant?.covenantId ?? null)
  return ids.flatMap((id, index) => (id === covenantId ? [index] : []))
}

const authorized = (f: Frame, inputIndex: number) =>
  f.tx.outputs.flatMap((out, index) => (out.covenant?.authorizingInput === inputIndex ? [index] : []))

function nth(indexes: number[], k: number, text: string): number {
  const found = indexes[k]
  if (found === undefined) throw new ScriptError(`covenants error: ${text}`)
  return found
}

export const introspection: Record<number, Operator> = {
  178: (f) => number(f, f.tx.version),
  179: (f) => number(f, f.tx.inputs.length),
  180: (f) => number(f, f.tx.outputs.length),
  181: (f) => number(f, f.tx.lockTime),
  182: (f) => f.push(fromHex(f.tx.subnetworkId)),
  183: (f) => number(f, f.tx.gas),
  184: slicing((f) => fromHex(f.tx.payload)),
  185: (f) => number(f, f.index),
  186: (f) => f.push(fromHex(input(f).input.previousOutpoint.transactionId)),
  187: (f) => number(f, input(f).input.previousOutpoint.index),
  188: slicing((f) => fromHex(input(f).input.signatureScript)),
  189: (f) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(input(f).input.sequence)
    f.push(bytes)
  },
  190: (f) => number(f, input(f).utxo.amount),
  191: (f) => f.push(fromHex(input(f).utxo.scriptPublicKey)),
  192: (f) => number(f, input(f).utxo.blockDaaScore),
  193: (f) => number(f, input(f).utxo.isCoinbase ? 1 : 0),
  194: (f) => number(f, output(f).value),
  195: (f) => f.push(fromHex(output(f).scriptPublicKey)),
  196: (f) => number(f, f.tx.payload.length / 2),
  197: (f) => number(f, input(f).utxo.scriptPublicKey.length / 2),
  198: slicing((f) => fromHex(input(f).utxo.scriptPublicKey)),
  199: (f) => number(f, output(f).scriptPublicKey.length / 2),
  200: slicing((f) => fromHex(output(f).scriptPublicKey)),
  201: (f) => number(f, input(f).input.signatureScript.length / 2),
  203: (f) => number(f, authorized(f, popIndex(f)).length),
  204: (f) => {
    const k = popIndex(f)
    const index = popIndex(f)
    const outputs = authorized(f, index)
    const text = `${k} is not a valid covenant output index for input ${index} with ${outputs.length} authorized outputs`
    number(f, nth(outputs, k, text))
  },
  207: (f) => f.push(fromHex(input(f).utxo.covenantId ?? ZERO_HASH)),
  208: (f) => number(f, indexesOf(f, toHex(pop(f)), 'inputs').length),
  209: (f) => {
    const k = popIndex(f)
    const id = toHex(pop(f))
    number(f, nth(indexesOf(f, id, 'inputs'), k, `covenant id ${id} input ${k} is out of bounds`))
  },
  210: (f) => number(f, indexesOf(f, toHex(pop(f)), 'outputs').length),
  211: (f) => {
    const k = popIndex(f)
    const id = toHex(pop(f))
    number(f, nth(indexesOf(f, id, 'outputs'), k, `covenant id ${id} output ${k} is out of bounds`))
  },
  213: (f) => f.push(fromHex(output(f).covenant?.covenantId ?? ZERO_HASH)),
  214: (f) => number(f, output(f).covenant?.authorizingInput ?? -1),
}
