/** The operators of the script language, by opcode. */
import { blake3 } from '@noble/hashes/blake3.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { keyedBlake2b, plainBlake2b } from '../consensus/hashing.ts'
import { type Frame, type Operator, pop, popIndex, popNumber, substring } from './frame.ts'
import { introspection } from './introspection.ts'
import { signatures } from './signatures.ts'
import { fromBoolean, fromNumber, isTrue, ScriptError, sameBytes } from './stack.ts'

/** The item `depth` below the top, left in place. */
function peek(frame: Frame, depth: number): Uint8Array {
  const item = frame.stack.at(-1 - depth)
  if (item === undefined) {
    throw new ScriptError(`opcode requires at least ${depth + 1} but stack has only ${frame.stack.length}`)
  }
  return item
}

function take(frame: Frame, depth: number): Uint8Array {
  peek(frame, depth)
  const [item] = frame.stack.splice(frame.stack.length - 1 - depth, 1)
  return item ?? new Uint8Array()
}

const verify = (ok: boolean) => {
  if (!ok) throw new ScriptError('script ran, but verification failed')
}

const unary =
  (compute: (a: bigint) => bigint): Operator =>
  (f) =>
    f.push(fromNumber(compute(popNumber(f))))
const binary =
  (compute: (a: bigint, b: bigint) => bigint): Operator =>
  (f) => {
    const b = popNumber(f)
    f.push(fromNumber(compute(popNumber(f), b)))
  }
const compare = (test: (a: bigint, b: bigint) => boolean): Operator =>
  binary((a, b) => (test(a, b) ? 1n : 0n))
const bitwise =
  (compute: (a: number, b: number) => number): Operator =>
  (f) => {
    const b = pop(f)
    const a = pop(f)
    if (a.length !== b.length)
      throw new ScriptError('encountered invalid state while running script: operand length mismatch')
    f.push(a.map((byte, i) => compute(byte, b[i] ?? 0)))
  }
const nonZero = (divisor: bigint) => {
  if (divisor === 0n)
    throw new ScriptError('encountered invalid state while running script: division by zero')
  return divisor
}

function open(f: Frame, running: boolean, wanted: boolean): void {
  if (!running) f.conditions.push('dead')
  else f.conditions.push(isTrue(pop(f)) === wanted ? 'run' : 'skip')
}

