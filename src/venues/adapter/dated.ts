/**
 * A change of a venue's format is a new version with a date, not a branch in the code. Each version of a rule has the
 * time from which it applies, and a message is read by the version of its own time, so old recordings stay readable.
 */
export interface Version<T> {
  /** ISO 8601 with `Z`. The first version has no such time: it applies from the beginning. */
  readonly from: string
  readonly use: T
}

/** Takes versions in ascending order; the returned function finds the one that applies at a given time. */
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
