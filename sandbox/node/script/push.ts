/** Reads and writes the pushes of a script. */
import { toHex } from '../consensus/bytes.ts'

export interface Instruction {
  opcode: number
  /** The pushed bytes; undefined for an operator. */
  data: Uint8Array | undefined
}

/** Undefined if a push runs past the end. */
export function parseScript(script: Uint8Array): Instruction[] | undefined {
  const out: Instruction[] = []
  const view = Buffer.from(script.buffer, script.byteOffset, script.byteLength)
  for (let at = 0; at < script.length; ) {
    const opcode = script[at] ?? 0
    at += 1
    let length = -1
    if (opcode === 0) {
      out.push({ opcode, data: new Uint8Array() })
      continue
    }
    if (opcode <= 0x4b) {
      length = opcode
    } else if (opcode <= 0x4e) {
      const width = 1 << (opcode - 0x4c)
      if (at + width > script.length) return undefined
      length = view.readUIntLE(at, width)
      at += width
    }
    if (length < 0) {
      out.push({ opcode, data: smallNumber(opcode) })
      continue
    }
    if (at + length > script.length) return undefined
    out.push({ opcode, data: script.subarray(at, at + length) })
    at += length
  }
  return out
}

function smallNumber(opcode: number): Uint8Array | undefined {
  if (opcode === 0x4f) return Uint8Array.of(0x81)
  return opcode >= 0x51 && opcode <= 0x60 ? Uint8Array.of(opcode - 0x50) : undefined
}

/** The shortest push of these bytes, as hex. */
export function pushData(hex: string): string {
  const length = hex.length / 2
  if (length === 0) return '00'
  if (length === 1) {
    const value = Number.parseInt(hex, 16)
    if (value >= 1 && value <= 16) return (0x50 + value).toString(16)
    if (value === 0x81) return '4f'
  }
  const le = (width: number) => {
    const bytes = Buffer.alloc(width)
    bytes.writeUIntLE(length, 0, width)
    return bytes.toString('hex')
  }
  if (length <= 0x4b) return le(1) + hex
  if (length <= 0xff) return `4c${le(1)}${hex}`
  return length <= 0xffff ? `4d${le(2)}${hex}` : `4e${le(4)}${hex}`
}

export function pushText(text: string): string {
  return pushData(toHex(Buffer.from(text, 'utf8')))
}
