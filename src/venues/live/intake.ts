/**
 * Turns everything that arrives in a live session (frames, poll answers, connection changes) into observations for the
 * one queue. Repeats are left out, unreadable frames become dead letters, and each channel's silence is measured here.
 * There are no sockets and no timers in this file.
 *
 * A subscription counts from its acceptance, except on a route whose last socket was cut because it sent nothing:
 *
 *   disconnected, was silent ──▶ unproven: acceptances are held back ──new data on a socket──▶ they are reported
 */
import type { Source } from '../../core/source.ts'
import type { Clock } from '../../kit/clock.ts'
import { type Channel, channelKey } from '../channel.ts'
import type { DeadLetterReason, DeadLetters } from '../dead-letter.ts'
import type { DataObservation, Observation } from '../observation.ts'
import { type ChannelWatch, createChannelWatch } from './channel-watch.ts'
import type { DataFrame, FrameOutcome } from './frame.ts'
import type { LiveLimits } from './live-limits.ts'
import { createObservationQueue, type ObservationQueue } from './observation-queue.ts'
import { isPlausibleAnswer } from './plausible.ts'
import type { SocketRoute } from './socket.ts'

type Route = Pick<SocketRoute, 'name' | 'channels'>

/** A frame refused for one of these reasons may have contained data, which is now missing. */
const MAY_HAVE_LOST: ReadonlySet<DeadLetterReason> = new Set(['malformed', 'wrong_shape', 'implausible'])

interface IntakeOptions {
  readonly source: Source
  readonly clock: Clock
  readonly limits: Pick<LiveLimits, 'queueHighWater' | 'queueLowWater' | 'keysRemembered'>
  readonly deadLetters: DeadLetters
  readonly silenceOf: (channel: Channel) => number | null
  /** Called with true when the consumer falls behind, and with false when it has caught up. */
  readonly onPressure: (paused: boolean) => void
  /** Called when a channel sent something new. */
  readonly onData: (key: string) => void
}

