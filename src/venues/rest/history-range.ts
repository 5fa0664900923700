/** Arithmetic of half-open ranges, for walks through a venue's history. */
import type { HistoryPage, HistoryRange } from '../venue.ts'

export function rangeOrNull(fromMs: number, toMs: number): HistoryRange | null {
  return toMs > fromMs ? { fromMs, toMs } : null
}

/** Splits a range into the part that the venue no longer has and the part that it has; null for an empty part. */
export function splitByAge(
  range: HistoryRange,
  oldestMs: number,
): { lost: HistoryRange | null; kept: HistoryRange | null } {
  const cutMs = Math.min(Math.max(range.fromMs, oldestMs), range.toMs)
  return { lost: rangeOrNull(range.fromMs, cutMs), kept: rangeOrNull(cutMs, range.toMs) }
}

/** A page for a range that the venue does not provide. */
export function notProvided(range: HistoryRange): HistoryPage {
  return { observations: [], covered: null, missing: [{ range, reason: 'not_provided' }] }
}

export function ceilTo(valueMs: number, stepMs: number): number {
  return Math.ceil(valueMs / stepMs) * stepMs
}

export function floorTo(valueMs: number, stepMs: number): number {
  return Math.floor(valueMs / stepMs) * stepMs
}
