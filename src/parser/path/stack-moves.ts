/** Instructions that only move values on the stack. */
import { numberOf, numberValue, truthOf, type Value } from './values.ts'

/** How many of the topmost values are taken, and which of them are put back, counted from the lowest. */
const MOVES: Record<number, readonly [taken: number, put: readonly number[]]> = {
  97: [0, []],
  109: [2, []],
  110: [2, [0, 1, 0, 1]],
  111: [3, [0, 1, 2, 0, 1, 2]],
  112: [4, [0, 1, 2, 3, 0, 1]],
  113: [6, [2, 3, 4, 5, 0, 1]],
  114: [4, [2, 3, 0, 1]],
  117: [1, []],
  118: [1, [0, 0]],
  119: [2, [1]],
  120: [2, [0, 1, 0]],
  123: [3, [1, 2, 0]],
  124: [2, [1, 0]],
  125: [2, [1, 0, 1]],
}
const TO_ALTERNATIVE = 0x6b
const FROM_ALTERNATIVE = 0x6c
const IF_DUP = 0x73
const DEPTH = 0x74
const PICK = 0x79
const ROLL = 0x7a

/** Returns undefined if the instruction does something else, and false if its effect is unknown. */
export function moveValues(op: number, stack: Value[], alternative: Value[]): boolean | undefined {
  const move = MOVES[op]
  if (move !== undefined) {
    const [taken, put] = move
    if (taken > stack.length) return false
    const values = stack.splice(stack.length - taken)
    stack.push(...put.flatMap((place) => values[place] ?? []))
    return true
  }
  switch (op) {
    case TO_ALTERNATIVE:
      return pass(stack, alternative)
    case FROM_ALTERNATIVE:
      return pass(alternative, stack)
    case DEPTH:
      stack.push(numberValue(BigInt(stack.length)))
      return true
    case IF_DUP:
      return duplicateIfTrue(stack)
    case PICK:
    case ROLL:
      return fetch(op, stack)
    default:
      return undefined
  }
}

function pass(from: Value[], to: Value[]): boolean {
  const value = from.pop()
  if (value !== undefined) to.push(value)
  return value !== undefined
}

function duplicateIfTrue(stack: Value[]): boolean {
  const top = stack.at(-1)
  const truth = top && truthOf(top)
  if (top === undefined || truth === undefined) return false
  if (truth) stack.push(top)
  return true
}

function fetch(op: number, stack: Value[]): boolean {
  const top = stack.pop()
  const depth = top && numberOf(top)
  if (depth === undefined || depth < 0n || depth >= stack.length) return false
  const place = stack.length - 1 - Number(depth)
  const value = stack[place]
  if (op === ROLL) stack.splice(place, 1)
  if (value !== undefined) stack.push(value)
  return true
}
