/** Follows a venue's cursor to its end. A cursor that comes a second time fails the walk: it would be followed for ever. */
import type { DeadLetters } from '../dead-letter.ts'
import { misfit } from './expect-fit.ts'
import type { RestResponse } from './rest-client.ts'

/** The cursor of the next page; undefined at the end. */
export type NextCursor = (cursor: string | null | undefined, response: RestResponse) => string | undefined

export function createCursorTrail(origin: string, deadLetters: DeadLetters): NextCursor {
  const followed = new Set<string>()
  return (cursor, response) => {
    if (cursor === null || cursor === undefined || cursor === '') return undefined
    if (followed.has(cursor))
      throw misfit(`the page after ${cursor.slice(0, 80)} a second time`, origin, response, deadLetters)
    followed.add(cursor)
    return cursor
  }
}
