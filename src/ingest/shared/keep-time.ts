/**
 * Runs a recorder on its venue's time:
 *
 *   any answer of the venue ──▶ the time is known ──▶ the recorder runs; a quiet venue is asked again now and then
 *
 * Nothing is recorded before the time is known, because rows would get a wrong time.
 */
import { backoffMs } from '../../kit/backoff.ts'
import type { Logger } from '../../kit/log.ts'
import { stopWith } from '../../kit/stop-with.ts'
import type { Venue } from '../../venues/venue.ts'
import type { VenueClock } from '../../venues/venue-clock.ts'
import type { Recorder } from './recorder.ts'

const ASK_AGAIN = { baseMs: 1_000, capMs: 15_000 }
/** If the venue has not answered anything else for this long, it is asked. */
const ASK_AFTER_MS = 300_000
const LOOK_EVERY_MS = 30_000

export function keepTime(
  recorder: Recorder,
  parts: {
    readonly time: VenueClock
    readonly venue: Pick<Venue, 'check'>
    readonly random: () => number
    readonly log: Logger
  },
): Recorder {
  const { time, venue, random, log } = parts

  /** Asks until the venue has given any answer at all. */
  async function ask(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !time.isKnown; attempt++) {
      const enough = new AbortController()
      const checked = await Promise.race([
        venue.check({ signal: AbortSignal.any([signal, enough.signal]) }),
        time.whenKnown,
      ])
      enough.abort()
      signal.throwIfAborted()
      if (time.isKnown) return
      if (attempt === 0)
        log.warn({ venue: recorder.name, why: checked?.line }, 'the time of a venue is not known yet')
      await time.sleep(backoffMs(ASK_AGAIN, attempt, random), signal)
    }
  }

  async function askAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      await time.sleep(LOOK_EVERY_MS, signal)
      if (time.elapsed() - time.setAtMs >= ASK_AFTER_MS) await venue.check({ signal })
    }
  }

  return {
    ...recorder,
    clock: time,
    async run(stopped) {
      const endWatch = time.watch()
      const end = stopWith(stopped)
      const { signal } = end
      try {
        await ask(stopped)
        const asking = askAgain(signal).catch(() => {})
        await recorder.run(stopped).finally(() => end.abort())
        await asking
      } catch (error) {
        if (!stopped.aborted) throw error
      } finally {
        end.abort()
        endWatch()
      }
    },
  }
}
