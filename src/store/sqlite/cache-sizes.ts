/**
 * How the memory for caches (TAPELINE_CACHE_MB) is divided between the connections and the blocks kept in memory.
 * Together, the caches of an environment take at most all of it. Caches fill as they are used, so a process that serves
 * no history uses little; writers only need the pages that they append to.
 *
 * `parts` are 64ths of the memory for each cache, which is two megabytes with the default setting; `caches` is how many
 * of them a service has per environment.
 */
const DIVISION = {
  /** Pages that the API reads. */
  api: { parts: 11, caches: 1 },
  /** Pages that long reads need besides the unpacked blocks. */
  longReads: { parts: 1, caches: 1 },
  /** Pages that the recorder and the retention read back, which are the newest. */
  recorder: { parts: 1, caches: 2 },
  /** Pages that a writer thread appends to: that of the recorder and that of the retention. */
  writer: { parts: 2, caches: 2 },
  /** What the API has read: final candles as served bytes, blocks of packed rows, and unpacked blocks of books. */
  blocks: { parts: 27, caches: 1 },
  /** The same for a recorder, which reads few of them. */
  recorderBlocks: { parts: 3, caches: 1 },
  /** The chain index, read by the API and written by the indexer. */
  chain: { parts: 6, caches: 2 },
  /** Point look-ups in small files, and their writers. */
  jobs: { parts: 1, caches: 2 },
  accounts: { parts: 1, caches: 2 },
} as const
const ALL_PARTS = 64

export type CacheUse = keyof typeof DIVISION

export const DEFAULT_CACHE_MB = 128

export function cacheBytesFor(use: CacheUse, cacheMb = DEFAULT_CACHE_MB): number {
  return Math.floor((DIVISION[use].parts / ALL_PARTS) * cacheMb * 1024 * 1024)
}

/** What all caches of an environment may take together. */
export function allCacheBytes(cacheMb = DEFAULT_CACHE_MB): number {
  const uses = Object.keys(DIVISION) as CacheUse[]
  return uses.reduce((sum, use) => sum + DIVISION[use].caches * cacheBytesFor(use, cacheMb), 0)
}
