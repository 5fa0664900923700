/**
 * A live session: one connection per route, one loop per poll and one watch over the silence of every channel, all
 * feeding one bounded queue with a single consumer.
 */
import type { Source } from '../../core/source.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import { afterReading } from '../../kit/reading-time.ts'
import { stopWith } from '../../kit/stop-with.ts'
import { type Channel, channelKey } from '../channel.ts'
import type { DeadLetters } from '../dead-letter.ts'
import type { Observation } from '../observation.ts'
import type { Dial, LiveSession } from '../venue.ts'
import { type Connection, startConnection } from './connection.ts'
import type { FrameProtocol } from './frame.ts'
import { Intake } from './intake.ts'
import type { LiveLimits } from './live-limits.ts'
import { type Poll, runPoll } from './poll.ts'
import { createSilentSocket, type SilentSocket } from './silent-socket.ts'
import { type SocketEvents, type SocketRoute, VenueSocket } from './socket.ts'
import type { SessionIo, VenueTasks } from './venue-tasks.ts'

export interface LiveSessionOptions {
  readonly source: Source
  readonly routes: readonly SocketRoute[]
  readonly polls: readonly Poll[]
  readonly protocol: FrameProtocol
  /**
   * For venues where each socket needs its own reader: the reader's state ends with the socket, or routes differ in
   * protocol.
   */
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
  const session = new RunningSession(options)
  session.start()
  return session
}

class RunningSession implements LiveSession {
  readonly #options: LiveSessionOptions
  readonly #intake: Intake
  readonly #stop: AbortController
  readonly #signal: AbortSignal
  readonly #whenStopped: Promise<void>
  readonly #connections: Connection[] = []
  /** One per connection, in the same order. */
  readonly #silentSockets: SilentSocket[]
  /** Resolved while the consumer keeps up. */
  #reading = Promise.withResolvers<void>()
  #pausedSinceMs = 0
  #sockets = 0
  #finished: Promise<void> = Promise.resolve()

