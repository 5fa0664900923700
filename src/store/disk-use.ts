/** What a store takes on its disk, part by part. Measuring reads much: off the threads that answer callers, and seldom. */
import type { Environment } from '../core/environment.ts'
import type { Dataset } from '../core/feed.ts'

/** `other`: coverage, the catalogue of markets, old versions of rows. */
export type StorePart = Dataset | 'chain' | 'webhooks' | 'accounts' | 'other'

export interface PartUse {
  /** Null where both share it. */
  readonly environment: Environment | null
  readonly part: StorePart
  /** With its share of the indexes. */
  readonly bytes: number
  /** An engine may estimate it; null where rows are not counted. */
  readonly rows: number | null
}

export interface DiskUse {
  readonly parts: readonly PartUse[]
  /** Bytes of deleted rows, which the next rows take; the system does not get them back. */
  readonly reusableBytes: number
}

/** Divides what several parts take together, by what each of them holds. */
export function shareOf<P extends { readonly weight: number }>(
  parts: readonly P[],
  bytes: number,
): (P & { bytes: number })[] {
  const all = parts.reduce((sum, { weight }) => sum + weight, 0)
  return parts.map((part) => ({ ...part, bytes: all === 0 ? 0 : Math.round((bytes * part.weight) / all) }))
}
