/** The latest figures by time, to look up what was known at a recent instant, so that a sample never looks ahead. */
const KEPT_MS = 60_000
const MAX_KEPT = 256

export class LatestBefore<T> {
  /** Ascending; figures of the same instant are in order of arrival. */
  readonly #kept: { readonly timeMs: number; readonly value: T }[] = []

  received(timeMs: number, value: T): void {
    const kept = this.#kept
    let place = kept.length
    while (place > 0 && (kept[place - 1]?.timeMs ?? 0) > timeMs) place -= 1
    kept.splice(place, 0, { timeMs, value })
    const enoughMs = (kept.at(-1)?.timeMs ?? 0) - KEPT_MS
    while (kept.length > MAX_KEPT || (kept[1]?.timeMs ?? Number.POSITIVE_INFINITY) <= enoughMs) kept.shift()
  }

  /** The newest figure at or before an instant; undefined if all in memory are newer. */
  at(timeMs: number): T | undefined {
    return this.#kept.findLast((each) => each.timeMs <= timeMs)?.value
  }
}