  constructor(options: LiveSessionOptions) {
    this.#options = options
    this.#stop = stopWith(options.signal)
    this.#signal = this.#stop.signal
    this.#whenStopped = aborted(this.#signal)
    this.#silentSockets = options.routes.map(() => createSilentSocket(options.limits.replaceSilent))
    this.#reading.resolve()
    this.#intake = new Intake({
      ...options,
      onPressure: (paused) => this.#setPaused(paused),
      onData: (key) => {
        for (const socket of this.#silentSockets) socket.received(key)
      },
    })
  }

  start(): void {
    const { routes, polls, tasks, clock } = this.#options
    for (const route of routes) this.#connections.push(this.#startRoute(route))
    const polling = polls.map((poll) => this.#startPoll(poll))
    for (const channel of tasks?.channels ?? []) {
      this.#intake.watch.add(channel, () => true)
      const isPolled = channel.topic === 'markets' || tasks?.polled?.includes(channel.topic)
      if (isPolled !== true) this.#intake.subscribed(channelKey(channel))
    }
    const forget = clock.onStandstill?.((ms) => this.#stoodStill(ms))
    this.#finished = Promise.all([
      ...this.#connections.map((connection) => connection.stopped),
      ...polling,
      tasks?.run(this.#ioOfTasks()).catch(() => {}),
      this.#watchSilence().catch(() => {}),
    ]).then(() => {
      forget?.()
      this.#intake.queue.end()
    })
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Observation> {
    for await (const batch of this.batches()) yield* batch
  }

  async *batches(): AsyncGenerator<readonly Observation[]> {
    try {
      for (;;) {
        const batch = await this.#intake.queue.take()
        if (batch.length === 0) return
        yield batch
      }
    } finally {
      this.#stop.abort()
    }
  }

  reconnect(channel: Channel, reason: string): void {
    const key = channelKey(channel)
    for (const [index, connection] of this.#connections.entries()) {
      if (!connection.route.channels.some((each) => channelKey(each) === key)) continue
      if (this.#silentSockets[index]?.mayReplace(key, elapsedMs(this.#options.clock)) !== true) continue
      // A reader with state cannot read two sockets, so the old socket is closed before the next one opens.
      if (this.#options.protocolOf === undefined) connection.renew(reason)
      else connection.cut(reason)
    }
  }

  stats() {
    const { counts, queue } = this.#intake
    const { routes } = this.#options
    return {
      ...counts,
      queued: queue.size,
      paused: queue.paused,
      sockets: this.#sockets,
      routes: routes.length,
    }
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#finished
  }

  #setPaused(paused: boolean): void {
    const now = this.#options.clock.now()
    if (paused) {
      this.#reading = Promise.withResolvers()
      this.#pausedSinceMs = now
    } else {
      this.#reading.resolve()
      this.#intake.watch.forgive(now - this.#pausedSinceMs)
    }
    for (const connection of this.#connections) connection.setPaused(paused)
  }

  /**
   * Data still buffered in the sockets is older than its receive time would say, so the sockets are cut without reading
   * it.
   */
  #stoodStill(ms: number): void {
    const seconds = Math.round(ms / 1_000)
    for (const connection of this.#connections) connection.cut(`stood still for ${seconds} s`)
  }

  #startRoute(route: SocketRoute): Connection {
    const { clock, random, limits, tasks } = this.#options
    const intake = this.#intake
    // A channel that is left out of the next socket may have been on the one that is lost.
    const whole = { name: route.name, channels: [...route.channels] }
    const keys = whole.channels.map(channelKey)
    const connection: Connection = startConnection({
      route,
      clock,
      random,
      signal: this.#signal,
      limits: { ...limits.connection, renewAfterMs: this.#options.renewAfterMs },
      whenReading: () => Promise.race([this.#reading.promise, this.#whenStopped]),
      open: (onOpened) =>
        this.#openSocket(route, {
          opened: onOpened,
          frame(outcome, text) {
            intake.frame(whole, outcome, text)
            if (outcome.kind === 'leaving') connection.renew('announced by the venue')
          },
        }),
      events: {
        connected: (isAccepted) => {
          intake.connected(route)
          tasks?.connected?.(route.name)
          if (isAccepted || !this.#options.protocol.accepts)
            intake.accepted(route, route.channels.map(channelKey))
        },
        disconnected(reason, sinceMs, wasSilent) {
          intake.disconnected(whole, reason, sinceMs, wasSilent)
          tasks?.disconnected?.(route.name, Math.min(sinceMs, ...keys.map(intake.watch.lastReceivedMs)))
        },
        refused: (status) => tasks?.refused?.(route.name, status),
        renewed(reason, channels) {
          const renewed = new Set(channels.map(channelKey))
          const leftOut = whole.channels.filter((channel) => !renewed.has(channelKey(channel)))
          if (leftOut.length > 0)
            intake.disconnected({ ...whole, channels: leftOut }, 'left out', clock.now(), false)
          intake.renewed(route, reason)
        },
        successorFailed: () => tasks?.successorFailed?.(route.name),
      },
    })
    for (const channel of route.channels) intake.watch.add(channel, () => connection.isUp)
    return connection
  }

  /** Counts the sockets from dialling to their `close` event, independently of what the connections believe. */
  readonly #dial: Dial = (url, headers) => {
    const socket = this.#options.dial(url, headers)
    this.#sockets += 1
    socket.on('close', () => {
      this.#sockets -= 1
    })
    return socket
  }

  #openSocket(route: SocketRoute, events: SocketEvents): VenueSocket {
    const { clock, limits, protocol, protocolOf, silenceOf } = this.#options
    const silences = route.channels.map(silenceOf).filter((silence) => silence !== null)
    const dataSilenceMs =
      silences.length === 0 ? null : Math.max(limits.dataSilenceFloorMs, Math.min(...silences))
    return VenueSocket.open({
      route,
      clock,
      dial: this.#dial,
      events,
      protocol: protocolOf?.(route) ?? protocol,
      limits: { ...limits.socket, dataSilenceMs },
      paused: this.#intake.queue.paused,
    })
  }

  #startPoll(poll: Poll): Promise<void> {
    const intake = this.#intake
    const key = channelKey(poll.channel)
    intake.watch.add(poll.channel, () => true)
    return runPoll({
      poll,
      clock: this.#options.clock,
      random: this.#options.random,
      signal: this.#signal,
      isPaused: () => intake.queue.paused,
      onAnswer(observations) {
        for (const observation of observations) intake.observe(key, observation)
        intake.answered(key, poll.observedTo?.(observations))
      },
      onFailure() {
        intake.counts.pollFailures += 1
      },
    })
  }

  #ioOfTasks(): SessionIo {
    const intake = this.#intake
    const connectionOf = (name: string) => this.#connections.find(({ route }) => route.name === name)
    return {
      signal: this.#signal,
      emit: (key, observation) => intake.observe(key, observation),
      answered: (key, observedToMs) => intake.answered(key, observedToMs),
      report: (observation) => intake.report(observation),
      send: (route, frame) => connectionOf(route)?.send(frame) ?? false,
      cut: (route, reason) => connectionOf(route)?.cut(reason),
      isPaused: () => intake.queue.paused,
    }
  }

  /** Silence does not count while reading is paused; a consumer that pauses it for too long loses its sockets. */
  async #watchSilence(): Promise<void> {
    const { clock, limits } = this.#options
    const { watch, queue } = this.#intake
    const stepMs = Math.min(500, limits.maxPauseMs / 4, watch.shortestSilenceMs() / 4)
    while (!this.#signal.aborted) {
      await clock.sleep(stepMs, this.#signal)
      await afterReading()
      const now = clock.now()
      for (const { route } of this.#connections)
        if (route.expectsData?.() === false)
          for (const channel of route.channels) watch.restart(channelKey(channel), now)
      if (!queue.paused) this.#intake.reportSilence(now)
      else if (now - this.#pausedSinceMs > limits.maxPauseMs)
        for (const connection of this.#connections) connection.cut('consumer too slow')
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