export class Intake {
  readonly counts = {
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
  readonly queue: ObservationQueue
  readonly watch: ChannelWatch
  readonly #options: IntakeOptions
  readonly #answered = new Set<string>()
  /**
   * By name, the routes whose last socket was silent and that have sent nothing since, with the channels accepted
   * since.
   */
  readonly #unproven = new Map<string, Set<string>>()

  constructor(options: IntakeOptions) {
    const { limits, clock } = options
    this.#options = options
    this.queue = createObservationQueue({
      highWater: limits.queueHighWater,
      lowWater: limits.queueLowWater,
      onPressure: options.onPressure,
    })
    this.watch = createChannelWatch({
      silenceOf: options.silenceOf,
      keysRemembered: limits.keysRemembered,
      nowMs: clock.now,
    })
  }

  report(observation: Observation): void {
    this.queue.push(observation)
  }

  /** Takes an observation from the answer to a request. */
  observe(key: string, observation: DataObservation): void {
    const channel = this.watch.channelOf(key)
    if (channel === undefined) return
    if (isPlausibleAnswer(observation) && this.#admit(key, observation) !== 'implausible') return
    const { kind, instrument, venueTimeMs } = observation
    this.#refuse({ name: key, channels: [channel] }, 'implausible', `${kind} ${instrument} ${venueTimeMs}`)
  }

  subscribed(key: string): void {
    const channel = this.watch.channelOf(key)
    if (channel === undefined) return
    this.queue.push({ kind: 'subscribed', ...this.#head(), channel })
  }

  /** The venue accepted channels of a route or, where it sends no acceptance, their socket opened. */
  accepted(route: Route, keys: readonly string[]): void {
    const held = this.#unproven.get(route.name)
    for (const key of keys) {
      if (held === undefined) this.subscribed(key)
      else held.add(key)
    }
  }

  /** A poll or a task was answered. Its channel counts as observed from the first answer. */
  answered(key: string, observedToMs?: number): void {
    const [head, channel] = [this.#head(), this.watch.channelOf(key)]
    this.watch.restart(key, head.receivedMs)
    if (channel === undefined) return
    if (!this.#answered.has(key)) this.subscribed(key)
    this.#answered.add(key)
    const observed = observedToMs === undefined ? {} : { observedToMs }
    this.queue.push({ kind: 'answered', ...head, channel, ...observed })
  }

  /** `leaving` and `pong` concern the connection; here they are only counted. */
  frame(route: Route, outcome: FrameOutcome, text: string): void {
    this.counts.frames += 1
    switch (outcome.kind) {
      case 'data':
        this.#takeItems(route, outcome, text)
        return
      case 'accepted':
        this.accepted(route, outcome.channels)
        return
      case 'ignored':
        this.counts.ignored += 1
        return
      case 'refused':
        this.#refuse(route, outcome.reason, text)
    }
  }

  connected(route: Route): void {
    this.counts.connects += 1
    this.queue.push({ kind: 'connected', ...this.#about(route) })
    for (const channel of route.channels) this.watch.restart(channelKey(channel), this.#options.clock.now())
  }

  /** `wasSilent`: the socket was cut because nothing was received on it. */
  disconnected(route: Route, reason: string, sinceMs: number, wasSilent: boolean): void {
    this.counts.disconnects += 1
    if (wasSilent || this.#unproven.has(route.name)) this.#unproven.set(route.name, new Set())
    this.queue.push({ kind: 'disconnected', reason, sinceMs, ...this.#about(route) })
  }

  /**
   * A channel that stays silent on the new socket is reported again. The renewal does not reset the silence of other
   * channels, because renewals for a quick channel would then hide the silence of a slow one.
   */
  renewed(route: Route, reason: string): void {
    this.counts.renewals += 1
    for (const channel of route.channels)
      this.watch.reportAgain(channelKey(channel), this.#options.clock.now())
    this.queue.push({ kind: 'renewed', reason, ...this.#about(route) })
  }

  /** Reports each silence once. */
  reportSilence(nowMs: number): void {
    const { source } = this.#options
    for (const silent of this.watch.fallenSilent(nowMs))
      this.queue.push({ kind: 'stale', source, receivedMs: nowMs, ...silent })
  }

  #takeItems(route: Route, { items, refused }: DataFrame, text: string): void {
    let reason = refused
    for (const { channel, observation } of items) {
      const admitted = this.#admit(channel, observation, route)
      if (admitted === 'implausible') reason ??= admitted
    }
    if (reason !== undefined) this.#refuse(route, reason, text)
  }

  /** `route`: the route of the socket that sent the observation; omitted for the answer to a request. */
  #admit(key: string, observation: DataObservation, route?: Route): ReturnType<ChannelWatch['admit']> {
    const admitted = this.watch.admit(key, observation)
    if (admitted === 'repeat') this.counts.repeats += 1
    if (admitted !== 'new') return admitted
    if (route !== undefined) this.#prove(route)
    this.counts.observations += 1
    this.#options.onData(key)
    this.queue.push(observation)
    return admitted
  }

  #prove(route: Route): void {
    const held = this.#unproven.get(route.name)
    if (held === undefined) return
    this.#unproven.delete(route.name)
    for (const key of held) this.subscribed(key)
  }

  #refuse(route: Route, reason: DeadLetterReason, text: string): void {
    const receivedMs = this.#options.clock.now()
    this.#options.deadLetters.add({ receivedMs, reason, origin: route.name, text })
    if (!MAY_HAVE_LOST.has(reason)) return
    this.counts.malformed += 1
    this.queue.push({ kind: 'damaged', ...this.#about(route) })
  }

  #head() {
    return { source: this.#options.source, receivedMs: this.#options.clock.now() }
  }

  #about(route: Route) {
    return { ...this.#head(), route: route.name, channels: route.channels }
  }
}
