/**
 * The loop that turns the passing of time into frames. All streams of a clock are served in the same tick, so that one
 * timer serves all venues, and a recorder of all of them wakes up once for everything they send.
 */
import { type Clock, runEvery } from '../../src/kit/clock.ts'

/** As often as the fastest books change, because each tick wakes every reader. */
export const DEFAULT_TICK_MS = 100
/** After a longer stall (or jump of the clock), the venue resumes at the present instead of catching up. */
const MAX_CATCH_UP_MS = 600_000

export interface Ticks {
  readonly clock: Clock
  readonly tickMs: number
  readonly signal: AbortSignal
}

interface Loop {
  readonly streams: Set<() => void>
  end(): void
}

/** By the length of a tick. */
const loopsOf = new WeakMap<Clock, Map<number, Loop>>()

export function startTicks(
  { clock, tickMs, signal }: Ticks,
  options: {
    /** The venue's own time. */
    now: () => number
    /** Publishes what happened after fromMs, up to and including toMs. */
    produce: (fromMs: number, toMs: number) => void
  },
): void {
  if (signal.aborted) return
  let doneMs = options.now()
  function tick(): void {
    const nowMs = options.now()
    // The clock was set back. Waiting until time reaches the old mark ensures that nothing is sent twice.
    if (nowMs <= doneMs) return
    options.produce(Math.max(doneMs, nowMs - MAX_CATCH_UP_MS), nowMs)
    doneMs = nowMs
  }
  const loops = loopsOf.get(clock) ?? new Map<number, Loop>()
  loopsOf.set(clock, loops)
  const loop = loops.get(tickMs) ?? startLoop(clock, tickMs)
  loops.set(tickMs, loop)
  loop.streams.add(tick)
  const leave = () => {
    loop.streams.delete(tick)
    if (loop.streams.size > 0) return
    loop.end()
    if (loops.get(tickMs) === loop) loops.delete(tickMs)
  }
  signal.addEventListener('abort', leave, { once: true })
}

function startLoop(clock: Clock, tickMs: number): Loop {
  const streams = new Set<() => void>()
  // A producer that throws is a defect of the sandbox. Nobody catches it, so it ends the process.
  const end = runEvery(clock, tickMs, () => {
    for (const tick of streams) tick()
  })
  return { streams, end }
}
