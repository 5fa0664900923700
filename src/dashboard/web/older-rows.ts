/**
 * The rows of earlier pages that continue below the newest page, newest first. Undefined if the newest page has moved
 * beyond all of them, because the rows in between would be missing without notice.
 */
export function olderRows<T>(
  newest: readonly T[],
  earlier: readonly T[],
  keyOf: (row: T) => string | number,
): T[] | undefined {
  const [first] = earlier
  const last = newest.at(-1)
  if (first === undefined) return undefined
  if (last === undefined) return []
  return keyOf(first) < keyOf(last) ? undefined : earlier.filter((row) => keyOf(row) < keyOf(last))
}
