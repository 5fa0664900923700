/** Scripts as instructions. A script is data from strangers: nothing here throws, whatever the bytes. */
export interface Instruction {
  readonly op: number
  /** The pushed bytes of a data push; undefined for every other instruction. */
  readonly data: Uint8Array | undefined
}

const MAX_DIRECT_PUSH = 0x4b
const PUSH_DATA_1 = 0x4c
const PUSH_DATA_2 = 0x4d
const PUSH_DATA_4 = 0x4e

/** All instructions, or undefined when the last push is cut short: then the bytes are no script. */
export function readScript(script: Uint8Array): Instruction[] | undefined {
  const instructions: Instruction[] = []
  let at = 0
  while (at < script.length) {
    const op = script[at++] ?? 0
    if (op === 0 || op > PUSH_DATA_4) {
      instructions.push({ op, data: undefined })
      continue
    }
    let length = op
    if (op > MAX_DIRECT_PUSH) {
      const width = op === PUSH_DATA_1 ? 1 : op === PUSH_DATA_2 ? 2 : 4
      if (at + width > script.length) return undefined
      length = 0
      for (let i = width - 1; i >= 0; i--) length = length * 256 + (script[at + i] ?? 0)
      at += width
    }
    if (at + length > script.length) return undefined
    instructions.push({ op, data: script.subarray(at, at + length) })
    at += length
  }
  return instructions
}

/** What a push puts on the stack; undefined for an instruction that is no push. */
export function pushedBytes(instruction: Instruction): Uint8Array | undefined {
  if (instruction.data !== undefined) return instruction.data
  if (instruction.op === 0) return new Uint8Array(0)
  const number = smallNumber(instruction)
  if (number !== undefined) return Uint8Array.of(number)
  return instruction.op === 0x4f ? Uint8Array.of(0x81) : undefined
}

/** 1 to 16, as the sixteen instructions that push a small number; undefined for everything else. */
export function smallNumber(instruction: Instruction | undefined): number | undefined {
  if (instruction === undefined || instruction.op < 0x51 || instruction.op > 0x60) return undefined
  return instruction.op - 0x50
}

/** Every value of a script that only pushes; undefined when it does anything else. */
export function readPushes(script: Uint8Array): Uint8Array[] | undefined {
  const instructions = readScript(script)
  if (instructions === undefined) return undefined
  const pushes: Uint8Array[] = []
  for (const instruction of instructions) {
    const bytes = pushedBytes(instruction)
    if (bytes === undefined) return undefined
    pushes.push(bytes)
  }
  return pushes
}
