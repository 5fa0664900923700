/** What a script reads of its own transaction, as far as branches of known programs depend on it. */
import { bytesOfHex, hexOfBytes } from '../../core/chain/hex.ts'
import type { SpentOutput, Transaction } from '../../core/chain/transaction.ts'
import { MAX_BYTES, numberOf, numberValue, UNKNOWN, type Value } from './values.ts'

/** Where the program runs. */
export interface PathPlace {
  readonly input: number
  readonly transaction: Pick<Transaction, 'inputs' | 'outputs'>
  /** By input; null or missing if unknown. */
  readonly spent: readonly (SpentOutput | null)[]
  /** Inputs grouped by the covenant whose outputs they spend; undefined unless all spent outputs are known. */
  readonly covenants: ReadonlyMap<string, readonly number[]> | undefined
}

export function covenantInputs(
  { inputs }: Pick<Transaction, 'inputs'>,
  spent: readonly (SpentOutput | null)[],
): PathPlace['covenants'] {
  const found = new Map<string, number[]>()
  for (const index of inputs.keys()) {
    const output = spent[index]
    if (!output) return undefined
    if (output.covenantId === null) continue
    const others = found.get(output.covenantId)
    if (others === undefined) found.set(output.covenantId, [index])
    else others.push(index)
  }
  return found
}

type Read = (values: readonly Value[], place: PathPlace) => Value

const READS = new Map<number, readonly [takes: number, read: Read]>([
  [0xb3, [0, (_, { transaction }) => number(transaction.inputs.length)]],
  [0xb4, [0, (_, { transaction }) => number(transaction.outputs.length)]],
  [0xb9, [0, (_, { input }) => number(input)]],
  [0xbc, [3, signatureScriptPart]],
  [0xbe, [1, ([index], { spent }) => amount(at(spent, index)?.amount)]],
  [0xc2, [1, ([index], { transaction }) => amount(at(transaction.outputs, index)?.value)]],
  [0xc9, [1, ([index], { transaction }) => number(scriptLength(at(transaction.inputs, index)))]],
  [0xcf, [1, covenantOf]],
  [0xd0, [1, ([id], place) => number(inputsOf(id, place)?.length)]],
  [0xd1, [2, ([id, place], all) => number(at(inputsOf(id, all) ?? [], place))]],
])

/**
 * Returns undefined if the instruction reads nothing that is known here, and false if the stack holds too few values.
 */
export function readTransactionPart(op: number, stack: Value[], place: PathPlace): boolean | undefined {
  const found = READS.get(op)
  if (found === undefined) return undefined
  const [takes, read] = found
  if (takes > stack.length) return false
  stack.push(read(stack.splice(stack.length - takes), place))
  return true
}

function number(count: number | undefined): Value {
  return count === undefined ? UNKNOWN : numberValue(BigInt(count))
}

function amount(sompi: bigint | null | undefined): Value {
  return sompi === null || sompi === undefined ? UNKNOWN : numberValue(sompi)
}

function at<T>(list: readonly T[], index: Value | undefined): T | undefined {
  const place = index && numberOf(index)
  return place === undefined || place < 0n || place >= list.length ? undefined : list[Number(place)]
}

function scriptLength(input: { readonly signatureScript: string } | undefined): number | undefined {
  return input && input.signatureScript.length / 2
}

function signatureScriptPart([index, start, end]: readonly Value[], { transaction }: PathPlace): Value {
  const script = at(transaction.inputs, index)?.signatureScript
  const [from, to] = [start && numberOf(start), end && numberOf(end)]
  if (script === undefined || from === undefined || to === undefined) return UNKNOWN
  if (from < 0n || to < from || to > script.length / 2) return UNKNOWN
  if (to - from > MAX_BYTES) return UNKNOWN
  return { bytes: bytesOfHex(script.slice(Number(from) * 2, Number(to) * 2)) }
}

/** The engine reads zeros for an output without a covenant; that case is treated as unknown here. */
function covenantOf([index]: readonly Value[], { spent }: PathPlace): Value {
  const id = at(spent, index)?.covenantId
  return id ? { bytes: bytesOfHex(id) } : UNKNOWN
}

function inputsOf(id: Value | undefined, { covenants }: PathPlace): readonly number[] | undefined {
  if (covenants === undefined || id?.bytes?.length !== 32) return undefined
  return covenants.get(hexOfBytes(id.bytes)) ?? []
}
