/**
 * Recorders that share a thread. The exchanges have one of their own: their trades come in thousands, and what a
 * prediction market needs at its turn of the hour must not hold them up.
 */

import { STARTING_MS } from '../api/endpoints/account/service-status.ts'
import { type SupervisedThread, superviseThread } from '../kit/supervise-thread.ts'
import type { EnvironmentParts } from './parts.ts'
import type { RecordMessage, RecordOptions } from './record-thread.ts'

const RECORD_FILE = new URL('./record-thread.ts', import.meta.url)
const STATUS_FRESH_MS = 20_000

type SourceReport = RecordMessage['sources'][number]

export interface RecorderGroup {
  /** Starts, or starts anew with other addresses. */
  start(venues: RecordOptions['venues']): void
  /** What the sources say; one that gives no sign of life is down, whatever it said last. */
  sources(): SourceReport[]
  /** Throws what is wrong. */
  check(): void
  close(): Promise<void>
}

export function recorderGroup(
  { environment, config, clock, log }: EnvironmentParts,
  options: { name: string; file: string; onReport: (message: RecordMessage) => void },
): RecorderGroup {
  const name = `${environment} ${options.name}`
  const cameUp = new Set<string>()
  let sources: RecordMessage['sources'] = []
  let startedMs = clock.now()
  let toldMs = startedMs
  let thread: Promise<SupervisedThread> | undefined

  const isSilent = () => clock.now() - toldMs > STATUS_FRESH_MS

  function run(venues: RecordOptions['venues']): SupervisedThread {
    startedMs = toldMs = clock.now()
    return superviseThread({
      name,
      file: RECORD_FILE,
      data: {
        file: options.file,
        logLevel: config.logLevel,
        logFormat: config.logFormat === 'auto' ? 'json' : config.logFormat,
        venues,
        firstFillDays: config.firstFillDays,
      } satisfies RecordOptions,
      clock,
      log,
      onMessage(message) {
        const told = message as RecordMessage
        sources = told.sources
        options.onReport(told)
        for (const { source, state } of sources) if (state === 'healthy') cameUp.add(source)
        toldMs = clock.now()
      },
    })
  }

  return {
    start(venues) {
      const before = thread
      thread = Promise.resolve(before)
        .then((running) => running?.close())
        .then(() => run(venues))
    },
    sources: () => sources.map((report) => (isSilent() ? { ...report, state: 'down' as const } : report)),
    check() {
      if (thread === undefined) return
      const isStarting = clock.now() - startedMs < STARTING_MS
      if (isStarting && sources.length === 0) return
      if (isSilent()) throw new Error(`the ${name} give no sign of life`)
      const failing = sources.filter(
        ({ source, state }) => state !== 'healthy' && (!isStarting || cameUp.has(source)),
      )
      if (failing.length > 0) throw new Error(failing.map(complaintOf).join('; '))
    },
    close: async () => (await thread)?.close(),
  }
}

function complaintOf({ source, state, detail }: SourceReport): string {
  return detail.storeFailure === null
    ? `${source} is ${state} (${detail.channelsUp} of ${detail.channels} channels)`
    : `${source} cannot be written: ${detail.storeFailure}`
}
