/**
 * Prices and sizes of prediction markets as whole millionths. Venues write the same price as `.5`, `0.5` and `0.5000`;
 * an order book needs one key for all of them, and 1 − p must be exact.
 */
export const MICRO = 1_000_000

const [MINUS, POINT, ZERO] = [45, 46, 48]
const MAX_WHOLE_DIGITS = 9
const DECIMALS = 6

/**
 * Undefined for text that is not a decimal number, or that has more than six decimals (not counting trailing zeros) or
 * more than nine whole digits. It is read digit by digit because every level of every book passes through here.
 */
export function microOf(text: string): number | undefined {
  const { length } = text
  const isNegative = text.charCodeAt(0) === MINUS
  const start = isNegative ? 1 : 0
  let at = start
  let value = 0
  for (; at < length; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) break
    value = value * 10 + digit
  }
  const wholeDigits = at - start
  if (wholeDigits > MAX_WHOLE_DIGITS) return undefined
  let decimals = 0
  if (at < length) {
    if (text.charCodeAt(at) !== POINT) return undefined
    for (at++; at < length; at++) {
      const digit = text.charCodeAt(at) - ZERO
      if (digit < 0 || digit > 9) return undefined
      decimals++
      if (decimals <= DECIMALS) value = value * 10 + digit
      else if (digit !== 0) return undefined
    }
  }
  if (wholeDigits + decimals === 0) return undefined
  for (; decimals < DECIMALS; decimals++) value *= 10
  return isNegative ? -value : value
}

/**
 * The price of an order in millionths; undefined unless it is a number above 0 and below 1, because nobody can trade at
 * either.
 */
export function orderPriceOf(text: string): number | undefined {
  const micro = microOf(text)
  return micro !== undefined && micro > 0 && micro < MICRO ? micro : undefined
}

/** The size of an order in millionths; undefined unless it is a number of at least 0. */
export function orderSizeOf(text: string): number | undefined {
  const micro = microOf(text)
  return micro !== undefined && micro >= 0 ? micro : undefined
}

/** The shortest exact text: `0.245`, `219.217767`, `7`. */
export function microText(micro: number): string {
  const absolute = Math.abs(micro)
  const fraction = absolute % MICRO
  const whole = (absolute - fraction) / MICRO
  const sign = micro < 0 ? '-' : ''
  if (fraction === 0) return `${sign}${whole}`
  let digits = fraction
  let places = 6
  while (digits % 10 === 0) {
    digits /= 10
    places--
  }
  return `${sign}${whole}.${`${digits}`.padStart(places, '0')}`
}

/** The midpoint of two prices, exact even if it falls between two millionths. */
export function middleText(a: number, b: number): string {
  const sum = a + b
  return sum % 2 === 0 ? microText(sum / 2) : (sum / 2 / MICRO).toFixed(7)
}

/** The price of the other outcome: 1 − p. */
export function complement(micro: number): number {
  return MICRO - micro
}
