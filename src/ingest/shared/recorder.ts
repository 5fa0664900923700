/** What the supervisor runs: something that records one venue until it is stopped. */
import type { Feed } from '../../core/feed.ts'
import type { Source } from '../../core/source.ts'
import type { Clock } from '../../kit/clock.ts'
import type { AuditCounts } from '../audit/audit.ts'

export interface Recorder {
  readonly name: string
  readonly source: Source
  /** The clock of the recorded data, if it is not the clock of the process. */
  readonly clock?: Clock
  /** Records until the signal; rejects on a fault that it cannot recover from. May be called again. */
  run(signal: AbortSignal): Promise<void>
  status(): RecorderStatus
}

interface RecordedFeed {
  readonly feed: Feed
  /** How far the feed's coverage may be behind the present; a polled feed is observed only up to the last answer. */
  readonly lagMs: number
}

export interface RecorderStatus {
  readonly name: string
  readonly source: Source
  readonly channels: number
  readonly channelsUp: number
  readonly lastEventMs: number | null
  readonly rowsInserted: number
  readonly waitingRows: number
  /** Why the store does not accept rows; null while it does. */
  readonly storeFailure: string | null
  /** Null before the backfill has started. */
  readonly backfill: BackfillProgress | null
  readonly counts: Readonly<Record<string, number>>
  /** What the self-checks examined and found. */
  readonly audits: AuditCounts
  /** The feeds that the recorder writes. */
  readonly feeds: readonly RecordedFeed[]
}

export interface BackfillProgress {
  /** Chunks of time to request, and how many of them are done. */
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly step: string
  readonly isFinished: boolean
}
