/** The state of a running script and how operators take items from its stack. */
import type { TxBody, UtxoEntry } from '../consensus/model.ts'
import type { SigHasher } from './sighash.ts'
import { ScriptError, toNumber } from './stack.ts'

export interface Frame {
  readonly tx: TxBody
  readonly entries: readonly UtxoEntry[]
  readonly index: number
  readonly sighash: SigHasher
  stack: Uint8Array[]
  alt: Uint8Array[]
  /** One item per open IF: whether its branch runs or is skipped, or `dead` if an outer branch does not run. */
  conditions: ('run' | 'skip' | 'dead')[]
  spendSigOps(count: number): void
  push(item: Uint8Array): void
}

export type Operator = (frame: Frame, running: boolean) => void

export function pop(frame: Frame): Uint8Array {
  const item = frame.stack.pop()
  if (item === undefined) throw new ScriptError('opcode requires at least 1 but stack has only 0')
  return item
}

export const popNumber = (frame: Frame): bigint => toNumber(pop(frame))

export function popIndex(frame: Frame): number {
  const value = popNumber(frame)
  if (value < 0n || value > 0x7fffffffn) throw new ScriptError(`${value} cannot be used as an array index`)
  return Number(value)
}

export function substring(data: Uint8Array, start: number, end: number): Uint8Array {
  if (end < start)
    throw new ScriptError(`${start}..${end} is not a valid range, ${end} must be greater than ${start}`)
  if (end > data.length) {
    throw new ScriptError(`substring [${start}:${end}] is out of bounds for string of length ${data.length}`)
  }
  return data.slice(start, end)
}
