/**
 * A live session: one connection per route, one loop per poll, one watch over the silence of every channel, all into
 * one bounded queue that one consumer reads.
 */
import type { Source } from '../../core/source.ts'
import type { Clock } from '../../kit/clock.ts'
import { afterReading } from '../../kit/reading-time.ts'
import { type Channel, channelKey } from '../channel.ts'
import type { DeadLetterReason, DeadLetters } from '../dead-letter.ts'
import type { DataObservation, Observation } from '../observation.ts'
import type { Dial, LiveSession } from '../venue.ts'
import { createChannelWatch } from './channel-watch.ts'
import { type Connection, startConnection } from './connection.ts'
import type { FrameOutcome, FrameProtocol } from './frame.ts'
import type { LiveLimits } from './live-limits.ts'
import { createObservationQueue } from './observation-queue.ts'
import { type Poll, runPoll } from './poll.ts'
import { createSilentSocket } from './silent-socket.ts'
import { openVenueSocket, type SocketRoute } from './socket.ts'
import type { VenueTasks } from './venue-tasks.ts'

export interface LiveSessionOptions {
  readonly source: Source
  readonly routes: readonly SocketRoute[]
  readonly polls: readonly Poll[]
  readonly protocol: FrameProtocol
  /** Where each socket needs a reader of its own (state that ends with it, or another protocol per route). */
  readonly protocolOf?: (route: SocketRoute) => FrameProtocol
  readonly tasks?: VenueTasks
  readonly silenceOf: (channel: Channel) => number | null
  readonly renewAfterMs: number | null
  readonly clock: Clock
  readonly random: () => number
  readonly dial: Dial
  readonly deadLetters: DeadLetters
  readonly limits: LiveLimits
  readonly signal: AbortSignal
}

