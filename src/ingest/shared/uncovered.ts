import type { HistoryRange } from '../../venues/venue.ts'

/** The parts of a range that lie in none of the ascending ranges. */
export function uncovered(range: HistoryRange, covered: readonly HistoryRange[]): HistoryRange[] {
  const rests: HistoryRange[] = []
  let atMs = range.fromMs
  for (const { fromMs, toMs } of covered) {
    if (fromMs > atMs) rests.push({ fromMs: atMs, toMs: Math.min(fromMs, range.toMs) })
    atMs = Math.max(atMs, toMs)
    if (atMs >= range.toMs) return rests
  }
  return [...rests, { fromMs: atMs, toMs: range.toMs }]
}
