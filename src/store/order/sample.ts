/**
 * Sampling: per instrument the last row of each step (e - step, e]. The walk jumps from one step that has
 * rows to the next by a seek, and inside a step seeks once per instrument that was active in those hours, so
 * its cost follows the rows it returns and not the rows it skips.
 */
import type { Position, SeriesQuery } from '../series.ts'
import { type Arm, comparePositions, endOf, isAfter } from './arms.ts'

/** What sampling needs of rows, wherever they are stored. */
export interface Samples<Row extends { position: Position }> {
  /** Time of the first (last) row of an arm between two times, both included. */
  nearest(arm: Arm, order: 'asc' | 'desc', from: number, to: number): number | undefined
  /** The instruments of a feed that may have rows between two times. */
  instruments(feed: number, from: number, to: number): string[]
  last(arm: Arm, instrument: string, from: number, to: number): Row | undefined
}

export function stepEnd(ts: number, stepMs: number): number {
  return Math.ceil(ts / stepMs) * stepMs
}

export function sampledRows<Row extends { position: Position }>(
  samples: Samples<Row>,
  arms: readonly Arm[],
  query: SeriesQuery & { stepMs: number },
  limit: number,
): Row[] {
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
    const times = arms.map((arm) => samples.nearest(arm, order, from, to)).filter((ts) => ts !== undefined)
    if (times.length === 0) break
    const end = stepEnd(ascending ? Math.min(...times) : Math.max(...times), stepMs)
    const low = Math.max(end - stepMs + 1, query.range.from)
    const high = Math.min(end, rangeEnd)
    const inStep: Row[] = []
    for (const arm of arms) {
      const instruments =
        arm.instrument === undefined ? samples.instruments(arm.feed, low, high) : [arm.instrument]
      for (const instrument of instruments) {
        const row = samples.last(arm, instrument, low, high)
        if (row !== undefined) inStep.push(row)
      }
    }
    inStep.sort((a, b) => comparePositions(a.position, b.position) * (ascending ? 1 : -1))
    for (const row of inStep) if (isAfter(row.position, query)) found.push(row)
    if (ascending) from = end + 1
    else to = end - stepMs
  }
  return found.slice(0, limit)
}
