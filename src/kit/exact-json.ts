/**
 * JSON whose integers stay exact. `JSON.parse` rounds everything above 2^53, which corrupts the unsigned 64-bit values
 * of the chain. Here an integer that a double cannot hold becomes a bigint; everything else is as `JSON.parse` returns
 * it. Depth and length are bounded, a repeated member is an error (two readers would disagree about its value), and
 * nothing here throws on bad input.
 */
import { isUtf8 } from 'node:buffer'
import { Slice } from './time-slices.ts'

export type ExactJson =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly ExactJson[]
  | { readonly [member: string]: ExactJson }

export interface JsonLimits {
  readonly maxDepth: number
  readonly maxChars: number
  /** Per object. */
  readonly maxMembers?: number
  /** Of the whole text, arrays and objects included: a small value takes many times the memory of its text. */
  readonly maxValues?: number
}

const DEFAULT_JSON_LIMITS: JsonLimits = { maxDepth: 64, maxChars: 512 * 1024 * 1024 }

export type JsonReading = { ok: true; value: ExactJson } | { ok: false; message: string; at: number }

/** No number of the chain has more digits; converting a megabyte of digits to a bigint would take seconds. */
const MAX_NUMBER_CHARS = 400
const MAX_INTEGER_CHARS = 80

class Unreadable {
  readonly message: string
  readonly at: number
  constructor(message: string, at: number) {
    this.message = message
    this.at = at
  }
}

export function parseExact(text: string, limits: JsonLimits = DEFAULT_JSON_LIMITS): JsonReading {
  const reader = new Reader(text, limits)
  while (!reader.read());
  return reader.result
}

/** The same for bytes. JSON is UTF-8; decoding other bytes would change what was sent, so they are refused. */
export function parseExactBytes(bytes: Buffer, limits: JsonLimits): JsonReading {
  return notUtf8(bytes) ?? parseExact(bytes.toString('utf8'), limits)
}

export async function parseExactBytesInSlices(bytes: Buffer, limits: JsonLimits): Promise<JsonReading> {
  return notUtf8(bytes) ?? parseExactInSlices(bytes.toString('utf8'), limits)
}

function notUtf8(bytes: Buffer): JsonReading | undefined {
  if (isUtf8(bytes)) return undefined
  return { ok: false, message: 'not UTF-8', at: bytes.toString('utf8').indexOf('\ufffd') }
}

/** The same for a text that would block the event loop: it is parsed in slices. */
export async function parseExactInSlices(text: string, limits: JsonLimits): Promise<JsonReading> {
  const reader = new Reader(text, limits)
  const slice = new Slice()
  while (!reader.read()) if (slice.isOver) await slice.next()
  return reader.result
}

/** Characters between two reads of the clock. */
const STEP_CHARS = 16_384

type OpenObject = Record<string, ExactJson>

/** An array or object that is not closed yet; an object also has the name of the member that is being read. */
type Open =
  | { readonly items: ExactJson[] }
  | { readonly items: undefined; readonly members: OpenObject; name: string; count: number }

/** Reads value by value with an explicit stack, so that it can stop anywhere and continue later. */
class Reader {
  readonly #text: string
  readonly #limits: JsonLimits
  readonly #open: Open[] = []
  readonly #maxValues: number
  #values = 0
  #at = 0
  #result: JsonReading | undefined

  constructor(text: string, limits: JsonLimits) {
    this.#text = text
    this.#limits = limits
    // A text has no more values than characters.
    const { maxChars, maxValues = text.length + 1 } = limits
    this.#maxValues = maxValues
    if (text.length > maxChars) {
      this.#result = { ok: false, message: `longer than ${maxChars} characters`, at: maxChars }
    }
  }

  get result(): JsonReading {
    if (this.#result === undefined) throw new Error('the text has not been read to its end')
    return this.#result
  }

  /** Reads a part of the text; true once there is a result. */
  read(): boolean {
    if (this.#result !== undefined) return true
    const until = this.#at + STEP_CHARS
    try {
      while (this.#at < until) if (this.#step()) return true
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      this.#result = { ok: false, message: error.message, at: error.at }
      return true
    }
    return false
  }

  #fail(message: string): never {
    throw new Unreadable(message, this.#at)
  }

  #space(): void {
    const text = this.#text
    let at = this.#at
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
      at++
    }
    this.#at = at
  }

  /** Reads one scalar, or the beginning of an array or object. True at the end of the document. */
  #step(): boolean {
    this.#space()
    if (this.#values++ === this.#maxValues) this.#fail(`more than ${this.#maxValues} values`)
    switch (this.#text.charCodeAt(this.#at)) {
      case 0x7b:
        return this.#openObject()
      case 0x5b:
        return this.#openArray()
      case 0x22:
        return this.#close(this.#string())
      case 0x74:
        return this.#close(this.#word('true', true))
      case 0x66:
        return this.#close(this.#word('false', false))
      case 0x6e:
        return this.#close(this.#word('null', null))
      default:
        return this.#close(this.#number())
    }
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail('unexpected character')
    this.#at += word.length
    return value
  }

  #push(open: Open): void {
    const { maxDepth } = this.#limits
    if (this.#open.push(open) > maxDepth) this.#fail(`nested deeper than ${maxDepth}`)
    this.#at++
    this.#space()
  }

  #openObject(): boolean {
    const members: OpenObject = {}
    const open = { items: undefined, members, name: '', count: 0 }
    this.#push(open)
    if (this.#text.charCodeAt(this.#at) === 0x7d) return this.#pop(members)
    this.#name(open)
    return false
  }

  #openArray(): boolean {
    const items: ExactJson[] = []
    this.#push({ items })
    return this.#text.charCodeAt(this.#at) === 0x5d ? this.#pop(items) : false
  }

