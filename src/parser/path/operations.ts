/**
 * Instructions that take values and return at most one. Those that branches usually depend on are computed; for all
 * others only the number of values is known.
 */
import {
  MAX_BYTES,
  MAX_CHECKS,
  numberOf,
  numberValue,
  truthOf,
  truthValue,
  UNKNOWN,
  type Value,
} from './values.ts'

type Compute = (values: readonly Value[]) => Value
interface Operation {
  readonly takes: number
  readonly gives: 0 | 1
  readonly compute?: Compute
}

const numbers =
  (compute: (...numbers: bigint[]) => bigint | boolean): Compute =>
  (values) => {
    const known = values.map(numberOf)
    if (!known.every((number) => number !== undefined)) return UNKNOWN
    const result = compute(...known)
    return typeof result === 'boolean' ? truthValue(result) : numberValue(result)
  }
const binary = (compute: (a: bigint, b: bigint) => bigint | boolean): Operation => ({
  takes: 2,
  gives: 1,
  compute: numbers((a = 0n, b = 0n) => compute(a, b)),
})
const unary = (compute: (a: bigint) => bigint | boolean): Operation => ({
  takes: 1,
  gives: 1,
  compute: numbers((a = 0n) => compute(a)),
})
const opaque = (takes: number, gives: 0 | 1 = 1): Operation => ({ takes, gives })

const OPERATIONS = new Map<number, Operation>([
  [0x7e, { takes: 2, gives: 1, compute: concatenated }],
  [0x7f, { takes: 3, gives: 1, compute: part }],
  [0x83, opaque(1)],
  ...each([0x84, 0x85, 0x86], opaque(2)),
  [0x87, { takes: 2, gives: 1, compute: equal }],
  [0x88, opaque(2, 0)],
  [0x8b, unary((a) => a + 1n)],
  [0x8c, unary((a) => a - 1n)],
  [0x8f, unary((a) => -a)],
  [0x90, unary((a) => (a < 0n ? -a : a))],
  [0x91, unary((a) => a === 0n)],
  [0x92, unary((a) => a !== 0n)],
  [0x93, binary((a, b) => a + b)],
  [0x94, binary((a, b) => a - b)],
  [0x95, binary((a, b) => a * b)],
  // A script that divides by zero is not valid, so the result does not matter.
  [0x96, binary((a, b) => (b === 0n ? 0n : a / b))],
  [0x97, binary((a, b) => (b === 0n ? 0n : a % b))],
  [0x9a, { takes: 2, gives: 1, compute: both }],
  [0x9b, binary((a, b) => a !== 0n || b !== 0n)],
  [0x9c, binary((a, b) => a === b)],
  [0x9d, opaque(2, 0)],
  [0x9e, binary((a, b) => a !== b)],
  [0x9f, binary((a, b) => a < b)],
  [0xa0, binary((a, b) => a > b)],
  [0xa1, binary((a, b) => a <= b)],
  [0xa2, binary((a, b) => a >= b)],
  [0xa3, binary((a, b) => (a < b ? a : b))],
  [0xa4, binary((a, b) => (a > b ? a : b))],
  [0xa5, { takes: 3, gives: 1, compute: numbers((a = 0n, low = 0n, high = 0n) => a >= low && a < high) }],
  // Hashes.
  ...each([0xa8, 0xaa, 0xd9], opaque(1)),
  ...each([0xa7, 0xda], opaque(2)),
  // Lock time and sequence.
  ...each([0xb0, 0xb1], opaque(1, 0)),
  // What a script reads of its transaction, except for the parts in transaction-reads.ts.
  ...each([0xb2, 0xb5, 0xb6, 0xb7, 0xc4], opaque(0)),
  ...each([0xba, 0xbb, 0xbd, 0xbf, 0xc0, 0xc1, 0xc3, 0xc5, 0xc7], opaque(1)),
  ...each([0xcb, 0xd2, 0xd4, 0xd5, 0xd6], opaque(1)),
  ...each([0xb8, 0xcc, 0xd3], opaque(2)),
  ...each([0xc6, 0xc8], opaque(3)),
  [0xcd, { takes: 2, gives: 1, compute: numberOfLength }],
  [0xce, unary((a) => a)],
  // A signature over an arbitrary message says nothing about the transaction.
  ...each([0xd7, 0xd8], opaque(3)),
])
const SIZE = 0x82

/** Returns false if the instruction is unknown or the stack holds too few values. */
export function runOperation(op: number, stack: Value[]): boolean {
  if (op === SIZE) {
    const top = stack.at(-1)
    if (top === undefined) return false
    stack.push(top.bytes === undefined ? UNKNOWN : numberValue(BigInt(top.bytes.length)))
    return true
  }
  const operation = OPERATIONS.get(op)
  if (operation === undefined || operation.takes > stack.length) return false
  const { takes, gives, compute } = operation
  const values = stack.splice(stack.length - takes)
  if (gives === 1) stack.push(compute?.(values) ?? UNKNOWN)
  return true
}

function each(ops: readonly number[], operation: Operation): [number, Operation][] {
  return ops.map((op) => [op, operation])
}

function concatenated([a, b]: readonly Value[]): Value {
  if (a?.bytes === undefined || b?.bytes === undefined) return UNKNOWN
  if (a.bytes.length + b.bytes.length > MAX_BYTES) return UNKNOWN
  return { bytes: Buffer.concat([a.bytes, b.bytes]) }
}

function part([value, start, end]: readonly Value[]): Value {
  const [from, to] = [start && numberOf(start), end && numberOf(end)]
  if (value?.bytes === undefined || from === undefined || to === undefined) return UNKNOWN
  if (from < 0n || to < from || to > value.bytes.length) return UNKNOWN
  return { bytes: value.bytes.subarray(Number(from), Number(to)) }
}

/** The number in exactly that many bytes; the sign bit moves to the last byte. */
function numberOfLength([value = UNKNOWN, size = UNKNOWN]: readonly Value[]): Value {
  const [number, length] = [numberOf(value), numberOf(size)]
  if (number === undefined || length === undefined || length < 0n || length > 8n) return UNKNOWN
  const shortest = numberValue(number < 0n ? -number : number).bytes ?? new Uint8Array(0)
  if (shortest.length > length) return UNKNOWN
  const bytes = new Uint8Array(Number(length))
  bytes.set(shortest)
  if (number < 0n) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
  return { bytes }
}

function equal([a, b]: readonly Value[]): Value {
  if (a?.bytes === undefined || b?.bytes === undefined) return UNKNOWN
  if (a.bytes.length !== b.bytes.length) return truthValue(false)
  return a.bytes.length > MAX_BYTES ? UNKNOWN : truthValue(Buffer.compare(a.bytes, b.bytes) === 0)
}

/**
 * True only if both are true, so the checks that either one requires are required. Each is listed once: a value that is
 * joined with its own copy would otherwise double its list with every instruction.
 */
function both([a = UNKNOWN, b = UNKNOWN]: readonly Value[]): Value {
  const truths = [truthOf(a), truthOf(b)]
  if (truths.includes(false)) return truthValue(false)
  if (!truths.includes(undefined)) return truthValue(true)
  const checks = new Set([...(a.checks ?? []), ...(b.checks ?? [])])
  return checks.size > MAX_CHECKS ? UNKNOWN : { checks: [...checks] }
}
