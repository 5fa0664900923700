/** What records an environment: its recorders, and in the test environment the simulated venues. */
import type { ServiceStatus } from '../api/endpoints/services.ts'
import type { Source } from '../core/source.ts'
import { formatTime } from '../core/time.ts'
import { type SupervisedThread, superviseThread } from '../kit/supervise-thread.ts'
import { EXCHANGES, SANDBOX_FILE, type SandboxReady, sandboxExchanges, sandboxWorld } from './exchanges.ts'
import { ingestMetrics } from './ingest-metrics.ts'
import { liveSetting } from './live-setting.ts'
import type { VenueSetting } from './open-venue.ts'
import type { EnvironmentParts } from './parts.ts'
import {
  PREDICTION_VENUES,
  type PredictionsReady,
  SANDBOX_PREDICTIONS_FILE,
  sandboxPredictions,
} from './predictions.ts'
import { createRecorderThread, type RecorderThread } from './record-thread.ts'
import type { RecordMessage } from './record-worker.ts'
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

export function prepareRecording(parts: EnvironmentParts, file: string): Recording {
  const { environment, config, clock, log, shutdown, metrics } = parts
  const showPast = showBackfill({ environment, log, clock })
  const count = ingestMetrics(metrics, environment)
  const recorders = createRecorderThread(parts, {
    file,
    onReport(message) {
      count(message)
      showPast(message)
    },
  })
  const hasSandbox = environment === 'test' && config.sandbox
  let simulators: SupervisedThread[] = []
  shutdown.add(`${environment} recording`, async () => {
    await recorders.close()
    await Promise.all(simulators.map((thread) => thread.close()))
  })
  if (hasSandbox || (environment === 'live' && config.live.length > 0))
    parts.probes.push({ name: `${environment} recorders`, check: async () => recorders.check() })
  return {
    begin() {
      if (hasSandbox) simulators = startSandbox(parts, recorders)
      if (environment === 'live') startLive(parts, recorders)
    },
    ingestion: () => recorders.sources().map((report) => rowOf(report, clock.now())),
  }
}

/** A simulator reports its addresses when it is up, and other ones after it was restarted. */
function startSandbox(
  { config, clock, log }: EnvironmentParts,
  recorders: RecorderThread,
): SupervisedThread[] {
  // One world: the simulated markets are about the simulated exchanges' prices.
  const data = sandboxWorld(config)
  const settings = new Map<string, readonly VenueSetting[]>()
  const simulators = [
    { name: 'simulated exchanges', file: SANDBOX_FILE, settingsOf: sandboxExchanges },
    {
      name: 'simulated prediction markets',
      file: SANDBOX_PREDICTIONS_FILE,
      settingsOf: sandboxPredictions,
    },
  ]
  return simulators.map(({ name, file, settingsOf }) =>
    superviseThread({
      ...{ name, file, data, clock, log },
      onMessage(message) {
        const ready = message as SandboxReady & PredictionsReady
        log.info({ control: ready.controlUrl }, `${name} are up`)
        settings.set(name, settingsOf(ready))
        if (settings.size === simulators.length) recorders.start([...settings.values()].flat())
      },
    }),
  )
}

function startLive({ config }: EnvironmentParts, recorders: RecorderThread): void {
  const venues = [...EXCHANGES, ...PREDICTION_VENUES]
    .filter(({ source }) => config.live.includes(source))
    .map(({ name }) => liveSetting(name, config))
  if (venues.length > 0) recorders.start(venues)
}

function rowOf(
  { source, state, lastEventMs, rowsInserted, gaps24h, backfill, notice }: RecordMessage['sources'][number],
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
    notice,
  }
}
