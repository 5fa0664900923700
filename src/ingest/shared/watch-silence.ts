/**
 * Silence is a fault until proven otherwise. The session reports a channel that is quiet for longer than normal; an
 * independent request to the venue (the witness) decides.
 *
 *   stale ──▶ request the witness ──▶ it knows more, or cannot answer ──▶ failed since the last data, reconnect
 *                 ▲    ├────────▶ it knows nothing new ──▶ a quiet market
 *                 │    ╰────────▶ it knows less than was received ──▶ no verdict
 *                 ╰── after a growing pause, until data arrives ──╯
 *
 * Quotes and books cannot be requested afterwards, so if data arrives before the first verdict, their silence counts as
 * a fault. For all other topics, the venue's own answers prove that nothing is missing.
 *
 * Quotes may be silent for a long time in a thin market. But if another channel of the symbol failed, and the quotes
 * have been silent since the same time or since they were subscribed, the witness is requested for them at once.
 *
 * A channel is watched by at most one loop, however often its silence is reported, so the requests per minute are
 * bounded by the number of channels. Only data of the channel, or the answer to a poll of it, ends the loop and resets
 * the pauses.
 */
import type { Source } from '../../core/source.ts'
import { type BackoffPolicy, backoffCeilingMs } from '../../kit/backoff.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { GapReason } from '../../store/coverage.ts'
import { type Channel, channelKey, type Topic } from '../../venues/channel.ts'
import type { DataObservation, StaleObservation } from '../../venues/observation.ts'
import type { LiveSession, Venue } from '../../venues/venue.ts'
import { isOutdated, knowsMore } from '../../venues/witness.ts'

const SLACK_MS = 5_000
const ASK_WITHIN_MS = 20_000
const ONLY_STREAMED: readonly Topic[] = ['best_bid_ask', 'book']
/** Channels that fall silent within this time of each other do so for the same reason. */
const SAME_TIME_MS = 2_000
/** A fault that begins while a channel is quiet is found within the longest pause. */
export const ASK_QUIET_AGAIN: BackoffPolicy = { baseMs: 15_000, capMs: 60_000 }
/** If one new socket did not help, many will not either. */
export const REPLACE_AGAIN: BackoffPolicy = { baseMs: 5_000, capMs: 120_000 }

export type SilenceWatch = ReturnType<typeof watchSilence>

interface ChannelState {
  last: DataObservation | undefined
  /** When the channel last came up. */
  upMs: number | undefined
  /** Ends the loop that watches the silence; undefined while no loop is running. */
  watch: AbortController | undefined
  /** A silence of quotes or books that has no verdict yet. */
  unjudged: { readonly channel: Channel; readonly sinceMs: number } | undefined
}

