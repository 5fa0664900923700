/** Follows a venue's cursor to its end: a cursor that comes a second time would be followed for ever. */
export interface CursorTrail {
  /** The cursor of the next page; undefined at the end. A fault in words for one that was followed before. */
  next(
    cursor: string | null | undefined,
  ): { readonly cursor: string | undefined } | { readonly fault: string }
}

export function createCursorTrail(): CursorTrail {
  const followed = new Set<string>()
  return {
    next(cursor) {
      if (cursor === null || cursor === undefined || cursor === '') return { cursor: undefined }
      if (followed.has(cursor)) return { fault: `the page after ${cursor.slice(0, 80)} a second time` }
      followed.add(cursor)
      return { cursor }
    },
  }
}
