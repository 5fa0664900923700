/** What records an environment: its recorders, and in the test environment the simulated venues. */
import type { ServiceStatus } from '../api/endpoints/account/service-status.ts'
import type { Source } from '../core/source.ts'
import { formatTime } from '../core/time.ts'
import { sumAudits } from '../ingest/audit/audit.ts'
import { type SupervisedThread, superviseThread } from '../kit/supervise-thread.ts'
import { VENUE_NAMES, VENUES } from '../venues/list.ts'
import { ingestMetrics } from './ingest-metrics.ts'
import { liveSetting } from './live-setting.ts'
import type { EnvironmentParts } from './parts.ts'
import { createRecorderThread, type RecorderThread } from './record-thread.ts'
import type { RecordMessage } from './record-worker.ts'
import { SANDBOX_FILE, type SandboxReady, sandboxVenues, sandboxWorld } from './sandbox-venues.ts'
import { showBackfill } from './show-backfill.ts'

/** The status of a source; its coverage is read from the store. */
type IngestionRow = Omit<ServiceStatus['ingestion'][number], 'coverage' | 'source'> & {
  source: Source
}

export interface Recording {
  /** Called when the API listens, so that recording does not delay its start. */
  begin(): void
  ingestion(): IngestionRow[]
}

export function prepareRecording(parts: EnvironmentParts): Recording {
  const { environment, config, clock, log, shutdown, metrics } = parts
  const showPast = showBackfill({ environment, log, clock })
  const count = ingestMetrics(metrics, environment)
  const recorders = createRecorderThread(parts, {
    onReport(message) {
      count(message)
      showPast(message)
    },
  })
  const hasSandbox = environment === 'test' && config.sandbox
  let simulator: SupervisedThread | undefined
  shutdown.add(`${environment} recording`, async () => {
    await recorders.close()
    await simulator?.close()
  })
  if (hasSandbox || (environment === 'live' && config.live.length > 0))
    parts.probes.push({ name: `${environment} recorders`, check: async () => recorders.check() })
  return {
    begin() {
      if (hasSandbox) simulator = startSandbox(parts, recorders)
      if (environment === 'live') startLive(parts, recorders)
    },
    ingestion: () => recorders.sources().map((report) => rowOf(report, clock.now())),
  }
}

/** The simulated world lives in some 40 MB; a small nursery keeps the rest of the heap from growing beside it. */
const SANDBOX_HEAP_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 }

/** The simulator reports its addresses when it is up, and other ones after it was restarted. */
function startSandbox({ config, clock, log }: EnvironmentParts, recorders: RecorderThread): SupervisedThread {
  return superviseThread({
    ...{ name: 'simulated venues', file: SANDBOX_FILE, data: sandboxWorld(config), clock, log },
    limits: SANDBOX_HEAP_LIMITS,
    onMessage(message) {
      const ready = message as SandboxReady
      const { exchanges, predictions } = ready
      log.info({ control: exchanges.controlUrl }, 'simulated exchanges are up')
      log.info({ control: predictions.controlUrl }, 'simulated prediction markets are up')
      recorders.start(sandboxVenues(ready))
    },
  })
}

function startLive({ config }: EnvironmentParts, recorders: RecorderThread): void {
  const venues = VENUE_NAMES.filter((name) => config.live.includes(VENUES[name].plan.source)).map((name) =>
    liveSetting(name, config),
  )
  if (venues.length > 0) recorders.start(venues)
}

function rowOf(
  {
    source,
    state,
    lastEventMs,
    rowsInserted,
    gaps24h,
    backfill,
    notice,
    detail,
  }: RecordMessage['sources'][number],
  nowMs: number,
): IngestionRow {
  return {
    source,
    status: state,
    last_event_at: lastEventMs === null ? null : formatTime(lastEventMs),
    lag_seconds: lastEventMs === null ? null : Math.max(0, Math.round((nowMs - lastEventMs) / 100) / 10),
    rows_inserted: rowsInserted,
    gaps_24h: gaps24h,
    backfill,
    audit: sumAudits(detail.audits),
    notice,
  }
}
