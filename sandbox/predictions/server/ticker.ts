/** The loop that turns the passing of time into frames. */
import type { Clock } from '../../../src/kit/clock.ts'

/** After a longer stall (or jump of the clock) a stream resumes at the present instead of catching up. */
const MAX_CATCH_UP_MS = 600_000

export function startTicker(options: {
  clock: Clock
  /** The venue's own time. */
  now: () => number
  signal: AbortSignal
  tickMs: number
  /** Everything that happened after fromMs, up to and including toMs. */
  produce: (fromMs: number, toMs: number) => void
}): void {
  const { clock, now, signal } = options
  async function run(): Promise<void> {
    let doneMs = now()
    while (!signal.aborted) {
      await clock.sleep(options.tickMs, signal)
      const nowMs = now()
      // A clock set back: wait until time reaches the old mark, so that nothing is told twice.
      if (nowMs <= doneMs) continue
      options.produce(Math.max(doneMs, nowMs - MAX_CATCH_UP_MS), nowMs)
      doneMs = nowMs
    }
  }
  run().catch(() => undefined)
}
