/**
 * Silence is a fault. The feed says which channel is quiet for longer than normal; an independent question to the
 * venue decides.
 *
 *   stale ──▶ ask the witness ──▶ it knows more, or cannot answer ──▶ failed since the channel last spoke, reconnect
 *                      ╰────────▶ it knows nothing new ──▶ a quiet market: asked again while the silence lasts
 */
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { GapReason } from '../store/coverage.ts'
import { type Channel, channelKey } from '../venues/channel.ts'
import type { DataObservation, StaleObservation } from '../venues/observation.ts'
import type { LiveSession, Venue } from '../venues/venue.ts'
import { knowsMore } from '../venues/witness.ts'

const SLACK_MS = 5_000
const ASK_WITHIN_MS = 20_000
const AGAIN_AFTER_MS = 15_000

export interface SilenceWatch {
  heard(key: string, observation: DataObservation): void
  stale(observation: StaleObservation): void
  /** What the channel said last. */
  last(key: string): DataObservation | undefined
  stats(): { suspected: number; confirmed: number; quiet: number }
}

export function watchSilence(options: {
  venue: Pick<Venue, 'witness'>
  session: Pick<LiveSession, 'reconnect'>
  clock: Clock
  log: Logger
  signal: AbortSignal
  onFault: (channel: Channel, sinceMs: number, reason: GapReason) => void
}): SilenceWatch {
  const { clock, log, signal } = options
  const last = new Map<string, DataObservation>()
  const counts = { suspected: 0, confirmed: 0, quiet: 0 }

  async function judge({ channel, lastHeardMs }: StaleObservation): Promise<void> {
    const key = channelKey(channel)
    counts.suspected += 1
    while (!signal.aborted) {
      const before = last.get(key)
      const verdict = await ask(channel, before)
      const since = last.get(key)
      if (since !== before) return
      if (verdict !== 'quiet') {
        counts.confirmed += 1
        log.warn(
          { channel: key, silentSince: new Date(lastHeardMs).toISOString(), verdict },
          'a feed fell silent',
        )
        options.onFault(channel, lastHeardMs, verdict)
        options.session.reconnect(channel, 'silent')
        return
      }
      counts.quiet += 1
      await clock.sleep(AGAIN_AFTER_MS, signal)
      if (last.get(key) !== before) return
    }
  }

  async function ask(channel: Channel, before: DataObservation | undefined): Promise<GapReason | 'quiet'> {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_WITHIN_MS)])
      const witness = await options.venue.witness(channel, { signal: limit })
      // Nobody can tell: the silence itself is all there is.
      if (witness === undefined) return 'not_observed'
      return knowsMore(witness, before, SLACK_MS) ? 'not_observed' : 'quiet'
    } catch (error) {
      if (signal.aborted) throw error
      return 'venue_down'
    }
  }

  return {
    heard: (key, observation) => void last.set(key, observation),
    last: (key) => last.get(key),
    stale(observation) {
      judge(observation).catch((error) => {
        if (!signal.aborted) log.error({ err: error }, 'a silence could not be judged')
      })
    },
    stats: () => ({ ...counts }),
  }
}