export function watchSilence(options: {
  venue: Pick<Venue, 'witness'>
  session: Pick<LiveSession, 'reconnect'>
  clock: Clock
  log: Logger
  signal: AbortSignal
  onFault: (channel: Channel, sinceMs: number, reason: GapReason) => void
}) {
  const { clock, log, signal } = options
  const states = new Map<string, ChannelState>()
  const counts = { suspected: 0, confirmed: 0, quiet: 0, watched: 0, loops: 0 }

  function stateOf(key: string): ChannelState {
    const known = states.get(key)
    if (known !== undefined) return known
    const state: ChannelState = {
      ...{ last: undefined, upMs: undefined },
      ...{ watch: undefined, unjudged: undefined },
    }
    states.set(key, state)
    return state
  }

  async function judge(
    { source, channel, lastReceivedMs: lastDataMs }: StaleObservation,
    last: DataObservation | undefined,
    watch: AbortSignal,
  ): Promise<void> {
    const key = channelKey(channel)
    let quiet = 0
    let replaced = 0
    for (;;) {
      const verdict = await ask(channel, last, watch)
      if (watch.aborted) return
      if (verdict !== 'unknown') stateOf(key).unjudged = undefined
      if (verdict === 'quiet' || verdict === 'unknown') {
        if (verdict === 'quiet') counts.quiet += 1
        await clock.sleep(backoffCeilingMs(ASK_QUIET_AGAIN, quiet++), watch)
        continue
      }
      if (replaced === 0) {
        counts.confirmed += 1
        log.warn(
          { channel: key, silentSince: new Date(lastDataMs).toISOString(), verdict },
          'a feed fell silent',
        )
        options.onFault(channel, lastDataMs, verdict)
        suspectQuotes(source, channel, lastDataMs)
      }
      options.session.reconnect(channel, 'silent')
      await clock.sleep(backoffCeilingMs(REPLACE_AGAIN, replaced++), watch)
    }
  }

  async function ask(
    channel: Channel,
    last: DataObservation | undefined,
    watch: AbortSignal,
  ): Promise<GapReason | 'quiet' | 'unknown'> {
    const late = new AbortController()
    const answered = new AbortController()
    clock.sleep(ASK_WITHIN_MS, answered.signal).then(
      () => late.abort(new Error(`no answer in ${ASK_WITHIN_MS} ms`)),
      () => {},
    )
    try {
      const witness = await options.venue.witness(channel, { signal: AbortSignal.any([watch, late.signal]) })
      // There is no witness for this channel, so the silence is all we know.
      if (witness === undefined) return 'not_observed'
      if (isOutdated(witness, last)) return 'unknown'
      return knowsMore(witness, last, SLACK_MS) ? 'not_observed' : 'quiet'
    } catch (error) {
      if (watch.aborted) throw error
      return 'venue_down'
    } finally {
      answered.abort()
    }
  }

  function suspectQuotes(source: Source, { symbol }: Channel, sinceMs: number): void {
    const quotes: Channel = { topic: 'best_bid_ask', symbol }
    const state = states.get(channelKey(quotes))
    if (state === undefined) return
    const { last, upMs } = state
    // The channel never came up, so none of its time counts as observed.
    if (upMs === undefined) return
    const hasSpoken = last !== undefined && last.receivedMs >= upMs
    if (hasSpoken && Math.abs(last.receivedMs - sinceMs) > SAME_TIME_MS) return
    const lastReceivedMs = hasSpoken ? last.receivedMs : upMs
    stale({ kind: 'stale', source, receivedMs: clock.now(), channel: quotes, lastReceivedMs })
  }

  function spoke(state: ChannelState): void {
    if (state.watch === undefined) return
    state.watch.abort()
    state.watch = undefined
    state.unjudged = undefined
    counts.watched -= 1
  }

  function stale(observation: StaleObservation): void {
    const state = stateOf(channelKey(observation.channel))
    if (state.watch !== undefined || signal.aborted) return
    const watch = new AbortController()
    state.watch = watch
    const { channel, lastReceivedMs } = observation
    if (ONLY_STREAMED.includes(channel.topic)) state.unjudged = { channel, sinceMs: lastReceivedMs }
    counts.watched += 1
    counts.suspected += 1
    counts.loops += 1
    const either = AbortSignal.any([signal, watch.signal])
    judge(observation, state.last, either)
      .catch((error) => {
        if (!either.aborted) log.error({ err: error }, 'a silence could not be judged')
      })
      .finally(() => {
        counts.loops -= 1
        if (state.watch === watch) spoke(state)
      })
  }

  return {
    receive(key: string, observation: DataObservation) {
      const state = stateOf(key)
      const { unjudged } = state
      if (unjudged !== undefined) {
        counts.confirmed += 1
        options.onFault(unjudged.channel, unjudged.sinceMs, 'not_observed')
      }
      state.last = observation
      spoke(state)
    },
    /** The channel is subscribed, for the first time or again. */
    up(key: string, atMs: number) {
      stateOf(key).upMs = atMs
    },
    /** A polled channel has answered, with or without new data. */
    answered: (key: string) => spoke(stateOf(key)),
    /** The last data of the channel. */
    last: (key: string): DataObservation | undefined => states.get(key)?.last,
    stale,
    /**
     * `watched`: channels that are silent now. `loops`: running watch loops, counted separately so that a leak would
     * show.
     */
    stats: () => ({ ...counts }),
  }
}
