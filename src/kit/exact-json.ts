/**
 * JSON whose integers stay exact. `JSON.parse` rounds everything above 2^53, which corrupts the unsigned
 * 64-bit values of the chain; here an integer that a double cannot hold becomes a bigint, everything else is
 * what `JSON.parse` gives. Depth and length are bounded, a repeated member is an error (two readers would
 * disagree about its value), and nothing here throws on bad input.
 */
export type ExactJson =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly ExactJson[]
  | { readonly [member: string]: ExactJson }

export interface JsonLimits {
  maxDepth: number
  maxChars: number
}

export const DEFAULT_JSON_LIMITS: JsonLimits = { maxDepth: 64, maxChars: 512 * 1024 * 1024 }

export type JsonReading = { ok: true; value: ExactJson } | { ok: false; message: string; at: number }

/** No number of the chain has more; the bound keeps a megabyte of digits from becoming a bigint. */
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
  if (text.length > limits.maxChars) {
    return { ok: false, message: `longer than ${limits.maxChars} characters`, at: limits.maxChars }
  }
  try {
    const reader = new Reader(text, limits.maxDepth)
    return { ok: true, value: reader.document() }
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, message: error.message, at: error.at }
    throw error
  }
}

class Reader {
  readonly #text: string
  readonly #maxDepth: number
  #at = 0

  constructor(text: string, maxDepth: number) {
    this.#text = text
    this.#maxDepth = maxDepth
  }

  document(): ExactJson {
    const value = this.#value(0)
    this.#space()
    if (this.#at < this.#text.length) this.#fail('text after the end of the value')
    return value
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

  #value(depth: number): ExactJson {
    this.#space()
    switch (this.#text.charCodeAt(this.#at)) {
      case 0x7b:
        return this.#object(depth + 1)
      case 0x5b:
        return this.#array(depth + 1)
      case 0x22:
        return this.#string()
      case 0x74:
        return this.#word('true', true)
      case 0x66:
        return this.#word('false', false)
      case 0x6e:
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail('unexpected character')
    this.#at += word.length
    return value
  }

  #object(depth: number): ExactJson {
    if (depth > this.#maxDepth) this.#fail(`nested deeper than ${this.#maxDepth}`)
    const text = this.#text
    const members: Record<string, ExactJson> = {}
    this.#at++
    this.#space()
    if (text.charCodeAt(this.#at) === 0x7d) {
      this.#at++
      return members
    }
    for (;;) {
      this.#space()
      if (text.charCodeAt(this.#at) !== 0x22) this.#fail('expected a member name')
      const name = this.#string()
      if (Object.hasOwn(members, name)) this.#fail('repeated member name')
      this.#space()
      if (text.charCodeAt(this.#at) !== 0x3a) this.#fail('expected ":"')
      this.#at++
      const value = this.#value(depth)
      if (name === '__proto__') {
        Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true })
      } else members[name] = value
      this.#space()
      const code = text.charCodeAt(this.#at)
      if (code !== 0x2c && code !== 0x7d) this.#fail('expected "," or "}"')
      this.#at++
      if (code === 0x7d) return members
    }
  }

  #array(depth: number): ExactJson {
    if (depth > this.#maxDepth) this.#fail(`nested deeper than ${this.#maxDepth}`)
    const text = this.#text
    const items: ExactJson[] = []
    this.#at++
    this.#space()
    if (text.charCodeAt(this.#at) === 0x5d) {
      this.#at++
      return items
    }
    for (;;) {
      items.push(this.#value(depth))
      this.#space()
      const code = text.charCodeAt(this.#at)
      if (code !== 0x2c && code !== 0x5d) this.#fail('expected "," or "]"')
      this.#at++
      if (code === 0x5d) return items
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
    if (integer) return Number.isSafeInteger(number) ? number : BigInt(digits)
    if (!Number.isFinite(number)) this.#fail('number out of range')
    return number
  }
}

/** The JSON text of a value; bigints become plain integers. */
export function writeExact(value: ExactJson): string {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(writeExact).join(',')}]`
  const members = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}:${writeExact(item)}`)
  return `{${members.join(',')}}`
}
