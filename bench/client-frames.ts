/**
 * Text frames of a WebSocket client (RFC 6455), many in one piece of memory: what leaves in one turn of the
 * loop leaves in one write.
 */
import { randomFillSync } from 'node:crypto'

const FINAL_TEXT = 0x81
const MASKED = 0x80
const MASK_BYTES = 4

/** Masks are drawn in advance, because drawing four random bytes costs as much as drawing thousands. */
const POOL_BYTES = 4_096

export type FrameWriter = (texts: readonly string[]) => Buffer

export function createFrameWriter(): FrameWriter {
  const pool = Buffer.allocUnsafeSlow(POOL_BYTES)
  let drawn = POOL_BYTES

  function put(bytes: Buffer, start: number, text: string, length: number): number {
    if (drawn + MASK_BYTES > POOL_BYTES) {
      randomFillSync(pool)
      drawn = 0
    }
    let at = start
    bytes[at++] = FINAL_TEXT
    if (length < 126) bytes[at++] = MASKED | length
    else if (length < 65_536) {
      bytes[at++] = MASKED | 126
      at = bytes.writeUInt16BE(length, at)
    } else {
      bytes[at++] = MASKED | 127
      at = bytes.writeBigUInt64BE(BigInt(length), at)
    }
    const mask = at
    at += pool.copy(bytes, at, drawn, drawn + MASK_BYTES)
    drawn += MASK_BYTES
    const end = at + bytes.write(text, at, 'utf8')
    for (let index = at; index < end; index++) {
      bytes[index] = (bytes[index] ?? 0) ^ (bytes[mask + ((index - at) & 3)] ?? 0)
    }
    return end
  }

  return (texts) => {
    const lengths = texts.map((text) => Buffer.byteLength(text))
    const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + headBytes(length) + length, 0))
    let at = 0
    for (const [index, text] of texts.entries()) at = put(bytes, at, text, lengths[index] ?? 0)
    return bytes
  }
}

function headBytes(length: number): number {
  return MASK_BYTES + (length < 126 ? 2 : length < 65_536 ? 4 : 10)
}
