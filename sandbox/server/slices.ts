/** Builds long answers in slices, so that they never block the streams. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * A number of items and not a time, because the turns that an answer takes must not depend on the speed of the machine.
 * A one-day candle that is not cached takes about a millisecond.
 */
const SLICE_ITEMS = 8

export async function mapInSlices<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const results: R[] = []
  for (const item of items) {
    results.push(map(item))
    if (results.length % SLICE_ITEMS === 0) await nextTurn()
  }
  return results
}
