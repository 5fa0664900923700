/**
 * Renders a long page as NDJSON in parts, over several turns of the event loop. A short page is a single text
 * (`renderList`).
 */
import type { ListAnswer } from '../contract/endpoint.ts'
import { contentHasher } from '../kit/content-hash.ts'
import { isTurnSpent, nextTurn } from '../kit/time-slices.ts'

const LONG_BYTES = 1024 * 1024
const PART_BYTES = 65_536
const COMMA = 0x2c
const LINE_BREAK = 0x0a

export function isLongPage(rows: ListAnswer['rows']): boolean {
  const length = typeof rows === 'string' ? rows.length : rows.reduce((sum, part) => sum + part.length, 0)
  return length > LONG_BYTES
}

export async function ndjsonPage(rows: ListAnswer['rows']): Promise<{ body: Buffer[]; hash: string }> {
  const body: Buffer[] = []
  const hasher = contentHasher()
  /** The last byte was a comma; the next byte shows whether it belongs to a separator. */
  let isCommaOpen = false
  const add = (part: Buffer) => {
    hasher.update(part)
    body.push(part)
  }
  for (const part of typeof rows === 'string' ? [Buffer.from(rows)] : rows) {
    for (let from = 0; from < part.length; from += PART_BYTES) {
      if (isTurnSpent()) await nextTurn()
      const piece = part.subarray(from, from + PART_BYTES)
      if (isCommaOpen && piece[0] !== LINE_BREAK) add(Buffer.of(COMMA))
      isCommaOpen = piece.at(-1) === COMMA
      add(withoutCommas(isCommaOpen ? piece.subarray(0, -1) : piece))
    }
  }
  add(Buffer.of(LINE_BREAK))
  return { body, hash: hasher.digest() }
}

/** Line breaks occur only in separators, after a comma. */
function withoutCommas(piece: Buffer): Buffer {
  const lines = Buffer.allocUnsafe(piece.length)
  let length = 0
  let from = 0
  for (let at = piece.indexOf(LINE_BREAK); at >= 0; at = piece.indexOf(LINE_BREAK, from)) {
    length += piece.copy(lines, length, from, Math.max(from, at - 1))
    lines[length++] = LINE_BREAK
    from = at + 1
  }
  length += piece.copy(lines, length, from)
  return lines.subarray(0, length)
}
