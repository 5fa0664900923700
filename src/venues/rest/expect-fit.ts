/**
 * A response must fit its request. Rows of other times, in another unit, of another symbol or interval, duplicated, out
 * of order or in excess mean that the venue answered something else. Then none of the rows is used, nothing counts as
 * read, and the response is kept as a dead letter.
 */
import { DEAD_LETTER_TEXT_LENGTH, type DeadLetters } from '../dead-letter.ts'
import type { HistoryRange } from '../venue.ts'
import { type RestResponse, VenueError } from './rest-client.ts'

export interface Fit<R> {
  /** Where the response came from. */
  readonly origin: string
  /** Half open; every row's time must lie in it. */
  readonly range: HistoryRange
  readonly timeOf: (row: R) => number
  /** Order of the times: `rising` is strictly ascending, the next two allow equal times. */
  readonly order: 'rising' | 'ascending' | 'descending' | 'any'
  readonly maxRows?: number
  /** Returns what is wrong with a row apart from its time, given the row before it. */
  readonly fault?: (row: R, before: R | undefined) => string | undefined
}

/** Describes the first fault; undefined for a response that fits. */
function misfitOf<R>(rows: readonly R[], fit: Fit<R>): string | undefined {
  const { range, timeOf, order } = fit
  if (fit.maxRows !== undefined && rows.length > fit.maxRows)
    return `${rows.length} rows, asked for ${fit.maxRows}`
  let before: R | undefined
  for (const [index, row] of rows.entries()) {
    const timeMs = timeOf(row)
    if (!(timeMs >= range.fromMs && timeMs < range.toMs))
      return `row ${index} is of ${timeMs}, asked for ${range.fromMs} to ${range.toMs}`
    const stepMs = before === undefined ? undefined : timeMs - timeOf(before)
    if (stepMs !== undefined && !isInOrder(order, stepMs))
      return `row ${index} is ${stepMs} ms after the one before`
    const fault = fit.fault?.(row, before)
    if (fault !== undefined) return `row ${index}: ${fault}`
    before = row
  }
  return undefined
}

function isInOrder(order: Fit<unknown>['order'], stepMs: number): boolean {
  switch (order) {
    case 'rising':
      return stepMs > 0
    case 'ascending':
      return stepMs >= 0
    case 'descending':
      return stepMs <= 0
    case 'any':
      return true
  }
}

/** Called before any of the rows is examined. */
export function expectRows(
  rows: readonly unknown[],
  maxRows: number,
  origin: string,
  answer: Pick<RestResponse, 'receivedMs' | 'text'>,
  deadLetters: DeadLetters,
): void {
  if (rows.length > maxRows)
    throw misfit(`${rows.length} rows, asked for ${maxRows}`, origin, answer, deadLetters)
}

export function expectFit<R>(
  rows: readonly R[],
  fit: Fit<R>,
  answer: Pick<RestResponse, 'receivedMs' | 'text'>,
  deadLetters: DeadLetters,
): void {
  const fault = misfitOf(rows, fit)
  if (fault !== undefined) throw misfit(fault, fit.origin, answer, deadLetters)
}

/** A fault may quote text of the venue, which can have any length. */
const MAX_FAULT_CHARS = 300

/** Keeps the response as a dead letter and returns the error that fails the walk. A later attempt may succeed. */
export function misfit(
  fault: string,
  origin: string,
  answer: Pick<RestResponse, 'receivedMs' | 'text'>,
  deadLetters: DeadLetters,
): VenueError {
  const { receivedMs, text } = answer
  const shown = text.slice(0, DEAD_LETTER_TEXT_LENGTH)
  deadLetters.add({
    receivedMs,
    reason: 'misfit',
    origin,
    text: `${fault.slice(0, MAX_FAULT_CHARS)}: ${shown}`,
  })
  return new VenueError(`${origin}: the answer does not fit the question: ${fault}`, { isFinal: false })
}