  /** Closes the innermost array or object; its closing bracket is next. */
  #pop(value: ExactJson): boolean {
    this.#at++
    this.#open.pop()
    return this.#close(value)
  }

  #name(open: Open & { items: undefined }): void {
    const text = this.#text
    this.#space()
    if (text.charCodeAt(this.#at) !== 0x22) this.#fail('expected a member name')
    open.name = this.#string()
    if (Object.hasOwn(open.members, open.name)) this.#fail('repeated member name')
    const { maxMembers } = this.#limits
    if (maxMembers !== undefined && ++open.count > maxMembers) {
      this.#fail(`more than ${maxMembers} members in an object`)
    }
    this.#space()
    if (text.charCodeAt(this.#at) !== 0x3a) this.#fail('expected ":"')
    this.#at++
  }

  /** Stores a complete value in its parent, and closes every parent that is thereby complete. */
  #close(complete: ExactJson): boolean {
    const text = this.#text
    for (let value = complete; ; ) {
      const open = this.#open.at(-1)
      this.#space()
      if (open === undefined) {
        if (this.#at < text.length) this.#fail('text after the end of the value')
        this.#result = { ok: true, value }
        return true
      }
      const code = text.charCodeAt(this.#at)
      if (open.items !== undefined) {
        open.items.push(value)
        if (code !== 0x2c && code !== 0x5d) this.#fail('expected "," or "]"')
        this.#at++
        if (code === 0x2c) return false
        value = open.items
      } else {
        put(open, value)
        if (code !== 0x2c && code !== 0x7d) this.#fail('expected "," or "}"')
        this.#at++
        if (code === 0x2c) {
          this.#name(open)
          return false
        }
        value = open.members
      }
      this.#open.pop()
    }
  }

  #string(): string {
    const text = this.#text
    const start = this.#at + 1
    let at = start
    let escaped = false
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === 0x22) break
      if (code === 0x5c) {
        escaped = true
        at++
      } else if (code < 0x20) {
        this.#at = at
        this.#fail('control character in a string')
      } else if (Number.isNaN(code)) this.#fail('unterminated string')
      at++
    }
    this.#at = at + 1
    return escaped ? this.#unescape(start, at) : text.slice(start, at)
  }

  #unescape(start: number, end: number): string {
    try {
      return JSON.parse(this.#text.slice(start - 1, end + 1)) as string
    } catch {
      this.#at = start
      return this.#fail('bad escape in a string')
    }
  }

  #digits(from: number): number {
    const text = this.#text
    let at = from
    for (;;) {
      const code = text.charCodeAt(at)
      if (!(code >= 0x30 && code <= 0x39)) return at
      at++
    }
  }

  #number(): number | bigint {
    const text = this.#text
    const start = this.#at
    let at = start
    if (text.charCodeAt(at) === 0x2d) at++
    const whole = at
    at = this.#digits(at)
    if (at === whole) this.#fail(start >= text.length ? 'unexpected end' : 'unexpected character')
    if (text.charCodeAt(whole) === 0x30 && at > whole + 1) this.#fail('a number must not begin with 0')
    let integer = true
    if (text.charCodeAt(at) === 0x2e) {
      integer = false
      const fraction = at + 1
      at = this.#digits(fraction)
      if (at === fraction) this.#fail('expected digits after "."')
    }
    const code = text.charCodeAt(at)
    if (code === 0x65 || code === 0x45) {
      integer = false
      at++
      const sign = text.charCodeAt(at)
      if (sign === 0x2b || sign === 0x2d) at++
      const exponent = at
      at = this.#digits(exponent)
      if (at === exponent) this.#fail('expected digits in the exponent')
    }
    const length = at - start
    if (length > (integer ? MAX_INTEGER_CHARS : MAX_NUMBER_CHARS)) this.#fail('number too long')
    this.#at = at
    const digits = text.slice(start, at)
    const number = Number(digits)
    if (integer) {
      return Number.isSafeInteger(number) ? number : BigInt(digits)
    }
    if (!Number.isFinite(number)) this.#fail('number out of range')
    return number
  }
}

function put({ members, name }: Open & { items: undefined }, value: ExactJson): void {
  if (name !== '__proto__') members[name] = value
  else Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true })
}

/** The JSON text of a value; bigints become plain integers. */
export function writeExact(value: ExactJson): string {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${writeExact(item)}`
    return `[${text}]`
  }
  for (const [name, item] of Object.entries(value)) {
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${writeExact(item)}`
  }
  return `{${text}}`
}
