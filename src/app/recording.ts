/** What records an environment: the simulated venues where they stand for the venues, and the recorders. */
import type { ServiceStatus } from '../api/endpoints/services.ts'
import type { Source } from '../core/source.ts'
import { formatTime } from '../core/time.ts'
import { type SupervisedThread, superviseThread } from '../kit/supervise-thread.ts'
import { EXCHANGES, SANDBOX_FILE, type SandboxReady, sandboxExchanges, sandboxWorld } from './exchanges.ts'
import { ingestMetrics } from './ingest-metrics.ts'
import { liveSetting } from './live-setting.ts'
import type { EnvironmentParts } from './parts.ts'
import {
  PREDICTION_VENUES,
  type PredictionsReady,
  SANDBOX_PREDICTIONS_FILE,
  sandboxPredictions,
} from './predictions.ts'
import type { RecordMessage } from './record-thread.ts'
import { type RecorderGroup, recorderGroup } from './recorder-group.ts'
import { showBackfill } from './show-backfill.ts'

/** What a recorder says of its source; what it has observed is in the store. */
export type IngestionRow = Omit<ServiceStatus['ingestion'][number], 'coverage' | 'source'> & {
  source: Source
}

export interface Recording {
  /** Once the API listens: what records must not hold up its start. */
  begin(): void
  ingestion(): IngestionRow[]
}

interface Groups {
  readonly exchanges: RecorderGroup
  readonly predictions: RecorderGroup
}

export function prepareRecording(parts: EnvironmentParts, file: string): Recording {
  const { environment, config, clock, log, shutdown, metrics } = parts
  const showPast = showBackfill({ environment, log, clock })
  const countExchanges = ingestMetrics(metrics, environment)
  const groups: Groups = {
    exchanges: recorderGroup(parts, {
      name: 'exchange recorders',
      file,
      onReport(message) {
        countExchanges(message)
        showPast(message)
      },
    }),
    predictions: recorderGroup(parts, {
      name: 'market recorders',
      file,
      onReport: ingestMetrics(metrics, environment),
    }),
  }
  const hasSandbox = environment === 'test' && config.sandbox
  let simulators: SupervisedThread[] = []
  const all = [groups.exchanges, groups.predictions]
  shutdown.add(`${environment} recording`, async () => {
    await Promise.all(all.map((group) => group.close()))
    await Promise.all(simulators.map((thread) => thread.close()))
  })
  if (hasSandbox || (environment === 'live' && config.live.length > 0))
    parts.probes.push({
      name: `${environment} recorders`,
      check: async () => {
        for (const group of all) group.check()
      },
    })
  return {
    begin() {
      if (hasSandbox) simulators = startSandbox(parts, groups)
      if (environment === 'live') startLive(parts, groups)
    },
    ingestion: () => all.flatMap((group) => group.sources().map((report) => rowOf(report, clock.now()))),
  }
}

/** The addresses of a simulator are known when it is up; after its restart they are new ones. */
function startSandbox(
  { config, clock, log }: EnvironmentParts,
  { exchanges, predictions }: Groups,
): SupervisedThread[] {
  // One world: the simulated markets ask about the simulated exchanges' prices.
  const data = sandboxWorld(config)
  const simulate = <T extends { controlUrl: string }>(
    name: string,
    options: { file: URL; data: Record<string, number> },
    onReady: (message: T) => void,
  ) =>
    superviseThread({
      ...{ name, clock, log, ...options },
      onMessage(message) {
        const told = message as T
        log.info({ control: told.controlUrl }, `${name} are up`)
        onReady(told)
      },
    })
  return [
    simulate<SandboxReady>('simulated exchanges', { file: SANDBOX_FILE, data }, (ready) =>
      exchanges.start(sandboxExchanges(ready)),
    ),
    simulate<PredictionsReady>(
      'simulated prediction markets',
      { file: SANDBOX_PREDICTIONS_FILE, data },
      (ready) => predictions.start(sandboxPredictions(ready)),
    ),
  ]
}

function startLive({ config }: EnvironmentParts, groups: Groups): void {
  for (const [group, known] of [
    [groups.exchanges, EXCHANGES],
    [groups.predictions, PREDICTION_VENUES],
  ] as const) {
    const venues = known
      .filter(({ source }) => config.live.includes(source))
      .map(({ name }) => liveSetting(name, config))
    if (venues.length > 0) group.start(venues)
  }
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
