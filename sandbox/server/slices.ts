/** Long answers are made in slices, so that they never hold up the streams. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A number and not a time: the turns that an answer takes must not depend on the speed of the machine. A candle of a
 * day that nobody asked for before takes about a millisecond. */
const SLICE_ITEMS = 8

export async function mapInSlices<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const results: R[] = []
  for (const item of items) {
    results.push(map(item))
    if (results.length % SLICE_ITEMS === 0) await nextTurn()
  }
  return results
}
