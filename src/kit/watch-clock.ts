/** Notices that the system clock was set, or stood still while the machine slept: by the time that cannot be set. */
export interface ClockWatch {
  close(): void
}

/** Clocks are corrected by little all the time; what is kept in memory bears that. */
const JUMP_MS = 30_000
const LOOK_EVERY_MS = 1_000

export function watchClock(options: {
  now: () => number
  /** Milliseconds that only ever pass. */
  passed?: () => number
  everyMs?: number
  /** By how much the clock is off from where it should be; positive: it was set forward. */
  onJump: (byMs: number) => void
}): ClockWatch {
  const { now, passed = () => performance.now() } = options
  let offsetMs = now() - passed()
  const timer = setInterval(() => {
    const currentMs = now() - passed()
    const byMs = currentMs - offsetMs
    // Small corrections are followed, so that many of them never count as a jump.
    offsetMs = currentMs
    if (Math.abs(byMs) >= JUMP_MS) options.onJump(byMs)
  }, options.everyMs ?? LOOK_EVERY_MS)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
