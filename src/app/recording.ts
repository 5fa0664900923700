/** Starts what records an environment: the simulated venues where they stand for the venues, and the recorders. */
import type { ServiceStatus } from '../api/endpoints/services.ts'
import { formatTime } from '../core/time.ts'
import { EXCHANGES, SANDBOX_FILE, type SandboxReady, sandboxExchanges, sandboxWorld } from './exchanges.ts'
import { ingestMetrics } from './ingest-metrics.ts'
import { type KeptThread, keepThread } from './keep-thread.ts'
import { liveSetting } from './live-setting.ts'
import type { Parts } from './parts.ts'
import {
  PREDICTIONS,
  type PredictionsReady,
  SANDBOX_PREDICTIONS_FILE,
  sandboxPredictions,
} from './predictions.ts'
import type { RecordMessage, RecordOptions } from './record-thread.ts'
import { showBackfill } from './show-backfill.ts'

export interface Recording {
  ingestion(): ServiceStatus['ingestion']
}

const RECORD_FILE = new URL('./record-thread.ts', import.meta.url)
/** Feeds need a moment to come up before their absence is a fault. */
const STARTING_MS = 30_000
const STATUS_FRESH_MS = 20_000

export function startRecording(parts: Parts, file: string): Recording {
  const { environment, config, clock, log, shutdown } = parts
  const threads: KeptThread[] = []
  const startedMs = clock.now()
  let sources: RecordMessage['sources'] = []
  let toldMs = startedMs
  const ready: { exchanges?: SandboxReady; predictions?: PredictionsReady } = {}
  let recording: KeptThread | undefined
  const count = ingestMetrics(parts.metrics, environment)
  const showPast = showBackfill({ environment, log, clock })

  function record(venues: RecordOptions['venues']): KeptThread {
    return keepThread({
      name: `${environment} recorders`,
      file: RECORD_FILE,
      data: { file, logLevel: config.logLevel, venues } satisfies RecordOptions,
      clock,
      log,
      onMessage(message) {
        const told = message as RecordMessage
        sources = told.sources
        count(told)
        showPast(told)
        toldMs = clock.now()
      },
    })
  }

  /** The addresses of the simulators are known when both are up; after a restart of one they are new ones. */
  function onSandbox(): void {
    const { exchanges, predictions } = ready
    if (exchanges === undefined || predictions === undefined) return
    const venues = [...sandboxExchanges(exchanges), ...sandboxPredictions(predictions)]
    const before = recording
    recording = undefined
    Promise.resolve(before?.close()).then(() => {
      recording = record(venues)
    })
  }

  if (environment === 'test' && config.sandbox) {
    // One world: the simulated markets ask about the simulated exchanges' prices.
    const world = sandboxWorld(config)
    const simulate = (
      name: string,
      file: URL,
      data: Record<string, number>,
      onReady: (message: { controlUrl: string }) => void,
    ) =>
      keepThread({
        name,
        file,
        data,
        clock,
        log,
        onMessage(message) {
          const told = message as { controlUrl: string }
          log.info({ control: told.controlUrl }, `${name} are up`)
          onReady(told)
          onSandbox()
        },
      })
    threads.push(
      simulate('simulated exchanges', SANDBOX_FILE, world, (message) => {
        ready.exchanges = message as SandboxReady
      }),
      simulate('simulated prediction markets', SANDBOX_PREDICTIONS_FILE, world, (message) => {
        ready.predictions = message as PredictionsReady
      }),
    )
  } else if (environment === 'live') {
    const venues = [...EXCHANGES, ...PREDICTIONS]
      .filter(({ source }) => config.live.includes(source))
      .map(({ name }) => liveSetting(name, config))
    if (venues.length > 0) recording = record(venues)
  }
  shutdown.add(`${environment} recording`, async () => {
    await recording?.close()
    await Promise.all(threads.map((thread) => thread.close()))
  })
  if (threads.length > 0 || recording !== undefined) {
    parts.probes.push({
      name: `${environment} recorders`,
      check: async () => checkSources(sources, toldMs, clock.now(), startedMs),
    })
  }

  return {
    ingestion: () =>
      sources.map((status) => rowOf(status, clock.now(), clock.now() - toldMs > STATUS_FRESH_MS)),
  }
}

function checkSources(
  sources: RecordMessage['sources'],
  toldMs: number,
  nowMs: number,
  startedMs: number,
): void {
  if (nowMs - startedMs < STARTING_MS) return
  if (nowMs - toldMs > STATUS_FRESH_MS) throw new Error('the recorders give no sign of life')
  const failing = sources.filter(({ state }) => state !== 'healthy')
  if (failing.length === 0) return
  throw new Error(
    failing
      .map(({ source, state, detail }) =>
        detail.storeFailure === null
          ? `${source} is ${state} (${detail.channelsUp} of ${detail.channels} channels)`
          : `${source} cannot be written: ${detail.storeFailure}`,
      )
      .join('; '),
  )
}

function rowOf(
  status: RecordMessage['sources'][number],
  nowMs: number,
  isSilent: boolean,
): ServiceStatus['ingestion'][number] {
  const { lastEventMs } = status
  return {
    source: status.source,
    status: isSilent ? 'down' : status.state,
    last_event_at: lastEventMs === null ? null : formatTime(lastEventMs),
    lag_seconds: lastEventMs === null ? null : Math.max(0, Math.round((nowMs - lastEventMs) / 100) / 10),
    rows_inserted: status.rowsInserted,
    gaps_24h: status.gaps24h,
    backfill: status.backfill,
    notice: status.notice,
  }
}
