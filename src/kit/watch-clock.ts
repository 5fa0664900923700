/** Detects that the system clock was set or that the machine slept, by comparing it with the monotonic clock. */
export interface ClockWatch {
  close(): void
}

/** Small corrections happen all the time and do no harm. */
const JUMP_MS = 30_000
const LOOK_EVERY_MS = 1_000

export function watchClock(options: {
  now: () => number
  /** Monotonic milliseconds. */
  passed?: () => number
  everyMs?: number
  /** How far the clock jumped; positive: forward. */
  onJump: (byMs: number) => void
}): ClockWatch {
  const { now, passed = () => performance.now() } = options
  let offsetMs = now() - passed()
  const timer = setInterval(() => {
    const currentMs = now() - passed()
    const byMs = currentMs - offsetMs
    // Small corrections are absorbed, so that many of them never add up to a jump.
    offsetMs = currentMs
    if (Math.abs(byMs) >= JUMP_MS) options.onJump(byMs)
  }, options.everyMs ?? LOOK_EVERY_MS)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
