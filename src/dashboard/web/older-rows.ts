/**
 * Rows of pages that were read earlier and go on below the newest page, newest first. Undefined where the newest page
 * has moved on beyond all of them: rows between the two would be missing without a sign.
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
