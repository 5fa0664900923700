/** Starts what records an environment: the simulated venues where they stand for the venues, and the recorders. */
import { crc32 } from 'node:zlib'
import type { ServiceStatus } from '../api/endpoints/services.ts'
import { formatTime } from '../core/time.ts'
import { EXCHANGES, SANDBOX_FILE, type SandboxReady } from './exchanges.ts'
import { type KeptThread, keepThread } from './keep-thread.ts'
import type { Parts } from './parts.ts'
import {
  liveSetting,
  PREDICTIONS,
  type PredictionsReady,
  SANDBOX_PREDICTIONS_FILE,
  sandboxPredictions,
} from './predictions.ts'
import type { RecordMessage, RecordOptions } from './record-thread.ts'

export interface Recording {
  ingestion(): ServiceStatus['ingestion']
}

const RECORD_FILE = new URL('./record-thread.ts', import.meta.url)
/** A source needs a moment to come up before its absence is a fault. */
const STARTING_MS = 30_000
const STATUS_FRESH_MS = 20_000

export function startRecording(parts: Parts, file: string): Recording {
  const { environment, config, clock, log, shutdown } = parts
  const threads: KeptThread[] = []
  const startedMs = clock.now()
  let sources: RecordMessage['sources'] = []
  const cameUp = new Set<string>()
  let toldMs = startedMs
  const ready: { exchanges?: SandboxReady; predictions?: PredictionsReady } = {}
  let recording: KeptThread | undefined

  function record(venues: RecordOptions['venues']): KeptThread {
    return keepThread({
      name: `${environment} recorders`,
      file: RECORD_FILE,
      data: { file, logLevel: config.logLevel, venues } satisfies RecordOptions,
      clock,
      log,
      onMessage(message) {
        sources = (message as RecordMessage).sources
        for (const { source, state } of sources) if (state === 'healthy') cameUp.add(source)
        toldMs = clock.now()
      },
    })
  }

  /** The addresses of the simulators are known when both are up; after a restart of one they are new ones. */
  function onSandbox(): void {
    const { exchanges, predictions } = ready
    if (exchanges === undefined || predictions === undefined) return
    const venues = [
      ...EXCHANGES.map(({ name, sandbox }) => ({
        name,
        hosts: { rest: exchanges[sandbox].restUrl, stream: exchanges[sandbox].wsUrl },
      })),
      ...sandboxPredictions(predictions),
    ]
    const before = recording
    recording = undefined
    Promise.resolve(before?.close()).then(() => {
      recording = record(venues)
    })
  }

  if (environment === 'test' && config.sandbox) {
    // One seed: the simulated markets ask about the simulated exchanges' prices.
    const seed = crc32(config.seed)
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
      simulate(
        'simulated exchanges',
        SANDBOX_FILE,
        { seed, tradesPerSecond: config.sandboxTrades },
        (message) => {
          ready.exchanges = message as SandboxReady
        },
      ),
      simulate('simulated prediction markets', SANDBOX_PREDICTIONS_FILE, { seed }, (message) => {
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
      async check() {
        const nowMs = clock.now()
        const isStarting = nowMs - startedMs < STARTING_MS
        if (isStarting && sources.length === 0) return
        if (nowMs - toldMs > STATUS_FRESH_MS) throw new Error('the recorders give no sign of life')
        checkSources(isStarting ? sources.filter(({ source }) => cameUp.has(source)) : sources)
      },
    })
  }

  return {
    ingestion: () =>
      sources.map((status) => rowOf(status, clock.now(), clock.now() - toldMs > STATUS_FRESH_MS)),
  }
}

function checkSources(sources: RecordMessage['sources']): void {
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
