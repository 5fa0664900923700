/**
 * Cuts JSON into byte ranges without parsing it. Strings and brackets are followed exactly and scalars are not checked,
 * so that 50 MB take a single pass and no objects.
 */
import { nextTurn } from './time-slices.ts'
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
 * The members of one JSON object as byte ranges of the same memory. If a name is repeated, the last member counts.
 * Undefined if it is not an object, or has more members than allowed.
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

/** No writer puts more white space in one place. The limit bounds the time for a text that is nothing else. */
const MAX_SPACE = 4_096

function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    if (at - from >= MAX_SPACE) return at
    at++
  }
}

/** The position after the closing quote; -1 if there is none before `length`. */
function skipString(bytes: Buffer, quote: number, length = bytes.length): number {
  let at = quote + 1
  while (at < length) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    at += byte === BACKSLASH ? 2 : 1
  }
  return -1
}

/** The position after the value; -1 if it does not end before `length` or its brackets do not match. */
function skipValue(bytes: Buffer, from: number, length = bytes.length): number {
  const first = bytes[from]
  if (first === QUOTE) return skipString(bytes, from, length)
  if (first !== OPEN && first !== OPEN_LIST) return skipScalar(bytes, from)
  let at = from
  let depth = 0
  // With bit 0x20 masked out, `{` (7b) becomes `[` (5b) and `}` (7d) becomes `]` (5d), so objects and arrays count
  // alike.
  while (at < length) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) {
      at = skipString(bytes, at, length)
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

/** No number has more digits. The limit bounds the time for a text that is nothing else. */
const MAX_SCALAR = 4_096

function skipScalar(bytes: Buffer, from: number): number {
  let at = from
  while (at - from <= MAX_SCALAR) {
    const byte = bytes[at]
    const inside =
      byte !== undefined && byte > 0x20 && byte !== COMMA && byte !== CLOSE && byte !== CLOSE_LIST
    if (!inside) return at
    if (byte === QUOTE || byte === OPEN || byte === OPEN_LIST || byte === COLON) return -1
    at++
  }
  return -1
}

const HOLD_MS = 3

/** How much of a value is scanned between two reads of the clock. Nearly all values are shorter. */
const STEP_BYTES = 262_144

type TakeTurn = () => Promise<void> | undefined

/** Like `skipValue`, but a long value is scanned in turns of the loop. */
function valueEnd(text: Buffer, from: number, takeTurn: TakeTurn): number | Promise<number> {
  const stepEnd = from + STEP_BYTES
  if (stepEnd >= text.length) return skipValue(text, from)
  const end = skipValue(text, from, stepEnd)
  const first = text[from]
  const canBeLong = first === QUOTE || first === OPEN || first === OPEN_LIST
  return end < 0 && canBeLong ? longValueEnd(text, from, takeTurn) : end
}

async function longValueEnd(text: Buffer, from: number, takeTurn: TakeTurn): Promise<number> {
  let depth = 0
  let isInString = false
  for (let at = from; at < text.length; ) {
    await takeTurn()
    const stepEnd = Math.min(text.length, at + STEP_BYTES)
    while (at < stepEnd) {
      if (isInString) {
        while (at < stepEnd && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
        // An escaped character may be the first of the next step.
        if (at >= stepEnd) break
        isInString = false
        if (depth === 0) return at + 1
      } else if (text[at] === QUOTE) isInString = true
      else {
        const bracket = (text[at] ?? 0) & 0xdf
        if (bracket === 0x5b) depth++
        else if (bracket === 0x5d && --depth === 0) return at + 1
      }
      at++
    }
  }
  return -1
}

/**
 * No node has a longer element. What is beyond is cut off, so that the element is no valid JSON for its reader, and is
 * neither copied nor searched.
 */
const MAX_ELEMENT_BYTES = 16 * 1024 * 1024

function elementText(text: Buffer, from: number, to: number): string {
  return text.toString('utf8', from, Math.min(to, from + MAX_ELEMENT_BYTES))
}

/** Whether a member of a large JSON object is a list. Nothing after its beginning is read. */
export async function hasList(bytes: Uint8Array, member: string): Promise<boolean> {
  return (await listStart(textOf(bytes), member, turnTaker())) !== undefined
}

/**
 * Iterates over one list of a large JSON object, yielding to the event loop every few milliseconds. The time is checked
 * before every element, because the caller may spend long on one, and within a long one. The text must be valid JSON; a
 * member that is missing or not a list has no elements, see `hasList`.
 */
export async function* elementsOf(bytes: Uint8Array, member: string): AsyncGenerator<string> {
  const text = textOf(bytes)
  const takeTurn = turnTaker()
  for (let at = await listStart(text, member, takeTurn); at !== undefined; ) {
    await takeTurn()
    const from = skipSpace(text, at)
    const end = valueEnd(text, from, takeTurn)
    const to = typeof end === 'number' ? end : await end
    if (to <= from) return
    yield elementText(text, from, to)
    at = behindComma(text, to)
  }
}

/**
 * The same for nested lists: yields each element of `lists` in the objects of the list `member`, in the order of the
 * text. One of `lists` that is not a list yields its value. Such an object can be many megabytes, and is never scanned
 * or copied as a whole.
 */
export async function* nestedElementsOf<L extends string>(
  bytes: Uint8Array,
  member: string,
  lists: readonly L[],
): AsyncGenerator<{ readonly list: L; readonly text: string }> {
  const text = textOf(bytes)
  const takeTurn = turnTaker()
  for (let object = await listStart(text, member, takeTurn); object !== undefined; ) {
    let at = skipSpace(text, object)
    if (text[at] !== OPEN) return
    at = skipSpace(text, at + 1)
    while (text[at] === QUOTE) {
      const found = memberAt(text, at)
      if (found === undefined) return
      const list = lists.find((name) => name === found.name)
      let end = found.value
      if (list === undefined || text[end] !== OPEN_LIST) {
        const from = end
        end = await valueEnd(text, from, takeTurn)
        if (list !== undefined && end > from) yield { list, text: elementText(text, from, end) }
      } else {
        end++
        for (let next: number | undefined = end; next !== undefined; next = behindComma(text, end)) {
          await takeTurn()
          const from = skipSpace(text, next)
          const to = await valueEnd(text, from, takeTurn)
          if (to <= from) break
          yield { list, text: elementText(text, from, to) }
          end = to
        }
        end = skipSpace(text, end)
        if (text[end++] !== CLOSE_LIST) return
      }
      if (end < at) return
      at = skipSpace(text, behindComma(text, end) ?? end)
    }
    at = skipSpace(text, at)
    if (text[at] !== CLOSE) return
    object = behindComma(text, at + 1)
  }
}

function textOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Yields to the event loop after the turn was held for long enough. Of many readers, one continues in each turn. */
function turnTaker(): TakeTurn {
  let heldSince = turnTimeMs()
  const giveUp = async () => {
    await nextTurn()
    heldSince = turnTimeMs()
  }
  return () => (turnTimeMs() - heldSince > HOLD_MS ? giveUp() : undefined)
}

function behindComma(text: Buffer, from: number): number | undefined {
  const at = skipSpace(text, from)
  return text[at] === COMMA ? at + 1 : undefined
}

/** Where the list of a member of the outermost object begins. Nothing after it is read. */
async function listStart(text: Buffer, member: string, takeTurn: TakeTurn): Promise<number | undefined> {
  let at = skipSpace(text, 0)
  if (text[at] !== OPEN) return undefined
  do {
    const found = memberAt(text, at + 1)
    if (found === undefined) return undefined
    const { name, value } = found
    if (name === member) return text[value] === OPEN_LIST ? value + 1 : undefined
    await takeTurn()
    at = skipSpace(text, await valueEnd(text, value, takeTurn))
  } while (text[at] === COMMA)
  return undefined
}

/** The name of the member at that position, and where its value begins. */
function memberAt(text: Buffer, from: number): { readonly name: string; readonly value: number } | undefined {
  const name = skipSpace(text, from)
  if (text[name] !== QUOTE) return undefined
  const nameEnd = skipString(text, name, Math.min(text.length, name + STEP_BYTES))
  const colon = skipSpace(text, nameEnd)
  if (nameEnd < 0 || text[colon] !== COLON) return undefined
  return { name: text.toString('utf8', name + 1, nameEnd - 1), value: skipSpace(text, colon + 1) }
}
