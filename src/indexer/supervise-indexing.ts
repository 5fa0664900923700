import { backoffMs } from '../kit/backoff.ts'
import type { Clock } from '../kit/clock.ts'

/**
 * Restarts the indexer. When its thread ends, the loops that feed it are stopped, and both start again as after a
 * restart of the service. The chain is followed from the last checkpoint, so nothing is lost or published twice.
 *
 *   running ──the thread ends──▶ restarting ──(wait, longer each time)──▶ running
 *                                    ▲   └── could not start ──┘
 *
 * A thread that runs but keeps failing to apply the chain also counts as `restarting`: nothing is indexed.
 */
export interface SupervisedIndexing {
  readonly state: 'running' | 'restarting'
  readonly restarts: number
  /** Throws unless the chain is indexed. */
  probe(): void
  close(): Promise<void>
}

export interface Indexing {
  /** Resolves with the reason when the thread ends without being closed. */
  readonly ended: Promise<Error | undefined>
  /** Throws while it runs but gets nowhere. */
  probe?(): void
  close(): Promise<void>
}

const RESTART = { baseMs: 250, capMs: 30_000 }
/** After running this long, the next failure starts again with the shortest wait. */
const STEADY_AFTER_MS = 60_000

/** Rejects if the first start fails. */
export async function superviseIndexing(deps: {
  start: () => Promise<Indexing>
  clock: Clock
  random: () => number
  onEnd: (reason: Error) => void
}): Promise<SupervisedIndexing> {
  const { start, clock, random, onEnd } = deps
  const stop = new AbortController()
  const { signal } = stop
  const closing = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  let reason: Error | undefined
  let restarts = 0
  let attempt = 0
  let current: Indexing | undefined = await start()

  async function startAgain(): Promise<Indexing | undefined> {
    while (!signal.aborted) {
      await clock.sleep(RESTART.baseMs + backoffMs(RESTART, attempt++, random), signal).catch(() => {})
      if (signal.aborted) return undefined
      try {
        const started = await start()
        restarts++
        reason = undefined
        return started
      } catch (error) {
        reason = error instanceof Error ? error : new Error(String(error))
        onEnd(reason)
      }
    }
    return undefined
  }

  async function run(): Promise<void> {
    while (current !== undefined) {
      const startedMs = clock.now()
      const ended = await Promise.race([current.ended, closing])
      if (ended === undefined) break
      reason = ended
      onEnd(ended)
      await current.close()
      if (clock.now() - startedMs > STEADY_AFTER_MS) attempt = 0
      current = await startAgain()
    }
    await current?.close()
  }
  const running = run()

  function probe(): void {
    if (reason !== undefined) throw new Error(`it is started again: ${reason.message}`)
    current?.probe?.()
  }

  return {
    get state() {
      try {
        probe()
        return 'running'
      } catch {
        return 'restarting'
      }
    },
    get restarts() {
      return restarts
    },
    probe,
    async close() {
      stop.abort()
      await running
    },
  }
}
