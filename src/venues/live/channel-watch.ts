/** What is remembered of each channel of a session: when it last sent data, and which trades it already sent. */
import { type Channel, channelKey } from '../channel.ts'
import type { DataObservation } from '../observation.ts'
import { ChannelProgress } from './plausible.ts'
import { createRecentKeys, createSeenNumbers, type RecentKeys, type SeenNumbers } from './repeats.ts'

export type ChannelWatch = ReturnType<typeof createChannelWatch>

interface State {
  readonly channel: Channel
  readonly silenceMs: number | null
  readonly isUp: () => boolean
  readonly seen: RecentKeys<string>
  /** Aggregate trades, which are many, are numbered. */
  numbers: SeenNumbers
  readonly progress: ChannelProgress
  lastReceivedMs: number
  isStale: boolean
}

/** Data that venues send again: on a new subscription, on the socket that overlaps, in the next poll. */
const REPEATED_KINDS: ReadonlySet<DataObservation['kind']> = new Set(['trade', 'funding'])

export function createChannelWatch(options: {
  silenceOf: (channel: Channel) => number | null
  keysRemembered: number
  nowMs: () => number
}) {
  const states = new Map<string, State>()
  return {
    add(channel: Channel, isUp: () => boolean) {
      states.set(channelKey(channel), {
        channel,
        isUp,
        silenceMs: options.silenceOf(channel),
        seen: createRecentKeys(options.keysRemembered),
        numbers: createSeenNumbers(options.keysRemembered),
        progress: new ChannelProgress(),
        lastReceivedMs: options.nowMs(),
        isStale: false,
      })
    },
    channelOf: (key: string): Channel | undefined => states.get(key)?.channel,
    /** When the channel last sent data; Infinity for one that may be silent for any time. */
    lastReceivedMs(key: string) {
      const state = states.get(key)
      return state === undefined || state.silenceMs === null ? Number.POSITIVE_INFINITY : state.lastReceivedMs
    },
    /** Counts the silence from now. */
    restart(key: string, nowMs: number) {
      const state = states.get(key)
      if (state === undefined) return
      state.lastReceivedMs = nowMs
      state.isStale = false
    },
    /** As `restart`, for a channel whose silence was reported: it is reported again while it lasts. Others are left alone. */
    reportAgain(key: string, nowMs: number) {
      const state = states.get(key)
      if (state?.isStale !== true) return
      state.lastReceivedMs = nowMs
      state.isStale = false
    },
    /** Whether it is new, a repeat, of a channel that was not requested, or cannot follow what the channel sent. */
    admit(key: string, observation: DataObservation): 'new' | 'repeat' | 'unasked' | 'implausible' {
      const state = states.get(key)
      if (state === undefined) return 'unasked'
      const { progress } = state
      const verdict = progress.judgeNumber(observation)
      if (verdict === 'implausible') return verdict
      if (verdict === 'restart') state.numbers = createSeenNumbers(options.keysRemembered)
      if (isRepeat(state, observation)) return 'repeat'
      // What is refused does not count as sent: a sweep may still bring it.
      if (!progress.isInTime(observation)) return 'implausible'
      remember(state, observation)
      progress.take(observation)
      if (observation.kind === 'reference_price' && observation.isPartial === true) return 'new'
      state.lastReceivedMs = observation.receivedMs
      state.isStale = false
      return 'new'
    },
    /** Time in which nothing could be read does not count as silence. */
    forgive(ms: number) {
      for (const state of states.values()) state.lastReceivedMs += ms
    },
    /** The channels that have been silent for too long since the last call, each reported once per silence. */
    fallenSilent(nowMs: number): { channel: Channel; lastReceivedMs: number }[] {
      const silent: { channel: Channel; lastReceivedMs: number }[] = []
      for (const state of states.values()) {
        if (state.isStale || state.silenceMs === null || !state.isUp()) continue
        if (nowMs - state.lastReceivedMs <= state.silenceMs) continue
        state.isStale = true
        silent.push({ channel: state.channel, lastReceivedMs: state.lastReceivedMs })
      }
      return silent
    },
    shortestSilenceMs: () =>
      Math.min(...[...states.values()].map((state) => state.silenceMs ?? Number.POSITIVE_INFINITY)),
  }
}

function isRepeat({ seen, numbers }: State, observation: DataObservation): boolean {
  if (observation.kind === 'aggregate_trade') return numbers.has(observation.id)
  return REPEATED_KINDS.has(observation.kind) && seen.has(repeatKeyOf(observation))
}

function remember({ seen, numbers }: State, observation: DataObservation): void {
  if (observation.kind === 'aggregate_trade') numbers.isNew(observation.id)
  else if (REPEATED_KINDS.has(observation.kind)) seen.isNew(repeatKeyOf(observation))
}

/** The next settlement of the newest rate is a guess until that is there: with another one the rate is sent anew. */
function repeatKeyOf(observation: DataObservation): string {
  const key = observation.key ?? ''
  return observation.kind === 'funding' ? `${key}:${observation.nextFundingTimeMs}` : key
}
