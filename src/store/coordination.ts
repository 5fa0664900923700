/** What the processes on one store share with each other besides the data itself. */
import type { AttemptCounts } from './attempt-counts.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { SharedCounts } from './shared-counts.ts'
import type { SharedSecrets } from './shared-secrets.ts'

export interface CoordinationStore extends SharedCounts, AttemptCounts, SharedSecrets, Heartbeats {
  close(): Promise<void>
}
