/** Creates the recorder for a venue's kind of plan. */
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import type { RecordingPlan } from '../venues/plan.ts'
import type { Venue } from '../venues/venue.ts'
import type { AuditOptions } from './audit/audit.ts'
import { recordExchange } from './exchange/record-exchange.ts'
import { recordOracle } from './oracle/record-oracle.ts'
import { recordPredictions } from './prediction/record-predictions.ts'
import type { BackfillPace } from './shared/backfill-pace.ts'
import type { Recorder } from './shared/recorder.ts'

export interface RecorderParts {
  readonly venue: Venue
  readonly store: EnvironmentStore
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly pace?: BackfillPace
  readonly audit?: AuditOptions
}

export function chooseRecorder(plan: RecordingPlan, parts: RecorderParts): Recorder {
  switch (plan.kind) {
    case 'exchange':
      return recordExchange({ ...parts, plan })
    case 'markets':
      return recordPredictions({ ...parts, plan })
    case 'oracle':
      return recordOracle({ ...parts, heartbeatMs: heartbeatOf(parts.venue) })
  }
}

export function heartbeatOf({ describe }: Venue): number {
  if (describe.heartbeatMs === undefined)
    throw new RangeError(`${describe.name} has no heartbeat in its description`)
  return describe.heartbeatMs
}
