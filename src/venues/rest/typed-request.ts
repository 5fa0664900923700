/** A REST request whose response is validated; a response of unknown shape becomes a dead letter. */

import type { WireType } from '../adapter/wire-type.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { type RestClient, type RestRequest, type RestResponse, VenueError } from './rest-client.ts'

export interface RestAccess {
  readonly client: RestClient
  readonly deadLetters: DeadLetters
}

/** Marks all requests as part of a history walk, so that those of the live side go first. */
export function inBackground(asker: RestAccess): RestAccess {
  const { client, deadLetters } = asker
  return {
    deadLetters,
    client: {
      request: (question, signal) => client.request({ ...question, isBackground: true }, signal),
      stats: () => client.stats(),
    },
  }
}

export async function requestTyped<T>(
  asker: RestAccess,
  question: RestRequest,
  type: WireType<T>,
  signal: AbortSignal,
): Promise<{ value: T; answer: RestResponse }> {
  const answer = await asker.client.request(question, signal)
  const { value } = answer
  if (type.is(value)) return { value, answer }
  const { receivedMs, text } = answer
  asker.deadLetters.add({ receivedMs, reason: 'wrong_shape', origin: question.path, text })
  throw new VenueError(`${question.path}: an answer of unknown shape`, { isFinal: false })
}

/** Ten times more than is ever requested from a venue. */
const MAX_ROWS = 50_000

/** Returns the readable rows; each unreadable one becomes a dead letter. */
export function readRows<T>(
  asker: Pick<RestAccess, 'deadLetters'>,
  rows: readonly unknown[],
  type: WireType<T>,
  about: { origin: string; receivedMs: number },
): T[] {
  if (rows.length > MAX_ROWS)
    throw new VenueError(`${about.origin}: an answer of ${rows.length} rows`, { isFinal: false })
  return rows.filter((row): row is T => {
    if (type.is(row)) return true
    asker.deadLetters.add({ ...about, reason: 'wrong_shape', text: textOf(row) })
    return false
  })
}

/** A row nested too deeply for `JSON.stringify` is just another unreadable row. */
function textOf(row: unknown): string {
  try {
    return JSON.stringify(row) ?? ''
  } catch {
    return ''
  }
}

/** Returns all rows, or throws: with one unreadable row the response was not read in full. */
export function readEveryRow<T>(
  asker: Pick<RestAccess, 'deadLetters'>,
  rows: readonly unknown[],
  type: WireType<T>,
  about: { origin: string; receivedMs: number },
): T[] {
  const read = readRows(asker, rows, type, about)
  if (read.length === rows.length) return read
  const count = rows.length - read.length
  throw new VenueError(`${about.origin}: ${count} of ${rows.length} rows cannot be read`, { isFinal: false })
}

/** Reports a readable row of an unknown kind, such as a new version or status at the venue. */
export function unknownRow(
  asker: Pick<RestAccess, 'deadLetters'>,
  row: unknown,
  about: { origin: string; receivedMs: number },
): void {
  asker.deadLetters.add({ ...about, reason: 'unknown_kind', text: textOf(row) })
}

/**
 * The venue's time from the `Date` header of a response, which has whole seconds; the middle of the second is taken.
 */
export function headerTime(answer: RestResponse): number {
  const reported = Date.parse(answer.headers.get('date') ?? '')
  return Number.isFinite(reported) ? reported + 500 : answer.receivedMs
}
