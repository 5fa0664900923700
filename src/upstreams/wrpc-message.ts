/**
 * Slices a frame from the node without parsing it: `{"id":7,"method":"getSink","params":{…}}` yields the byte range of
 * `params`. Members may come in any order and with any white space; unknown ones are skipped.
 */
import { eachMember, sliceMembers } from '../kit/json-slices.ts'

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
const LETTER_N = 0x6e
const DIGIT_0 = 0x30

const MAX_ID_DIGITS = 15
/** For the members of a frame, an error or a notification. The result itself is not inspected. */
export const MAX_MEMBERS = 16
const MAX_ERROR_CHARS = 2_000

/** undefined if the bytes are not one JSON object, as far as this reader checks. */
export function sliceMessage(bytes: Buffer): WrpcMessage | undefined {
  let id: number | undefined
  let method: string | undefined
  let params: Buffer | undefined
  let error: Buffer | undefined
  let members = 0
  const whole = eachMember(bytes, (name, from, to) => {
    if (++members > MAX_MEMBERS) return false
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

/** undefined for null, NaN for anything that is not an id. */
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

/** The text of a JSON string; undefined if the value is of another kind or malformed. */
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

/** The text of `{"code":0,"message":"…","data":null}`. The code is always 0, so only the text names the cause. */
export function errorText(error: Buffer): string {
  const message = sliceMembers(error, MAX_MEMBERS)?.get('message')
  const text = message === undefined ? undefined : plainString(message)
  return text?.slice(0, MAX_ERROR_CHARS) ?? error.toString('utf8', 0, Math.min(error.length, MAX_ERROR_CHARS))
}
