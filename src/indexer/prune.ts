/** Deletes data beyond the retention settings, in small steps, so that no write takes long. */
import type { Clock } from '../kit/clock.ts'
import type { Indexer } from './indexer.ts'

export interface RetentionSettings {
  /** Limits of the event log, by age and by size. */
  eventDays: number
  eventBytes: number
  /** Days of transactions; null retains all. */
  indexDays: number | null
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Three days at ten blocks per second: longer than any node retains blocks. */
const CHAIN_BLOCKS = 2_600_000
const SEEN_MS = 6 * HOUR_MS
const EVERY_MS = 60_000
const BETWEEN_STEPS_MS = 20

export async function keepPruning(options: {
  indexer: Indexer
  clock: Clock
  signal: AbortSignal
  keep: RetentionSettings
  onTrouble: (detail: string) => void
}): Promise<void> {
  const { indexer, clock, signal, keep } = options
  while (!signal.aborted) {
    let more = false
    try {
      more = await indexer.prune(
        { maxAgeMs: keep.eventDays * DAY_MS, maxBytes: keep.eventBytes },
        {
          maxTransactionAgeMs: keep.indexDays === null ? null : keep.indexDays * DAY_MS,
          maxDroppedAgeMs: DAY_MS,
          chainBlocks: CHAIN_BLOCKS,
          maxSeenAgeMs: SEEN_MS,
        },
      )
    } catch (error) {
      options.onTrouble(error instanceof Error ? error.message : String(error))
    }
    await clock.sleep(more ? BETWEEN_STEPS_MS : EVERY_MS, signal).catch(() => {})
  }
}
