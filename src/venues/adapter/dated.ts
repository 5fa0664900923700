/**
 * A venue's format changes on a date, not in a branch: each version of a rule has the moment from which
 * it is true, and a message is read by the version of its own time. Old recordings stay readable.
 */
export interface Version<T> {
  /** ISO 8601 with `Z`; the first version is true from the beginning. */
  readonly from: string
  readonly use: T
}

/** Versions in ascending order. The returned function finds the one that is true at an instant. */
export function dated<T>(first: T, ...later: readonly Version<T>[]): (timeMs: number) => T {
  const cuts = later.map((version) => ({ fromMs: Date.parse(version.from), use: version.use }))
  for (const [index, cut] of cuts.entries()) {
    const before = cuts[index - 1]?.fromMs ?? Number.NEGATIVE_INFINITY
    if (!(cut.fromMs > before)) throw new RangeError(`versions are not in order at ${later[index]?.from}`)
  }
  cuts.reverse()
  return (timeMs) => {
    for (const cut of cuts) if (timeMs >= cut.fromMs) return cut.use
    return first
  }
}
