/**
 * The parts of a served row as JSON text: numbers in their shortest exact form, times in UTC with milliseconds, strings
 * escaped. A value that cannot be served is refused with a RowError.
 */
import { decimalText, tryDecimal } from '../decimal.ts'
import { INTERVAL_MS, type Interval } from '../interval.ts'
import { formatTime } from '../time.ts'
import { RowError } from './row-error.ts'

/** A number as a venue sends it: decimal text keeps every digit, a number is written as JavaScript formats it. */
export type Numeric = string | number

const PLAIN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
const MAX_PLAIN_LENGTH = 40

export function numberText(field: string, value: Numeric): string {
  const text = typeof value === 'string' ? value : `${value}`
  if (text.length <= MAX_PLAIN_LENGTH && PLAIN.test(text)) return withoutTrailingZeros(text)
  const parsed = tryDecimal(text)
  if (parsed === undefined) throw new RowError(field, `not a finite decimal number: ${JSON.stringify(text)}`)
  return decimalText(parsed)
}

/** Venues pad their decimals (`61234.10000000`). Every number of every row passes through here. */
function withoutTrailingZeros(text: string): string {
  let end = text.length
  if (text.includes('.')) {
    while (text.charCodeAt(end - 1) === 48) end--
    if (text.charCodeAt(end - 1) === 46) end--
  }
  const shortest = end === text.length ? text : text.slice(0, end)
  return shortest === '-0' ? '0' : shortest
}

export function positiveText(field: string, value: Numeric): string {
  const text = numberText(field, value)
  if (text === '0' || text.charCodeAt(0) === 45) throw new RowError(field, `must be above 0, is ${text}`)
  return text
}

/** Zero or above. */
export function amountText(field: string, value: Numeric): string {
  const text = numberText(field, value)
  if (text.charCodeAt(0) === 45) throw new RowError(field, `must not be negative, is ${text}`)
  return text
}

/** A probability or a ratio. */
export function fractionText(field: string, value: Numeric): string {
  const text = amountText(field, value)
  if (Number(text) > 1) throw new RowError(field, `must lie between 0 and 1, is ${text}`)
  return text
}

export function countText(field: string, value: number): string {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RowError(field, `must be a whole number, is ${value}`)
  return `${value}`
}

export function stringText(field: string, value: string): string {
  if (typeof value !== 'string' || value === '') throw new RowError(field, 'must be a text that is not empty')
  return JSON.stringify(value)
}

/** Writes the value, or `null` where it is absent. */
export function orNull<T>(
  write: (field: string, value: T) => string,
  field: string,
  value: T | null | undefined,
): string {
  return value === null || value === undefined ? 'null' : write(field, value)
}

/** Refuses a value that the source does not publish; the field is served as null. */
export function absent(field: string, source: string, value: unknown): 'null' {
  if (value !== null && value !== undefined) throw new RowError(field, `is not published by ${source}`)
  return 'null'
}

/** A field that only some sources publish. */
export function published<T>(
  isPublished: boolean,
  write: (field: string, value: T) => string,
  field: string,
  value: T | null | undefined,
  source: string,
): string {
  return isPublished ? orNull(write, field, value) : absent(field, source, value)
}

const MAX_TIME_MS = 253_402_300_799_999

export function timeText(field: string, timeMs: number): string {
  if (!Number.isSafeInteger(timeMs) || timeMs < 0 || timeMs > MAX_TIME_MS) {
    throw new RowError(field, `must be milliseconds since the epoch, is ${timeMs}`)
  }
  return `"${formatTime(timeMs)}"`
}

export function checkGrid(field: string, timeMs: number, interval: Interval): void {
  if (timeMs % INTERVAL_MS[interval] !== 0) {
    throw new RowError(field, `must lie on the ${interval} grid, is ${timeMs}`)
  }
}

export function checkSequence(field: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RowError(field, `must be a whole number, is ${value}`)
  return value
}
