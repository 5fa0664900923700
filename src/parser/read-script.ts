/**
 * Splits scripts into instructions. A script is data from strangers and may have 250,000 instructions, so nothing here
 * throws, whatever the bytes, and an instruction costs a few bytes of a table instead of an object.
 */
const MAX_DIRECT_PUSH = 0x4b
const PUSH_DATA_1 = 0x4c
const PUSH_DATA_2 = 0x4d
const PUSH_DATA_4 = 0x4e
const NEGATIVE_ONE = 0x4f

export class Script {
  /** The instruction codes, in order. */
  readonly ops: Uint8Array
  readonly #bytes: Uint8Array
  readonly #starts: Uint32Array
  readonly #ends: Uint32Array

  constructor(bytes: Uint8Array, ops: Uint8Array, starts: Uint32Array, ends: Uint32Array) {
    this.#bytes = bytes
    this.ops = ops
    this.#starts = starts
    this.#ends = ends
  }

  get length(): number {
    return this.ops.length
  }

  /** The code at a position, counted from the end if negative; undefined out of range. */
  op(at: number): number | undefined {
    return this.ops[at < 0 ? this.ops.length + at : at]
  }

  /** The bytes of a data push; undefined for every other instruction. */
  data(at: number): Uint8Array | undefined {
    const op = this.ops[at]
    if (op === undefined || op === 0 || op > PUSH_DATA_4) return undefined
    return this.#bytes.subarray(this.#starts[at], this.#ends[at])
  }

  /** What a push puts on the stack, including small numbers; undefined if the instruction is not a push. */
  pushed(at: number): Uint8Array | undefined {
    const op = this.ops[at]
    if (op === 0) return new Uint8Array(0)
    if (op === NEGATIVE_ONE) return Uint8Array.of(0x81)
    const number = this.smallNumber(at)
    return number === undefined ? this.data(at) : Uint8Array.of(number)
  }

  isPush(at: number): boolean {
    const op = this.ops[at]
    return op !== undefined && (op <= NEGATIVE_ONE || (op >= 0x51 && op <= 0x60))
  }

  /** 1 to 16 for the instructions that push a small number; undefined for all others. */
  smallNumber(at: number): number | undefined {
    const op = this.ops[at]
    return op === undefined || op < 0x51 || op > 0x60 ? undefined : op - 0x50
  }
}

/**
 * Undefined if the last push is cut short (then the bytes are not a script) or there are more than `maxInstructions`.
 */
export function readScript(bytes: Uint8Array, maxInstructions = bytes.length): Script | undefined {
  const most = Math.min(bytes.length, maxInstructions)
  const ops = new Uint8Array(most)
  const starts = new Uint32Array(most)
  const ends = new Uint32Array(most)
  let count = 0
  let at = 0
  while (at < bytes.length) {
    if (count === most) return undefined
    const op = bytes[at++] ?? 0
    let length = op <= MAX_DIRECT_PUSH ? op : 0
    if (op >= PUSH_DATA_1 && op <= PUSH_DATA_4) {
      const width = op === PUSH_DATA_1 ? 1 : op === PUSH_DATA_2 ? 2 : 4
      if (at + width > bytes.length) return undefined
      for (let i = width - 1; i >= 0; i--) length = length * 256 + (bytes[at + i] ?? 0)
      at += width
    }
    if (at + length > bytes.length) return undefined
    ops[count] = op
    starts[count] = at
    at += length
    ends[count++] = at
  }
  return new Script(bytes, ops.subarray(0, count), starts, ends)
}

/** The stack limit of a script. A longer list of pushes is not valid. */
const MAX_STACK = 244

/** The values of a script that only pushes; undefined if it does anything else. */
export function readPushes(bytes: Uint8Array): Uint8Array[] | undefined {
  const script = readScript(bytes, MAX_STACK)
  if (script === undefined) return undefined
  const pushes: Uint8Array[] = []
  for (let at = 0; at < script.length; at++) {
    const pushed = script.pushed(at)
    if (pushed === undefined) return undefined
    pushes.push(pushed)
  }
  return pushes
}
