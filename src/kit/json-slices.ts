/**
 * Cuts JSON into byte ranges without parsing it: strings and brackets are followed exactly, scalars inside values are
 * not checked, so that 50 MB take one pass and no objects.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { turnTimeMs } from './turns.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN = 0x7b
const CLOSE = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

/**
 * The members of one JSON object as byte ranges of the same memory. A repeated name keeps the last. An object with more
 * members than that is refused.
 */
export function sliceMembers(bytes: Buffer, maxMembers: number): Map<string, Buffer> | undefined {
  const members = new Map<string, Buffer>()
  let count = 0
  const whole = eachMember(bytes, (name, from, to) => {
    members.set(name, bytes.subarray(from, to))
    return ++count <= maxMembers
  })
  return whole ? members : undefined
}

/** Whether the bytes are one object and `onMember` accepted every member. */
export function eachMember(
  bytes: Buffer,
  onMember: (name: string, from: number, to: number) => boolean,
): boolean {
  let at = skipSpace(bytes, 0)
  if (bytes[at] !== OPEN) return false
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === CLOSE) return endsAt(bytes, at)
  for (;;) {
    if (bytes[at] !== QUOTE) return false
    const nameEnd = skipString(bytes, at)
    if (nameEnd < 0) return false
    const name = bytes.toString('utf8', at + 1, nameEnd - 1)
    at = skipSpace(bytes, nameEnd)
    if (bytes[at] !== COLON) return false
    at = skipSpace(bytes, at + 1)
    const end = skipValue(bytes, at)
    if (end <= at || !onMember(name, at, end)) return false
    at = skipSpace(bytes, end)
    if (bytes[at] === CLOSE) return endsAt(bytes, at)
    if (bytes[at] !== COMMA) return false
    at = skipSpace(bytes, at + 1)
  }
}

function endsAt(bytes: Buffer, close: number): boolean {
  return skipSpace(bytes, close + 1) === bytes.length
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

/** Past the closing quote, -1 when there is none. */
function skipString(bytes: Buffer, quote: number): number {
  const length = bytes.length
  let at = quote + 1
  while (at < length) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    at += byte === BACKSLASH ? 2 : 1
  }
  return -1
}

/** Past the value, -1 when it does not end or its brackets do not match. */
function skipValue(bytes: Buffer, from: number): number {
  const first = bytes[from]
  if (first === QUOTE) return skipString(bytes, from)
  if (first !== OPEN && first !== OPEN_LIST) return skipScalar(bytes, from)
  const length = bytes.length
  let at = from
  let depth = 0
  // `{` 7b and `}` 7d, `[` 5b and `]` 5d: with bit 0x20 masked out, objects and arrays count alike.
  while (at < length) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) {
      at = skipString(bytes, at)
      if (at < 0) return -1
      continue
    }
    at++
    const bracket = byte & 0xdf
    if (bracket === 0x5b) depth++
    else if (bracket === 0x5d && --depth === 0) return at
  }
  return -1
}

function skipScalar(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    const inside =
      byte !== undefined && byte > 0x20 && byte !== COMMA && byte !== CLOSE && byte !== CLOSE_LIST
    if (!inside) return at
    if (byte === QUOTE || byte === OPEN || byte === OPEN_LIST || byte === COLON) return -1
    at++
  }
}

const HOLD_MS = 3
const LOOK_EVERY = 64

/**
 * Iterates over one list of a large JSON object, yielding to the event loop every few milliseconds. The text must be
 * valid JSON; a member that is missing or not a list has no elements.
 */
export async function* elementsOf(bytes: Uint8Array, member: string): AsyncGenerator<string> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let heldSince = turnTimeMs()
  let at = listStart(text, member)
  for (let count = 1; at !== undefined; count++) {
    at = skipSpace(text, at)
    const end = skipValue(text, at)
    if (end <= at) return
    yield text.toString('utf8', at, end)
    at = skipSpace(text, end)
    at = text[at] === COMMA ? at + 1 : undefined
    if (count % LOOK_EVERY === 0 && turnTimeMs() - heldSince > HOLD_MS) {
      await immediate()
      heldSince = turnTimeMs()
    }
  }
}

/** Where the list of a member of the outermost object begins. What comes after it is not looked at. */
function listStart(text: Buffer, member: string): number | undefined {
  let at = skipSpace(text, 0)
  if (text[at] !== OPEN) return undefined
  do {
    const name = skipSpace(text, at + 1)
    const nameEnd = skipString(text, name)
    const colon = skipSpace(text, nameEnd)
    const value = skipSpace(text, colon + 1)
    if (text[name] !== QUOTE || text[colon] !== COLON) return undefined
    if (text.toString('utf8', name + 1, nameEnd - 1) === member)
      return text[value] === OPEN_LIST ? value + 1 : undefined
    at = skipSpace(text, skipValue(text, value))
  } while (text[at] === COMMA)
  return undefined
}
