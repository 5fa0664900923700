/**
 * How the memory for caches (TAPELINE_CACHE_MB) is split: the share of every connection, and of what is kept of blocks
 * in memory. An environment has about all of it together. Caches fill as they are used, so a process that serves no
 * history uses little of it; writers need the pages that they append to and no more.
 */
const SHARES = {
  /** Pages that the API reads. */
  api: 1 / 4,
  /** Pages that long reads need, beside the unpacked blocks. */
  longReads: 1 / 32,
  /** Pages that a recorder reads back: the newest. */
  recorder: 1 / 32,
  /** Pages that a writer thread appends to. */
  writer: 1 / 16,
  /** Final candles as served bytes; and as much again for unpacked blocks of books. */
  blocks: 1 / 4,
  /** The chain index, read by the API or written by the indexer. */
  chain: 1 / 8,
  /** Point look-ups in small files; two megabytes each unless the setting says otherwise. */
  jobs: 1 / 64,
  accounts: 1 / 64,
} as const

export type CacheUse = keyof typeof SHARES

export const DEFAULT_CACHE_MB = 128

export function cacheBytesFor(use: CacheUse, cacheMb = DEFAULT_CACHE_MB): number {
  return Math.round(SHARES[use] * cacheMb * 1024 * 1024)
}
