import { Worker } from 'node:worker_threads'
import { backoffMs } from '../kit/backoff.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'

const RESTART = { baseMs: 500, capMs: 30_000 }
const STEADY_AFTER_MS = 60_000
const CLOSE_WITHIN_MS = 8_000
/** A thread that has closed everything ends at once, unless the system still looks up a name for it. */
const END_WITHIN_MS = 200
/** What a thread says when it has closed everything that it had opened. */
export const CLOSED = 'closed'

export interface KeptThread {
  /**
   * Says the word `close`, waits until the thread has closed what it had opened, and ends it in any case. A thread
   * that has said nothing yet has nothing to close. The look-up of a name cannot be called off and holds up the end
   * of its thread for many seconds where no name server answers: nobody waits for that.
   */
  close(): Promise<void>
}

/** Runs a file as a thread of its own and starts it again when it dies. Its messages go to `onMessage`. */
export function keepThread(options: {
  name: string
  file: URL
  data: unknown
  clock: Clock
  log: Logger
  onMessage: (message: unknown) => void
  onEnd?: () => void
}): KeptThread {
  const { name, clock, log } = options
  const stop = new AbortController()
  let worker: Worker | undefined
  let hasSpoken = false
  let onClosed = () => {}
  let attempt = 0

  function start(): Promise<void> {
    return new Promise((resolve) => {
      const thread = new Worker(options.file, { workerData: options.data, name })
      worker = thread
      hasSpoken = false
      thread.on('message', (message) => {
        hasSpoken = true
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

  async function keep(): Promise<void> {
    while (!stop.signal.aborted) {
      const startedMs = clock.now()
      await start()
      if (stop.signal.aborted) return
      attempt = clock.now() - startedMs > STEADY_AFTER_MS ? 0 : attempt + 1
      log.warn({ thread: name }, 'a thread ended and is started again')
      await clock.sleep(RESTART.baseMs + backoffMs(RESTART, attempt), stop.signal)
    }
  }
  const kept = keep().catch(() => {})

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
      if (hasSpoken) thread.postMessage('close')
      else void thread.terminate()
      await Promise.race([kept, closed, within(hasSpoken ? CLOSE_WITHIN_MS : END_WITHIN_MS)])
      ended.abort()
      void thread.terminate()
    },
  }
}
