/**
 * Restarts the service when the system clock was set or the machine slept. Rates, leases, schedules and recording
 * depend on the time of day: after a jump none of their state can be trusted, whereas every part can start after a
 * pause of any length. The port stays the same.
 *
 *   running ──the clock jumps──▶ stopping ──▶ starting ──▶ running
 *                                   ▲            └─ cannot start ▶ failed
 *                                   └── jumps again meanwhile
 */

import type { Clock } from './clock.ts'
import type { Logger } from './log.ts'
import type { ShutdownReport } from './shutdown.ts'
import { watchClock } from './watch-clock.ts'

interface Runnable {
  readonly url: string
  readonly failed: Promise<string>
  stop(): Promise<ShutdownReport>
}

export interface RestartingService {
  /** Resolves with the reason when the service cannot continue. */
  readonly failed: Promise<string>
  stop(): Promise<ShutdownReport>
}

export function restartOnClockJump(options: {
  first: Runnable
  startAgain: (port: number) => Promise<Runnable>
  clock: Clock
  log: Logger
  /** For tests. */
  lookEveryMs?: number
}): RestartingService {
  const { clock, log } = options
  let current = options.first
  let restarting: Promise<void> | undefined
  let jumps = 0
  let isStopping = false
  let fail = (_reason: string) => {}
  const failed = new Promise<string>((resolve) => {
    fail = resolve
  })
  const follow = (service: Runnable) => void service.failed.then((reason) => fail(reason))
  follow(current)

  async function restart(): Promise<void> {
    for (let handled = 0; handled < jumps && !isStopping; ) {
      handled = jumps
      await current.stop()
      if (isStopping) return
      current = await options.startAgain(Number(new URL(current.url).port))
      follow(current)
    }
    jumps = 0
  }

  const watch = watchClock({
    clock,
    ...(options.lookEveryMs === undefined ? {} : { everyMs: options.lookEveryMs }),
    onJump(byMs) {
      const by = `${durationText(Math.abs(byMs))} ${byMs > 0 ? 'forward' : 'back'}`
      log.warn(
        { by, time: new Date(clock.now()).toISOString() },
        'the system clock jumped: everything is started again',
      )
      jumps++
      restarting ??= restart()
        .catch((err: unknown) => {
          log.fatal({ err }, 'the service could not be started again')
          fail(String(err))
        })
        .finally(() => {
          restarting = undefined
        })
    },
  })

  return {
    failed,
    async stop() {
      isStopping = true
      watch.close()
      await restarting
      return current.stop()
    },
  }
}

const UNITS = [
  ['years', 365 * 86_400_000],
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1_000],
] as const

function durationText(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, size]) => ms >= size) ?? UNITS[4]
  return `${Math.round((ms / unitMs) * 10) / 10} ${unit}`
}
