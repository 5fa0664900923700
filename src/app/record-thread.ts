/**
 * The thread that records venues of an environment: starts it, restarts it with new addresses, and tracks its status.
 */

import { STARTING_MS } from '../api/endpoints/account/service-status.ts'
import type { Config } from '../config/config.ts'
import type { LogFormat } from '../kit/log-text.ts'
import { type SupervisedThread, superviseThread } from '../kit/supervise-thread.ts'
import type { Fence } from '../store/leases.ts'
import { storeAddress } from './data-folder.ts'
import type { EnvironmentParts } from './parts.ts'
import type { RecordMessage, RecordOptions } from './record-worker.ts'

const RECORD_FILE = new URL('./record-worker.ts', import.meta.url)
const STATUS_FRESH_MS = 20_000
/**
 * A thread that is stuck would keep its lease, so that no other process could record. It posts every second, and even on
 * a machine that is very busy it is not silent for that long.
 */
const MAX_STUCK_MS = 120_000
/**
 * Far more than the recorders of all venues hold, and small enough that V8 collects garbage once the heap has grown by
 * a third; with its default maximum the heap may grow to four times what is in use. Rows wait for a second before they
 * are written, so the young generation has room for what is allocated in more than that; otherwise they would move to
 * the old one, whose collections take a tenth of the thread's processor time.
 */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 48 }

type SourceReport = RecordMessage['sources'][number]

export type RecorderThread = ReturnType<typeof createRecorderThread>

export function createRecorderThread(
  { environment, config, clock, log }: EnvironmentParts,
  { name, onReport }: { name: string; onReport: (message: RecordMessage) => void },
) {
  const cameUp = new Set<string>()
  let sources: RecordMessage['sources'] = []
  let startedMs = clock.now()
  let reportedMs = startedMs
  let thread: Promise<SupervisedThread> | undefined
  /** Messages that a thread sent before it was closed may arrive afterwards, and would be reported forever. */
  let closes = 0

  const isSilent = () => clock.now() - reportedMs > STATUS_FRESH_MS

  function run(venues: RecordOptions['venues'], fence: Fence | undefined, isClosed: () => boolean) {
    startedMs = reportedMs = clock.now()
    return superviseThread({
      name,
      file: RECORD_FILE,
      limits: HEAP_LIMITS,
      maxSilenceMs: MAX_STUCK_MS,
      data: {
        address: storeAddress(config),
        dataFolder: config.data,
        environment,
        fence,
        logLevel: config.logLevel,
        logFormat: threadFormat(config.logFormat),
        venues,
        firstFillDays: config.firstFillDays,
        retention: environment === 'test' ? config.testRetention : config.retention,
        minFreeBytes: config.minFreeBytes,
      } satisfies RecordOptions,
      clock,
      log,
      onMessage(message) {
        if (isClosed()) return
        const report = message as RecordMessage
        sources = report.sources
        onReport(report)
        for (const { source, state } of sources) if (state === 'healthy') cameUp.add(source)
        reportedMs = clock.now()
      },
    })
  }

  return {
    /** Starts the thread, or restarts it with other addresses. */
    start(venues: RecordOptions['venues'], fence: Fence | undefined) {
      const [before, closesBefore] = [thread, closes]
      thread = Promise.resolve(before)
        .then((running) => running?.close())
        .then(() => run(venues, fence, () => closes !== closesBefore))
    },
    /** The status of each source; all are down if the thread has stopped reporting. */
    sources: (): SourceReport[] =>
      sources.map((report) => (isSilent() ? { ...report, state: 'down' as const } : report)),
    /** Throws an error that says what is wrong. */
    check() {
      if (thread === undefined) return
      const isStarting = clock.now() - startedMs < STARTING_MS
      if (isStarting && sources.length === 0) return
      if (isSilent()) throw new Error(`the ${name} have stopped reporting`)
      const failing = sources.filter(
        ({ source, state }) => state !== 'healthy' && (!isStarting || cameUp.has(source)),
      )
      if (failing.length > 0) throw new Error(failing.map(complaintOf).join('; '))
    },
    /** It can be started again afterwards. */
    async close() {
      const running = thread
      thread = undefined
      closes++
      sources = []
      await (await running)?.close()
    },
  }
}

function complaintOf({ source, state, detail }: SourceReport): string {
  return detail.storeFailure === null
    ? `${source} is ${state} (${detail.channelsUp} of ${detail.channels} channels)`
    : `${source} cannot be written: ${detail.storeFailure}`
}

/** The command line has already decided on a format before it starts the service. */
function threadFormat(format: Config['logFormat']): LogFormat {
  if (format === 'auto') return 'json'
  return format === 'pretty' ? 'text' : format
}
