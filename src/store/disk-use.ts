/**
 * How much disk each part of a store takes. Measuring reads a lot, so it runs rarely and off the threads that serve
 * requests.
 */
import type { Environment } from '../core/environment.ts'
import type { Dataset } from '../core/feed.ts'

/** `other` holds coverage, the market catalogue and old versions of rows. */
export type StorePart = Dataset | 'chain' | 'webhooks' | 'accounts' | 'other'

export interface PartUse {
  /** Null for a part that both environments share. */
  readonly environment: Environment | null
  readonly part: StorePart
  /** Includes the part's share of the indexes. */
  readonly bytes: number
  /** May be an estimate; null if rows are not counted. */
  readonly rows: number | null
}

export interface DiskUse {
  readonly parts: readonly PartUse[]
  /** Bytes of deleted rows. New rows reuse them, but they are not returned to the file system. */
  readonly reusableBytes: number
}

/** Divides bytes that several parts take together in proportion to their weights. */
export function shareOf<P extends { readonly weight: number }>(
  parts: readonly P[],
  bytes: number,
): (P & { bytes: number })[] {
  const all = parts.reduce((sum, { weight }) => sum + weight, 0)
  return parts.map((part) => ({ ...part, bytes: all === 0 ? 0 : Math.round((bytes * part.weight) / all) }))
}
