/** State of each channel of a session: when it last sent data and which trades it has already sent. */
import { type Channel, channelKey } from '../channel.ts'
import type { DataObservation } from '../observation.ts'
import { ChannelProgress } from './plausible.ts'
import {
  createRecentKeys,
  createSeenNumbers,
  createSeenRates,
  type RecentKeys,
  type SeenNumbers,
  type SeenRates,
} from './repeats.ts'

export type ChannelWatch = ReturnType<typeof createChannelWatch>

interface State {
  readonly channel: Channel
  readonly silenceMs: number | null
  readonly isUp: () => boolean
  readonly seen: RecentKeys<string>
  /** Aggregate trades are recognised by number, which takes less memory than keeping their keys. */
  numbers: SeenNumbers
  readonly rates: SeenRates
  readonly progress: ChannelProgress
  lastReceivedMs: number
  isStale: boolean
}

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
        rates: createSeenRates(),
        progress: new ChannelProgress(),
        lastReceivedMs: options.nowMs(),
        isStale: false,
      })
    },
    channelOf: (key: string): Channel | undefined => states.get(key)?.channel,
    /** When the channel last sent data; Infinity for a channel that may be silent for any time. */
    lastReceivedMs(key: string) {
      const state = states.get(key)
      return state === undefined || state.silenceMs === null ? Number.POSITIVE_INFINITY : state.lastReceivedMs
    },
    /** Measures the channel's silence from now. */
    restart(key: string, nowMs: number) {
      const state = states.get(key)
      if (state === undefined) return
      state.lastReceivedMs = nowMs
      state.isStale = false
    },
    /**
     * Like `restart`, but only for a channel whose silence was reported, so that it is reported again if it continues.
     */
    reportAgain(key: string, nowMs: number) {
      const state = states.get(key)
      if (state?.isStale !== true) return
      state.lastReceivedMs = nowMs
      state.isStale = false
    },
    /**
     * Whether the observation is new, a repeat, of a channel that was not requested, or impossible after what the
     * channel sent before.
     */
    admit(key: string, observation: DataObservation): 'new' | 'repeat' | 'unasked' | 'implausible' {
      const state = states.get(key)
      if (state === undefined) return 'unasked'
      const { progress } = state
      const verdict = progress.judgeNumber(observation)
      if (verdict === 'implausible') return verdict
      if (verdict === 'restart') state.numbers = createSeenNumbers(options.keysRemembered)
      if (isRepeat(state, observation)) return 'repeat'
      // A refused observation is not remembered, because a sweep may still deliver it.
      if (!progress.isInTime(observation)) return 'implausible'
      remember(state, observation)
      progress.take(observation)
      if (isBesideStream(observation)) return 'new'
      state.lastReceivedMs = observation.receivedMs
      state.isStale = false
      return 'new'
    },
    /** Excludes time in which nothing could be read from the silence of every channel. */
    forgive(ms: number) {
      for (const state of states.values()) state.lastReceivedMs += ms
    },
    /** Channels that have been silent for too long; each silence is returned once. */
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

/** Only a part, or taken from a requested list: the stream itself may be silent all the same. */
function isBesideStream(observation: DataObservation): boolean {
  if (observation.kind === 'reference_price') return observation.isPartial === true
  return observation.kind === 'market_ticker' && observation.isListed === true
}

/** Trades are sent again after a new subscription and on overlapping sockets, funding rates in the next poll. */
function isRepeat({ seen, numbers, rates }: State, observation: DataObservation): boolean {
  switch (observation.kind) {
    case 'aggregate_trade':
      return numbers.has(observation.id)
    case 'trade':
      return seen.has(observation.key ?? '')
    case 'funding':
      return rates.has(observation)
    default:
      return false
  }
}

function remember({ seen, numbers, rates }: State, observation: DataObservation): void {
  if (observation.kind === 'aggregate_trade') numbers.isNew(observation.id)
  else if (observation.kind === 'trade') seen.isNew(observation.key ?? '')
  else if (observation.kind === 'funding') rates.add(observation)
}
