import type { ResourceLimits } from 'node:worker_threads'
import { backoffMs } from './backoff.ts'
import type { Clock } from './clock.ts'
import type { Logger } from './log.ts'
import { type ThreadCalls, threadCalls } from './thread-calls.ts'

const RESTART = { baseMs: 500, capMs: 30_000 }
const STEADY_AFTER_MS = 60_000
const CLOSE_WITHIN_MS = 8_000

export interface SupervisedThread {
  /**
   * Lets the thread close what it opened, and then terminates it in any case. A DNS lookup cannot be cancelled and
   * delays the exit of its thread for many seconds if no name server answers, so the exit is not awaited.
   */
  close(): Promise<void>
}

/** Runs a file in its own thread and restarts it when it dies. */
export function superviseThread(options: {
  name: string
  file: URL
  /** Each start copies what is in it then. */
  data: unknown
  /** V8 lets a heap grow to a multiple of what is in use; the multiple depends on the maximum. */
  limits?: ResourceLimits
  clock: Clock
  log: Logger
  onMessage: (message: unknown) => void
  onEnd?: (reason: Error | undefined) => void
}): SupervisedThread {
  const { name, file, clock, log, onMessage, onEnd } = options
  const stop = new AbortController()
  let thread: ThreadCalls<object> | undefined
  let attempt = 0

  /** Returns why the thread ended; the system may also refuse to start it. */
  async function runOnce(): Promise<Error | undefined> {
    try {
      thread = threadCalls<object>(file, { ...options, onEvent: onMessage, keepsProcess: true })
      return await thread.ended
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
      await thread?.close(CLOSE_WITHIN_MS)
    },
  }
}
