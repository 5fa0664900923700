/**
 * Exact decimal numbers. Venues send prices and sizes as decimal text; sums over thousands of trades must
 * agree with the venue to the last digit, so nothing here passes through floating point.
 */
export interface Decimal {
  /** value = units / 10^scale */
  readonly units: bigint
  readonly scale: number
}

export const ZERO: Decimal = { units: 0n, scale: 0 }

const DECIMAL_TEXT = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/
const MAX_DIGITS = 96
/** A number with up to this many digits is exact, and converting it to a `bigint` is faster than parsing text. */
const MAX_NUMBER_DIGITS = 15
const [MINUS, POINT, DIGIT_ZERO] = [45, 46, 48]
const POWERS = Array.from({ length: 40 }, (_, power) => 10n ** BigInt(power))

const powerOfTen = (power: number): bigint => POWERS[power] ?? 10n ** BigInt(power)

/** Reads `12.50`, `-0.001`, `1e-8`; undefined for anything that is not a finite decimal number. */
export function tryDecimal(text: string): Decimal | undefined {
  return text.length <= MAX_NUMBER_DIGITS ? (shortDecimal(text) ?? anyDecimal(text)) : anyDecimal(text)
}

/** Reads digits with an optional sign and point, as in nearly all prices and sizes; undefined for anything else. */
function shortDecimal(text: string): Decimal | undefined {
  const { length } = text
  const isNegative = text.charCodeAt(0) === MINUS
  let units = 0
  let digits = 0
  let pointAt = length
  for (let at = isNegative ? 1 : 0; at < length; at++) {
    const code = text.charCodeAt(at)
    const digit = code - DIGIT_ZERO
    if (digit >= 0 && digit <= 9) {
      units = units * 10 + digit
      digits++
    } else if (code === POINT && pointAt === length) pointAt = at
    else return undefined
  }
  if (digits === 0) return undefined
  const scale = pointAt === length ? 0 : length - pointAt - 1
  return { units: BigInt(isNegative ? -units : units), scale }
}

function anyDecimal(text: string): Decimal | undefined {
  if (text.length > MAX_DIGITS) return undefined
  const match = DECIMAL_TEXT.exec(text)
  if (match === null) return undefined
  const whole = match[2] ?? ''
  const fraction = match[3] ?? ''
  if (whole === '' && fraction === '') return undefined
  const exponent = match[4] === undefined ? 0 : Number(match[4])
  let units = BigInt(whole + fraction)
  if (match[1] === '-') units = -units
  const scale = fraction.length - exponent
  return scale < 0 ? { units: units * powerOfTen(-scale), scale: 0 } : { units, scale }
}

export function decimal(value: string | number | bigint): Decimal {
  if (typeof value === 'bigint') return { units: value, scale: 0 }
  const parsed = tryDecimal(String(value))
  if (parsed === undefined) throw new RangeError(`not a decimal number: ${JSON.stringify(value)}`)
  return parsed
}

function unitsAt(value: Decimal, scale: number): bigint {
  return scale === value.scale ? value.units : value.units * powerOfTen(scale - value.scale)
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale }
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, { units: -b.units, scale: b.scale })
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale }
}

/** a / b, rounded half away from zero to the given number of decimals; undefined when b is zero. */
export function divide(a: Decimal, b: Decimal, decimals: number): Decimal | undefined {
  if (b.units === 0n) return undefined
  const power = decimals + b.scale - a.scale
  const numerator = power >= 0 ? a.units * powerOfTen(power) : a.units
  const denominator = power >= 0 ? b.units : b.units * powerOfTen(-power)
  return { units: divideRounded(numerator, denominator), scale: decimals }
}

export function round(value: Decimal, decimals: number): Decimal {
  if (value.scale <= decimals) return value
  return { units: divideRounded(value.units, powerOfTen(value.scale - decimals)), scale: decimals }
}

function divideRounded(numerator: bigint, denominator: bigint): bigint {
  const negative = numerator < 0n !== denominator < 0n
  const n = numerator < 0n ? -numerator : numerator
  const d = denominator < 0n ? -denominator : denominator
  const quotient = (n * 2n + d) / (d * 2n)
  return negative ? -quotient : quotient
}

/** Negative, zero or positive if a is below, equal to or above b. */
export function compare(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale)
  const left = unitsAt(a, scale)
  const right = unitsAt(b, scale)
  return left < right ? -1 : left > right ? 1 : 0
}

/** The shortest exact text, which is also a valid JSON number: `0.001`, `-12.5`, `7`. */
export function decimalText(value: Decimal): string {
  const negative = value.units < 0n
  const digits = (negative ? -value.units : value.units).toString()
  let text = digits
  if (value.scale > 0) {
    const padded = digits.padStart(value.scale + 1, '0')
    const point = padded.length - value.scale
    let end = padded.length
    while (end > point && padded.charCodeAt(end - 1) === DIGIT_ZERO) end--
    text = end === point ? padded.slice(0, point) : `${padded.slice(0, point)}.${padded.slice(point, end)}`
  }
  return negative && text !== '0' ? `-${text}` : text
}
