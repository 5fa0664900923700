/**
 * A live session: one line per route, one loop per poll, one watch over the silence of every channel, all into
 * one bounded queue that one consumer reads.
 */
import { WebSocket } from 'ws'
import type { Source } from '../core/source.ts'
import type { Clock } from '../kit/clock.ts'
import { type Channel, channelKey } from './channel.ts'
import type { DeadLetterReason, DeadLetters } from './dead-letter.ts'
import type { FeedProtocol, FrameOutcome } from './frame.ts'
import { type Line, type LineLimits, startLine } from './line.ts'
import { type LinkLimits, openLink, type Route } from './link.ts'
import type { ControlObservation, DataObservation, Observation } from './observation.ts'
import { createObservationQueue } from './observation-queue.ts'
import { type Poll, runPoll } from './poll.ts'
import { createRecentKeys, type RecentKeys } from './recent-keys.ts'
import type { Dial, LiveSession } from './venue.ts'

export interface FeedLimits {
  readonly link: Omit<LinkLimits, 'dataSilenceMs'>
  readonly line: Omit<LineLimits, 'renewAfterMs'>
  readonly queueHighWater: number
  readonly queueLowWater: number
  /** A consumer that keeps reading stopped for so long loses its sockets. */
  readonly longestPauseMs: number
  /** The silence of a whole socket is never judged sooner than this. */
  readonly dataSilenceFloorMs: number
  /** Trades remembered per channel, to recognise replays and overlaps. */
  readonly keysRemembered: number
}

export const FEED_LIMITS: FeedLimits = {
  link: { openWithinMs: 10_000, trafficSilenceMs: 600_000, closeWithinMs: 2_000 },
  line: {
    backoff: { baseMs: 250, capMs: 30_000 },
    steadyAfterMs: 30_000,
    renewSpread: 0.01,
    handoverMs: 10_000,
    overlapMs: 1_000,
  },
  queueHighWater: 65_536,
  queueLowWater: 16_384,
  longestPauseMs: 20_000,
  dataSilenceFloorMs: 30_000,
  keysRemembered: 16_384,
}

/** The real thing: no compression (it costs more than it saves here), a frame of at most 16 MiB. */
export const dialWebSocket: Dial = (url, headers) =>
  new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: 16 * 1024 * 1024,
    followRedirects: false,
    ...(headers === undefined ? {} : { headers }),
  })

/**
 * The part of a session that a venue itself drives: a catalogue loop, subscriptions that follow it, repairs of
 * books by REST. It speaks through the session, so its observations stand in one queue with those of the lines.
 */
export interface Companion {
  /** Channels that only the companion feeds; they count as up while it runs. */
  readonly channels: readonly Channel[]
  /** Called once; ends when the signal is aborted. An error it throws is the end of it, so it should not. */
  run(io: FeedIo): Promise<void>
  connected?(route: string): void
  disconnected?(route: string): void
}

export interface FeedIo {
  readonly signal: AbortSignal
  emit(channel: string, observation: DataObservation): void
  /** The channel was asked about and had nothing new. */
  heard(channel: string): void
  /** Connection changes of what the companion reaches by itself. */
  tell(observation: ControlObservation): void
  /** Speaks on the route's serving socket; false when there is none. */
  send(route: string, frame: string): boolean
  cut(route: string, reason: string): void
  /** Whether the consumer is behind and should not be given more. */
  isPaused(): boolean
}

export interface FeedOptions {
  readonly source: Source
  readonly routes: readonly Route[]
  readonly polls: readonly Poll[]
  readonly protocol: FeedProtocol
  /** Where each socket needs a reader of its own (state that ends with it, or another protocol per route). */
  readonly protocolOf?: (route: Route) => FeedProtocol
  readonly companion?: Companion
  readonly silenceOf: (channel: Channel) => number | null
  readonly renewAfterMs: number | null
  readonly clock: Clock
  readonly random: () => number
  readonly dial: Dial
  readonly deadLetters: DeadLetters
  readonly limits: FeedLimits
  readonly signal: AbortSignal
}

interface ChannelState {
  readonly channel: Channel
  readonly silenceMs: number | null
  readonly isUp: () => boolean
  readonly seen: RecentKeys<string>
  heardMs: number
  isStale: boolean
}

