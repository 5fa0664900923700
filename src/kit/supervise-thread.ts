import { type ResourceLimits, Worker } from 'node:worker_threads'
import { backoffMs } from './backoff.ts'
import type { Clock } from './clock.ts'
import type { Logger } from './log.ts'

const RESTART = { baseMs: 500, capMs: 30_000 }
const STEADY_AFTER_MS = 60_000
const CLOSE_WITHIN_MS = 8_000
/** A thread that has closed everything ends at once, unless a DNS lookup is still running in it. */
const END_WITHIN_MS = 200
/** A thread sends this when it has closed everything that it opened. */
export const CLOSED = 'closed'

export interface SupervisedThread {
  /**
   * Sends `close`, waits until the thread has closed what it opened, and then terminates it in any case. A thread
   * that has not sent a message yet has nothing to close. A DNS lookup cannot be cancelled and delays the end of its
   * thread for many seconds when no name server answers: we do not wait for that.
   */
  close(): Promise<void>
}

/** Runs a file in a thread of its own and restarts it when it dies. */
export function superviseThread(options: {
  name: string
  file: URL
  data: unknown
  /** V8 lets a heap grow to a multiple of what is in use, and the multiple depends on the maximum. */
  limits?: ResourceLimits
  clock: Clock
  log: Logger
  onMessage: (message: unknown) => void
  onEnd?: () => void
}): SupervisedThread {
  const { name, clock, log } = options
  const stop = new AbortController()
  let worker: Worker | undefined
  let hasReported = false
  let onClosed = () => {}
  let attempt = 0

  function start(): Promise<void> {
    return new Promise((resolve) => {
      const thread = new Worker(options.file, {
        workerData: options.data,
        name,
        ...(options.limits === undefined ? {} : { resourceLimits: options.limits }),
      })
      worker = thread
      hasReported = false
      thread.on('message', (message) => {
        hasReported = true
        if (message === CLOSED) onClosed()
        else options.onMessage(message)
      })
      thread.on('error', (error) => log.error({ thread: name, err: error }, 'a thread failed'))
      thread.once('exit', () => {
        options.onEnd?.()
        resolve()
      })
    })
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const startedMs = clock.now()
      await start()
      if (stop.signal.aborted) return
      attempt = clock.now() - startedMs > STEADY_AFTER_MS ? 0 : attempt + 1
      log.warn({ thread: name }, 'a thread ended and is started again')
      await clock.sleep(RESTART.baseMs + backoffMs(RESTART, attempt), stop.signal)
    }
  }
  const running = run().catch(() => {})

  return {
    async close() {
      stop.abort()
      const thread = worker
      if (thread === undefined) return
      const ended = new AbortController()
      const within = (ms: number) => clock.sleep(ms, ended.signal).catch(() => {})
      const closed = new Promise<void>((resolve) => {
        onClosed = resolve
      }).then(() => within(END_WITHIN_MS))
      if (hasReported) thread.postMessage('close')
      else void thread.terminate()
      await Promise.race([running, closed, within(hasReported ? CLOSE_WITHIN_MS : END_WITHIN_MS)])
      ended.abort()
      void thread.terminate()
    },
  }
}
