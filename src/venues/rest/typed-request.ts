/** A REST request whose response is validated; a response of unknown shape becomes a dead letter. */

import type { WireType } from '../adapter/wire-type.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { type RestClient, type RestRequest, type RestResponse, VenueError } from './rest-client.ts'

export interface RestAccess {
  readonly client: RestClient
  readonly deadLetters: DeadLetters
}

/** The same requests as part of a walk through the past: those of the live side go first. */
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

/** No venue is asked for a tenth of that. */
const MAX_ROWS = 50_000

/** The rows that can be read; each of the others becomes a dead letter. */
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

/** A row that is nested too deep for `JSON.stringify` is still only one that cannot be read. */
function textOf(row: unknown): string {
  try {
    return JSON.stringify(row) ?? ''
  } catch {
    return ''
  }
}

/** Every row, or an error: with one unreadable row the response was not read in full. */
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

/** A readable row of an unknown kind: a new version or status of the venue. */
export function unknownRow(
  asker: Pick<RestAccess, 'deadLetters'>,
  row: unknown,
  about: { origin: string; receivedMs: number },
): void {
  asker.deadLetters.add({ ...about, reason: 'unknown_kind', text: textOf(row) })
}

/** The venue's clock from the `Date` header of a response: whole seconds, taken at their middle. */
export function headerTime(answer: RestResponse): number {
  const reported = Date.parse(answer.headers.get('date') ?? '')
  return Number.isFinite(reported) ? reported + 500 : answer.receivedMs
}
