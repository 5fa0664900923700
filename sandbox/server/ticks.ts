/** The loop that turns the passing of time into frames. */
import type { Clock } from '../../src/kit/clock.ts'

/** After a longer stall (or jump of the clock) the venue resumes at the present instead of catching up. */
const MAX_CATCH_UP_MS = 600_000

export interface Ticks {
  readonly clock: Clock
  readonly tickMs: number
  readonly signal: AbortSignal
}

export function startTicks(
  { clock, tickMs, signal }: Ticks,
  options: {
    /** The venue's own time. */
    now: () => number
    /** Publishes what happened after fromMs, up to and including toMs. */
    produce: (fromMs: number, toMs: number) => void
  },
): void {
  async function run(): Promise<void> {
    let doneMs = options.now()
    while (!signal.aborted) {
      await clock.sleep(tickMs, signal)
      const nowMs = options.now()
      // A clock set back: wait until time reaches the old mark, so that nothing is sent twice.
      if (nowMs <= doneMs) continue
      options.produce(Math.max(doneMs, nowMs - MAX_CATCH_UP_MS), nowMs)
      doneMs = nowMs
    }
  }
  run().catch((error: unknown) => {
    // A producer that throws is a defect of the sandbox: it must end loudly, not fall silent.
    if (!signal.aborted) throw error
  })
}