export function startLiveSession(options: LiveSessionOptions): LiveSession {
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
  const watch = createChannelWatch({
    silenceOf: options.silenceOf,
    keysRemembered: limits.keysRemembered,
    nowMs: clock.now,
  })
  let reading = Promise.withResolvers<void>()
  reading.resolve()
  let pausedSinceMs = 0
  const hasAnswered = new Set<string>()
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
        watch.forgive(now - pausedSinceMs)
      }
      for (const connection of connections) connection.setPaused(paused)
    },
  })

  function observe(key: string, observation: DataObservation): void {
    const admitted = watch.admit(key, observation)
    if (admitted === 'repeat') counts.repeats += 1
    if (admitted !== 'new') return
    counts.observations += 1
    for (const socket of silentSockets) socket.received(key)
    queue.push(observation)
  }

  function subscribed(key: string): void {
    const channel = watch.channelOf(key)
    if (channel === undefined) return
    queue.push({ kind: 'subscribed', source, receivedMs: clock.now(), channel })
  }

  /** Nothing of a polled channel was observed before its first answer. */
  function answered(key: string, observedToMs?: number): void {
    const [receivedMs, channel] = [clock.now(), watch.channelOf(key)]
    watch.restart(key, receivedMs)
    if (channel === undefined) return
    if (!hasAnswered.has(key)) subscribed(key)
    hasAnswered.add(key)
    const observed = observedToMs === undefined ? {} : { observedToMs }
    queue.push({ kind: 'answered', source, receivedMs, channel, ...observed })
  }

  function onFrame(connection: Connection, outcome: FrameOutcome, text: string): void {
    counts.frames += 1
    switch (outcome.kind) {
      case 'data':
        for (const item of outcome.items) observe(item.channel, item.observation)
        if (outcome.refused !== undefined) refuse(connection.route, outcome.refused, text)
        return
      case 'accepted':
        outcome.channels.forEach(subscribed)
        return
      case 'leaving':
        connection.renew('announced by the venue')
        return
      case 'ignored':
        counts.ignored += 1
        return
      case 'refused':
        refuse(connection.route, outcome.reason, text)
    }
  }

  function refuse(route: SocketRoute, reason: DeadLetterReason, text: string): void {
    const receivedMs = clock.now()
    deadLetters.add({ receivedMs, reason, origin: route.name, text })
    if (reason !== 'malformed' && reason !== 'wrong_shape') return
    counts.malformed += 1
    queue.push({ kind: 'damaged', source, receivedMs, route: route.name, channels: route.channels })
  }

  function startRoute(route: SocketRoute): Connection {
    const silences = route.channels.map(options.silenceOf).filter((silence) => silence !== null)
    const dataSilenceMs =
      silences.length === 0 ? null : Math.max(limits.dataSilenceFloorMs, Math.min(...silences))
    const keys = route.channels.map(channelKey)
    const about = { source, route: route.name, channels: route.channels }
    const connection: Connection = startConnection({
      route,
      clock,
      random: options.random,
      signal,
      limits: { ...limits.connection, renewAfterMs: options.renewAfterMs },
      whenReading: () => Promise.race([reading.promise, gone]),
      open: (onOpened) =>
        openVenueSocket({
          route,
          clock,
          protocol: options.protocolOf?.(route) ?? options.protocol,
          dial: options.dial,
          limits: { ...limits.socket, dataSilenceMs },
          paused: queue.paused,
          events: { opened: onOpened, frame: (outcome, text) => onFrame(connection, outcome, text) },
        }),
      events: {
        connected(isAccepted) {
          counts.connects += 1
          queue.push({ kind: 'connected', receivedMs: clock.now(), ...about })
          for (const key of keys) watch.restart(key, clock.now())
          options.tasks?.connected?.(route.name)
          if (isAccepted || !options.protocol.accepts) keys.forEach(subscribed)
        },
        disconnected(reason, sinceMs) {
          counts.disconnects += 1
          queue.push({ kind: 'disconnected', receivedMs: clock.now(), reason, sinceMs, ...about })
          options.tasks?.disconnected?.(route.name, Math.min(sinceMs, ...keys.map(watch.lastReceivedMs)))
        },
        refused: (status) => options.tasks?.refused?.(route.name, status),
        renewed(reason) {
          counts.renewals += 1
          // A channel that is still silent on the new socket is reported again. The new socket itself proves nothing: it
          // would hide the silence of a slow channel behind the renewals for a quick one.
          for (const key of keys) watch.reportAgain(key, clock.now())
          queue.push({ kind: 'renewed', receivedMs: clock.now(), reason, ...about })
        },
      },
    })
    for (const channel of route.channels) watch.add(channel, () => connection.isUp)
    return connection
  }

  /** Reports each silence once; not while reading is stopped or the route is down anyway. */
  async function watchSilence(): Promise<void> {
    const stepMs = Math.min(500, limits.maxPauseMs / 4, watch.shortestSilenceMs() / 4)
    while (!signal.aborted) {
      await clock.sleep(stepMs, signal)
      await afterReading()
      const now = clock.now()
      for (const { route } of connections)
        if (route.expectsData?.() === false)
          for (const channel of route.channels) watch.restart(channelKey(channel), now)
      if (queue.paused) {
        if (now - pausedSinceMs > limits.maxPauseMs)
          for (const connection of connections) connection.cut('consumer too slow')
        continue
      }
      for (const silent of watch.fallenSilent(now))
        queue.push({ kind: 'stale', source, receivedMs: now, ...silent })
    }
  }

  const connections: Connection[] = []
  connections.push(...options.routes.map(startRoute))
  const silentSockets = connections.map(() => createSilentSocket(limits.replaceSilent))
  const polls = options.polls.map((poll) => {
    const key = channelKey(poll.channel)
    watch.add(poll.channel, () => true)
    return runPoll({
      poll,
      clock,
      random: options.random,
      signal,
      isPaused: () => queue.paused,
      onAnswer: (observations) => {
        for (const observation of observations) observe(key, observation)
        answered(key)
      },
      onFailure: () => {
        counts.pollFailures += 1
      },
    })
  })
  for (const channel of options.tasks?.channels ?? []) {
    watch.add(channel, () => true)
    const isPolled = channel.topic === 'markets' || options.tasks?.polled?.includes(channel.topic)
    if (isPolled !== true) subscribed(channelKey(channel))
  }
  const connectionOf = (name: string) => connections.find((connection) => connection.route.name === name)
  const tasks = options.tasks
    ?.run({
      signal,
      emit: observe,
      answered,
      report: (observation) => queue.push(observation),
      send: (route, frame) => connectionOf(route)?.send(frame) ?? false,
      cut: (route, reason) => connectionOf(route)?.cut(reason),
      isPaused: () => queue.paused,
    })
    .catch(() => {})
  const watching = watchSilence().catch(() => {})
  const finished = Promise.all([
    ...connections.map((connection) => connection.stopped),
    ...polls,
    tasks,
    watching,
  ]).then(() => queue.end())

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
      for (const [index, connection] of connections.entries()) {
        if (!connection.route.channels.some((each) => channelKey(each) === key)) continue
        if (silentSockets[index]?.mayReplace(key, clock.now()) !== true) continue
        // A reader with a state of its own cannot read two sockets: the old one goes before the next one comes.
        if (options.protocolOf === undefined) connection.renew(reason)
        else connection.cut(reason)
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
