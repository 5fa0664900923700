/**
 * Follows a venue's cursor to its end. A repeated cursor, or more pages than any walk can have, fails the walk;
 * otherwise it would never end and keep collecting rows.
 */
import type { DeadLetters } from '../dead-letter.ts'
import { misfit } from './expect-fit.ts'
import type { RestResponse } from './rest-client.ts'

/** Returns the cursor of the next page, or undefined at the end. */
export type NextCursor = (cursor: string | null | undefined, response: RestResponse) => string | undefined

/** Half a million rows at most venues; requested ranges are chosen to need a small part of that. */
const MAX_PAGES = 500
const MAX_CURSOR_CHARS = 4_096

export function createCursorTrail(
  origin: string,
  deadLetters: DeadLetters,
  maxPages = MAX_PAGES,
): NextCursor {
  const followed = new Set<string>()
  return (cursor, response) => {
    if (cursor === null || cursor === undefined || cursor === '') return undefined
    if (followed.has(cursor))
      throw misfit(`the page after ${cursor.slice(0, 80)} a second time`, origin, response, deadLetters)
    if (cursor.length > MAX_CURSOR_CHARS)
      throw misfit(`a cursor of ${cursor.length} characters`, origin, response, deadLetters)
    if (followed.size + 1 >= maxPages)
      throw misfit(`more than ${maxPages} pages`, origin, response, deadLetters)
    followed.add(cursor)
    return cursor
  }
}