const OPERATORS: Record<number, Operator> = {
  97: () => {},
  99: (f, running) => open(f, running, true),
  100: (f, running) => open(f, running, false),
  103: (f) => {
    const top = f.conditions.pop()
    if (top === undefined)
      throw new ScriptError('encountered invalid state while running script: condition stack empty')
    f.conditions.push(top === 'dead' ? 'dead' : top === 'run' ? 'skip' : 'run')
  },
  104: (f) => {
    if (f.conditions.pop() === undefined) {
      throw new ScriptError('encountered invalid state while running script: condition stack empty')
    }
  },
  105: (f) => verify(isTrue(pop(f))),
  106: () => {
    throw new ScriptError('script returned early')
  },
  107: (f) => void f.alt.push(pop(f)),
  108: (f) => {
    const item = f.alt.pop()
    if (item === undefined) throw new ScriptError('attempt to read from empty stack')
    f.push(item)
  },
  109: (f) => {
    pop(f)
    pop(f)
  },
  110: (f) => {
    const [a, b] = [peek(f, 1), peek(f, 0)]
    f.push(a)
    f.push(b)
  },
  111: (f) => {
    const items = [peek(f, 2), peek(f, 1), peek(f, 0)]
    for (const item of items) f.push(item)
  },
  112: (f) => {
    const [a, b] = [peek(f, 3), peek(f, 2)]
    f.push(a)
    f.push(b)
  },
  113: (f) => {
    const [a, b] = [take(f, 5), take(f, 4)]
    f.push(a)
    f.push(b)
  },
  114: (f) => {
    const [a, b] = [take(f, 3), take(f, 2)]
    f.push(a)
    f.push(b)
  },
  115: (f) => {
    if (isTrue(peek(f, 0))) f.push(peek(f, 0))
  },
  116: (f) => f.push(fromNumber(BigInt(f.stack.length))),
  117: (f) => void pop(f),
  118: (f) => f.push(peek(f, 0)),
  119: (f) => void take(f, 1),
  120: (f) => f.push(peek(f, 1)),
  121: (f) => f.push(peek(f, popIndex(f))),
  122: (f) => f.push(take(f, popIndex(f))),
  123: (f) => f.push(take(f, 2)),
  124: (f) => f.push(take(f, 1)),
  125: (f) => {
    const top = pop(f)
    const second = pop(f)
    for (const item of [top, second, top]) f.push(item)
  },
  126: (f) => {
    const b = pop(f)
    f.push(Uint8Array.from([...pop(f), ...b]))
  },
  127: (f) => {
    const end = popIndex(f)
    const start = popIndex(f)
    f.push(substring(pop(f), start, end))
  },
  130: (f) => f.push(fromNumber(BigInt(peek(f, 0).length))),
  131: (f) => f.push(pop(f).map((byte) => ~byte & 0xff)),
  132: bitwise((a, b) => a & b),
  133: bitwise((a, b) => a | b),
  134: bitwise((a, b) => a ^ b),
  135: (f) => f.push(fromBoolean(sameBytes(pop(f), pop(f)))),
  136: (f) => verify(sameBytes(pop(f), pop(f))),
  139: unary((a) => a + 1n),
  140: unary((a) => a - 1n),
  143: unary((a) => -a),
  144: unary((a) => (a < 0n ? -a : a)),
  145: unary((a) => (a === 0n ? 1n : 0n)),
  146: unary((a) => (a === 0n ? 0n : 1n)),
  147: binary((a, b) => a + b),
  148: binary((a, b) => a - b),
  149: binary((a, b) => a * b),
  150: binary((a, b) => a / nonZero(b)),
  151: binary((a, b) => a % nonZero(b)),
  154: compare((a, b) => a !== 0n && b !== 0n),
  155: compare((a, b) => a !== 0n || b !== 0n),
  156: compare((a, b) => a === b),
  157: (f) => {
    const b = popNumber(f)
    verify(popNumber(f) === b)
  },
  158: compare((a, b) => a !== b),
  159: compare((a, b) => a < b),
  160: compare((a, b) => a > b),
  161: compare((a, b) => a <= b),
  162: compare((a, b) => a >= b),
  163: binary((a, b) => (a < b ? a : b)),
  164: binary((a, b) => (a > b ? a : b)),
  165: (f) => {
    const max = popNumber(f)
    const min = popNumber(f)
    const value = popNumber(f)
    f.push(fromBoolean(value >= min && value < max))
  },
  167: (f) => {
    const key = pop(f)
    f.push(keyedBlake2b(key, pop(f)))
  },
  168: (f) => f.push(sha256(pop(f))),
  170: (f) => f.push(plainBlake2b(pop(f))),
  205: (f) => {
    const size = popIndex(f)
    if (size > 8)
      throw new ScriptError(`push encoding is not minimal: NUM2BIN target size ${size} exceeds 8 bytes`)
    f.push(fromNumber(popNumber(f), size))
  },
  206: (f) => f.push(fromNumber(popNumber(f))),
  217: (f) => f.push(blake3(pop(f))),
  218: (f) => {
    const key = pop(f)
    f.push(blake3(pop(f), { key }))
  },
}

export function runOperator(frame: Frame, opcode: number, running: boolean): void {
  const operator = OPERATORS[opcode] ?? signatures[opcode] ?? introspection[opcode]
  if (operator === undefined) {
    throw new ScriptError(`attempt to execute invalid opcode OpUnknown${opcode}(0x${opcode.toString(16)})`)
  }
  operator(frame, running)
}
