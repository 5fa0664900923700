import { Worker } from 'node:worker_threads'
import { backoffMs } from '../kit/backoff.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'

const RESTART = { baseMs: 500, capMs: 30_000 }
const STEADY_AFTER_MS = 60_000
const CLOSE_WITHIN_MS = 8_000

export interface KeptThread {
  /** Says the word `close`, waits, and ends it in any case. */
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
  let attempt = 0

  function start(): Promise<void> {
    return new Promise((resolve) => {
      const thread = new Worker(options.file, { workerData: options.data, name })
      worker = thread
      thread.on('message', options.onMessage)
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
      worker?.postMessage('close')
      const timer = setTimeout(() => void worker?.terminate(), CLOSE_WITHIN_MS)
      await kept
      clearTimeout(timer)
    },
  }
}
