import type { ResourceLimits } from 'node:worker_threads'
import { backoffMs } from './backoff.ts'
import { type Clock, runEvery } from './clock.ts'
import type { Logger } from './log.ts'
import { type ThreadCalls, threadCalls } from './thread-calls.ts'

const RESTART = { baseMs: 500, capMs: 30_000 }
const STEADY_AFTER_MS = 60_000
const CLOSE_WITHIN_MS = 8_000
/** A silence is counted in looks, so that after this process was suspended its threads have time to post again. */
const LOOKS_PER_SILENCE = 8

export interface SupervisedThread {
  /**
   * Lets the thread close what it opened, and then terminates it in any case. A DNS lookup cannot be cancelled and
   * delays the exit of its thread for many seconds if no name server answers, so the exit is not awaited.
   */
  close(): Promise<void>
}

/** Runs a file in its own thread and restarts it when it dies, or is stuck. */
export function superviseThread(options: {
  name: string
  file: URL
  /** Each start copies what is in it then. */
  data: unknown
  /** V8 lets a heap grow to a multiple of what is in use; the multiple depends on the maximum. */
  limits?: ResourceLimits
  /** If given, a thread that has posted before and posts nothing for this long is stuck, and is started again. */
  maxSilenceMs?: number
  clock: Clock
  log: Logger
  onMessage: (message: unknown) => void
  onEnd?: (reason: Error | undefined) => void
}): SupervisedThread {
  const { name, file, clock, log, onMessage, onEnd, maxSilenceMs } = options
  const stop = new AbortController()
  let thread: ThreadCalls<object> | undefined
  let attempt = 0
  let silentLooks = 0
  let stuck: Error | undefined

  const onEvent = (message: unknown) => {
    silentLooks = 0
    onMessage(message)
  }
  const look = () => {
    if (++silentLooks < LOOKS_PER_SILENCE || stuck !== undefined) return
    stuck = new Error(`it has posted nothing for ${maxSilenceMs} ms`)
    // Its exit is not awaited here either: a thread that waits for a disk cannot be ended, and must not hold up `close`.
    void thread?.close(0)
  }
  const stopLooking =
    maxSilenceMs === undefined ? () => {} : runEvery(clock, maxSilenceMs / LOOKS_PER_SILENCE, look)

  /** Returns why the thread ended; the system may also refuse to start it. */
  async function runOnce(): Promise<Error | undefined> {
    // Until its first message it may be opening what takes long.
    silentLooks = Number.NEGATIVE_INFINITY
    stuck = undefined
    try {
      thread = threadCalls<object>(file, { ...options, onEvent, keepsProcess: true })
      const reason = await thread.ended
      return stuck ?? reason
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const startedMs = clock.now()
      const reason = await runOnce()
      onEnd?.(reason)
      if (stop.signal.aborted) return
      attempt = clock.now() - startedMs > STEADY_AFTER_MS ? 0 : attempt + 1
      log.error({ thread: name, err: reason?.cause ?? reason }, 'a thread ended and is started again')
      await clock.sleep(RESTART.baseMs + backoffMs(RESTART, attempt, Math.random), stop.signal)
    }
  }
  void run().catch(() => {})

  return {
    async close() {
      stop.abort()
      stopLooking()
      await thread?.close(CLOSE_WITHIN_MS)
    },
  }
}
