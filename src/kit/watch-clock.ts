import { type Clock, elapsedMs, runEvery } from './clock.ts'

/** Detects that the system clock was set or that the machine slept, by comparing it with the monotonic clock. */
export interface ClockWatch {
  close(): void
}

/** Small corrections happen all the time and are harmless. */
const JUMP_MS = 30_000
const LOOK_EVERY_MS = 1_000

export function watchClock(options: {
  /** Must measure elapsed time independently of the time of day, see `Clock.elapsed`. */
  clock: Clock
  everyMs?: number
  /** How far the clock jumped; positive means forward. */
  onJump: (byMs: number) => void
}): ClockWatch {
  const { clock } = options
  const offsetNow = () => clock.now() - elapsedMs(clock)
  let offsetMs = offsetNow()
  const close = runEvery(clock, options.everyMs ?? LOOK_EVERY_MS, () => {
    const currentMs = offsetNow()
    const byMs = currentMs - offsetMs
    // Each comparison starts from the last look, so that many small corrections never add up to a jump.
    offsetMs = currentMs
    if (Math.abs(byMs) >= JUMP_MS) options.onJump(byMs)
  })
  return { close }
}