export function startFeed(options: FeedOptions): LiveSession {
  const { source, clock, limits, deadLetters } = options
  const stop = new AbortController()
  const signal = AbortSignal.any([options.signal, stop.signal])
  const counts = {
    frames: 0,
    observations: 0,
    repeats: 0,
    ignored: 0,
    malformed: 0,
    connects: 0,
    disconnects: 0,
    renewals: 0,
    pollFailures: 0,
  }
  const states = new Map<string, ChannelState>()
  let reading = Promise.withResolvers<void>()
  reading.resolve()
  let pausedSinceMs = 0
  const gone = aborted(signal)

  const queue = createObservationQueue({
    highWater: limits.queueHighWater,
    lowWater: limits.queueLowWater,
    onPressure(paused) {
      const now = clock.now()
      if (paused) {
        reading = Promise.withResolvers()
        pausedSinceMs = now
      } else {
        reading.resolve()
        for (const state of states.values()) state.heardMs += now - pausedSinceMs
      }
      for (const line of lines) line.setPaused(paused)
    },
  })

  function observe(key: string, observation: DataObservation): void {
    const state = states.get(key)
    if (state === undefined) return
    const isTrade = observation.kind === 'trade' || observation.kind === 'aggregate_trade'
    if ((isTrade || observation.kind === 'funding') && !state.seen.isNew(observation.key ?? '')) {
      counts.repeats += 1
      return
    }
    state.heardMs = observation.receivedMs
    state.isStale = false
    counts.observations += 1
    queue.push(observation)
  }

  function heard(key: string): void {
    const state = states.get(key)
    if (state === undefined) return
    state.heardMs = clock.now()
    state.isStale = false
  }

  function subscribed(channel: Channel): void {
    const state = states.get(channelKey(channel))
    if (state === undefined) return
    state.heardMs = clock.now()
    state.isStale = false
    queue.push({ kind: 'subscribed', source, receivedMs: state.heardMs, channel })
  }

  function addChannel(channel: Channel, isUp: () => boolean): void {
    states.set(channelKey(channel), {
      channel,
      silenceMs: options.silenceOf(channel),
      isUp,
      seen: createRecentKeys(limits.keysRemembered),
      heardMs: clock.now(),
      isStale: false,
    })
  }

  function onFrame(line: Line, outcome: FrameOutcome, text: string): void {
    counts.frames += 1
    switch (outcome.kind) {
      case 'data':
        for (const item of outcome.items) observe(item.channel, item.observation)
        if (outcome.refused !== undefined) refuse(line.route, outcome.refused, text)
        return
      case 'accepted':
        for (const key of outcome.channels) {
          const state = states.get(key)
          if (state !== undefined) subscribed(state.channel)
        }
        return
      case 'leaving':
        line.renew('announced by the venue')
        return
      case 'ignored':
        counts.ignored += 1
        return
      case 'refused':
        refuse(line.route, outcome.reason, text)
    }
  }

  function refuse(route: Route, reason: DeadLetterReason, text: string): void {
    const receivedMs = clock.now()
    deadLetters.add({ receivedMs, reason, origin: route.name, text })
    if (reason !== 'malformed' && reason !== 'wrong_shape') return
    counts.malformed += 1
    queue.push({ kind: 'damaged', source, receivedMs, route: route.name, channels: route.channels })
  }

  function startRoute(route: Route): Line {
    const silences = route.channels.map(options.silenceOf).filter((silence) => silence !== null)
    const dataSilenceMs =
      silences.length === 0 ? null : Math.max(limits.dataSilenceFloorMs, Math.min(...silences))
    const about = { source, route: route.name, channels: route.channels }
    const line: Line = startLine({
      route,
      clock,
      random: options.random,
      signal,
      limits: { ...limits.line, renewAfterMs: options.renewAfterMs },
      whenReading: () => Promise.race([reading.promise, gone]),
      open: () =>
        openLink({
          route,
          clock,
          protocol: options.protocolOf?.(route) ?? options.protocol,
          dial: options.dial,
          limits: { ...limits.link, dataSilenceMs },
          paused: queue.paused,
          events: { frame: (outcome, text) => onFrame(line, outcome, text) },
        }),
      events: {
        connected() {
          counts.connects += 1
          queue.push({ kind: 'connected', receivedMs: clock.now(), ...about })
          for (const channel of route.channels) {
            const state = states.get(channelKey(channel))
            if (state !== undefined) state.heardMs = clock.now()
          }
          options.companion?.connected?.(route.name)
          if (!options.protocol.accepts) for (const channel of route.channels) subscribed(channel)
        },
        disconnected(reason, sinceMs) {
          counts.disconnects += 1
          queue.push({ kind: 'disconnected', receivedMs: clock.now(), reason, sinceMs, ...about })
          options.companion?.disconnected?.(route.name)
        },
        renewed(reason) {
          counts.renewals += 1
          queue.push({ kind: 'renewed', receivedMs: clock.now(), reason, ...about })
        },
      },
    })
    for (const channel of route.channels) addChannel(channel, () => line.isUp)
    return line
  }

  /** Tells each silence once; judges nothing while reading is stopped or the route is down anyway. */
  async function watchSilence(): Promise<void> {
    const silences = [...states.values()]
      .map((state) => state.silenceMs)
      .filter((silence) => silence !== null)
    const stepMs = Math.min(500, limits.longestPauseMs / 4, ...silences.map((silence) => silence / 4))
    while (!signal.aborted) {
      await clock.sleep(stepMs, signal)
      const now = clock.now()
      if (queue.paused) {
        if (now - pausedSinceMs > limits.longestPauseMs)
          for (const line of lines) line.cut('consumer too slow')
        continue
      }
      for (const state of states.values()) {
        if (state.isStale || state.silenceMs === null || !state.isUp()) continue
        if (now - state.heardMs <= state.silenceMs) continue
        state.isStale = true
        queue.push({
          kind: 'stale',
          source,
          receivedMs: now,
          channel: state.channel,
          lastHeardMs: state.heardMs,
        })
      }
    }
  }

  const lines: Line[] = []
  lines.push(...options.routes.map(startRoute))
  const polls = options.polls.map((poll) => {
    const key = channelKey(poll.channel)
    addChannel(poll.channel, () => true)
    subscribed(poll.channel)
    return runPoll({
      poll,
      clock,
      random: options.random,
      signal,
      isPaused: () => queue.paused,
      onAnswer: (observations) => {
        heard(key)
        for (const observation of observations) observe(key, observation)
      },
      onFailure: () => {
        counts.pollFailures += 1
      },
    })
  })
  for (const channel of options.companion?.channels ?? []) {
    addChannel(channel, () => true)
    subscribed(channel)
  }
  const lineOf = (name: string) => lines.find((line) => line.route.name === name)
  const companion = options.companion
    ?.run({
      signal,
      emit: observe,
      heard,
      tell: (observation) => queue.push(observation),
      send: (route, frame) => lineOf(route)?.send(frame) ?? false,
      cut: (route, reason) => lineOf(route)?.cut(reason),
      isPaused: () => queue.paused,
    })
    .catch(() => {})
  const watch = watchSilence().catch(() => {})
  const finished = Promise.all([...lines.map((line) => line.stopped), ...polls, companion, watch]).then(() =>
    queue.end(),
  )

  async function* batches(): AsyncGenerator<readonly Observation[]> {
    try {
      for (;;) {
        const batch = await queue.take()
        if (batch.length === 0) return
        yield batch
      }
    } finally {
      stop.abort()
    }
  }

  async function* singles(): AsyncGenerator<Observation> {
    for await (const batch of batches()) yield* batch
  }

  return {
    [Symbol.asyncIterator]: singles,
    batches,
    reconnect(channel, reason) {
      const key = channelKey(channel)
      for (const line of lines) {
        if (!line.route.channels.some((each) => channelKey(each) === key)) continue
        // A reader with a state of its own cannot be heard twice: its socket goes before the next one comes.
        if (options.protocolOf === undefined) line.renew(reason)
        else line.cut(reason)
      }
    },
    stats: () => ({ ...counts, queued: queue.size, paused: queue.paused }),
    async close() {
      stop.abort()
      await finished
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
