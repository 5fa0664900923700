/**
 * Sampling: the last row of each step (e - step, e] per instrument. It jumps from one step that has rows to the next,
 * and inside a step reads once per instrument that was active in those hours, so its cost depends on the rows it
 * returns and not on the rows it skips. It rests between steps, because many instruments take long.
 */
import type { RestingWork } from '../rows/work-in-turns.ts'
import type { Position, SeriesQuery } from '../series.ts'
import { type Arm, comparePositions, endOf, isAfter } from './arms.ts'

/** What sampling needs from rows, wherever they are stored. The requested times move in one direction. */
export interface Samples<Row extends { position: Position }> {
  /** Time of the first (`asc`) or last (`desc`) row of an arm between two times, both included. */
  nearest(arm: Arm, order: 'asc' | 'desc', from: number, to: number): RestingWork<number | undefined>
  /** The last row of each instrument of an arm between two times, both included. */
  lasts(arm: Arm, from: number, to: number): RestingWork<Row[]>
}

export function stepEnd(ts: number, stepMs: number): number {
  return Math.ceil(ts / stepMs) * stepMs
}

export function* sampledRows<Row extends { position: Position }>(
  samples: Samples<Row>,
  arms: readonly Arm[],
  query: SeriesQuery & { stepMs: number },
  limit: number,
): RestingWork<Row[]> {
  const { stepMs, order } = query
  const ascending = order === 'asc'
  const rangeEnd = endOf(query.range) - 1
  const found: Row[] = []
  let from = query.range.from
  let to = rangeEnd
  if (query.position !== undefined) {
    if (ascending) from = Math.max(from, query.position.ts)
    else to = Math.min(to, query.position.ts)
  }
  while (found.length < limit && from <= to) {
    const times: number[] = []
    for (const arm of arms) {
      const ts = yield* samples.nearest(arm, order, from, to)
      if (ts !== undefined) times.push(ts)
    }
    if (times.length === 0) break
    const end = stepEnd(ascending ? Math.min(...times) : Math.max(...times), stepMs)
    const low = Math.max(end - stepMs + 1, query.range.from)
    const high = Math.min(end, rangeEnd)
    const inStep: Row[] = []
    for (const arm of arms) for (const row of yield* samples.lasts(arm, low, high)) inStep.push(row)
    inStep.sort((a, b) => comparePositions(a.position, b.position) * (ascending ? 1 : -1))
    for (const row of inStep) if (isAfter(row.position, query)) found.push(row)
    if (ascending) from = end + 1
    else to = end - stepMs
    yield
  }
  return found.slice(0, limit)
}
