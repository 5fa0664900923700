/** Long answers are made in slices, so that they never hold up the streams. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const SLICE_MS = 8

export async function mapInSlices<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const results: R[] = []
  let sliceStart = performance.now()
  for (const item of items) {
    results.push(map(item))
    if (performance.now() - sliceStart < SLICE_MS) continue
    await nextTurn()
    sliceStart = performance.now()
  }
  return results
}
