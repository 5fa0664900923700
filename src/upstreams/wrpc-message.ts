/**
 * A frame from the node, cut without parsing it: `{"id":7,"method":"getSink","params":{…}}` gives the byte
 * range of `params`. Members may come in any order, with any white space; unknown ones are skipped. Strings
 * and brackets are followed exactly, scalars inside values are not checked: 50 MB take one pass and no objects.
 */
export interface WrpcMessage {
  /** undefined for a notification */
  readonly id: number | undefined
  readonly method: string | undefined
  /** the bytes of the result or of the notification's payload */
  readonly params: Buffer | undefined
  readonly error: Buffer | undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN = 0x7b
const CLOSE = 0x7d
const LETTER_N = 0x6e
const DIGIT_0 = 0x30

const MAX_ID_DIGITS = 15

/** undefined when the bytes are not one JSON object, as far as this reader looks. */
export function sliceMessage(bytes: Buffer): WrpcMessage | undefined {
  let id: number | undefined
  let method: string | undefined
  let params: Buffer | undefined
  let error: Buffer | undefined
  const whole = eachMember(bytes, (name, from, to) => {
    if (name === 'id') {
      id = readId(bytes, from, to)
      return !Number.isNaN(id)
    }
    if (name === 'method') method = plainString(bytes.subarray(from, to))
    else if (name === 'params') params = bytes.subarray(from, to)
    else if (name === 'error') error = bytes.subarray(from, to)
    return true
  })
  return whole ? { id, method, params, error } : undefined
}

/** undefined for null, NaN for what is no id. */
function readId(bytes: Buffer, from: number, to: number): number | undefined {
  if (bytes[from] === LETTER_N && bytes.toString('latin1', from, to) === 'null') return undefined
  if (to - from > MAX_ID_DIGITS) return Number.NaN
  let id = 0
  for (let at = from; at < to; at++) {
    const digit = (bytes[at] ?? 0) - DIGIT_0
    if (digit < 0 || digit > 9) return Number.NaN
    id = id * 10 + digit
  }
  return id
}

/** The members of one JSON object as byte ranges of the same memory. A repeated name keeps the last. */
export function sliceMembers(bytes: Buffer): Map<string, Buffer> | undefined {
  const members = new Map<string, Buffer>()
  const whole = eachMember(bytes, (name, from, to) => {
    members.set(name, bytes.subarray(from, to))
    return true
  })
  return whole ? members : undefined
}

/** Whether the bytes are one object and `onMember` accepted every member. */
function eachMember(bytes: Buffer, onMember: (name: string, from: number, to: number) => boolean): boolean {
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
  if (first !== OPEN && first !== 0x5b) return skipScalar(bytes, from)
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
    const inside = byte !== undefined && byte > 0x20 && byte !== COMMA && byte !== CLOSE && byte !== 0x5d
    if (!inside) return at
    if (byte === QUOTE || byte === OPEN || byte === 0x5b || byte === COLON) return -1
    at++
  }
}

/** The text of a JSON string; undefined when it is another kind of value or broken. */
function plainString(bytes: Buffer): string | undefined {
  if (bytes[0] !== QUOTE) return undefined
  if (!bytes.includes(BACKSLASH)) return bytes.toString('utf8', 1, bytes.length - 1)
  try {
    const text: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof text === 'string' ? text : undefined
  } catch {
    return undefined
  }
}

/** The text of `{"code":0,"message":"…","data":null}`. The code is always 0: only the text names the cause. */
export function errorText(error: Buffer): string {
  const message = sliceMembers(error)?.get('message')
  const text = message === undefined ? undefined : plainString(message)
  return text ?? error.toString('utf8', 0, Math.min(error.length, 2_000))
}
