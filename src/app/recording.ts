/** Starts what records an environment: the simulated exchanges where they stand for the venues, and the recorders. */
import { crc32 } from 'node:zlib'
import type { ServiceStatus } from '../api/endpoints/services.ts'
import { formatTime } from '../core/time.ts'
import type { SourceStatus } from '../ingest/supervise.ts'
import { EXCHANGES, SANDBOX_FILE, type SandboxReady } from './exchanges.ts'
import { type KeptThread, keepThread } from './keep-thread.ts'
import type { Parts } from './parts.ts'
import type { RecordMessage, RecordOptions } from './record-thread.ts'

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
  let sources: readonly SourceStatus[] = []
  let toldMs = startedMs
  let sandboxUrl = ''
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
        toldMs = clock.now()
      },
    })
  }

  /** The addresses of the simulators are known when they are up; after a restart of theirs they are new ones. */
  function onSandbox(message: unknown): void {
    const ready = message as SandboxReady
    if (ready.controlUrl === sandboxUrl) return
    sandboxUrl = ready.controlUrl
    log.info({ control: ready.controlUrl }, 'simulated exchanges are up')
    const venues = EXCHANGES.map(({ name, sandbox }) => ({
      name,
      hosts: { rest: ready[sandbox].restUrl, stream: ready[sandbox].wsUrl },
    }))
    const before = recording
    recording = undefined
    Promise.resolve(before?.close()).then(() => {
      recording = record(venues)
    })
  }

  if (environment === 'test' && config.sandbox) {
    threads.push(
      keepThread({
        name: 'simulated exchanges',
        file: SANDBOX_FILE,
        data: { seed: crc32(config.seed) },
        clock,
        log,
        onMessage: onSandbox,
      }),
    )
  } else if (environment === 'live') {
    const venues = EXCHANGES.filter(({ source }) => config.live.includes(source)).map(({ name }) => ({
      name,
    }))
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
  sources: readonly SourceStatus[],
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

function rowOf(status: SourceStatus, nowMs: number, isSilent: boolean): ServiceStatus['ingestion'][number] {
  const { lastEventMs } = status
  return {
    source: status.source,
    status: isSilent ? 'down' : status.state,
    last_event_at: lastEventMs === null ? null : formatTime(lastEventMs),
    lag_seconds: lastEventMs === null ? null : Math.max(0, Math.round((nowMs - lastEventMs) / 100) / 10),
    rows_inserted: status.rowsInserted,
    gaps_24h: status.gaps24h,
    backfill: status.backfill,
  }
}
