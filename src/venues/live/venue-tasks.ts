/**
 * The work a venue does beside its sockets: a catalogue loop, subscriptions that follow it, repairs of order books by
 * REST. The tasks emit through the session, so their observations share one queue with those of the sockets.
 */
import type { Channel, Topic } from '../channel.ts'
import type { ControlObservation, DataObservation } from '../observation.ts'

export interface VenueTasks {
  /** Channels that only the tasks feed; they count as up while the tasks run. */
  readonly channels: readonly Channel[]
  /** Topics of these channels, besides `markets`, that count as subscribed only from their first answer. */
  readonly polled?: readonly Topic[]
  /** Called once; returns when the signal is aborted. It should not throw, because an error ends the tasks. */
  run(io: SessionIo): Promise<void>
  connected?(route: string): void
  /** The venue answered the route's upgrade request with this HTTP status instead of opening a socket. */
  refused?(route: string, status: number): void
  /** `sinceMs` is when the route's quietest channel last sent data; anything after it may be lost. */
  disconnected?(route: string, sinceMs: number): void
  /** A socket that was to replace the route's serving one was lost, or did not become ready. */
  successorFailed?(route: string): void
}

export interface SessionIo {
  readonly signal: AbortSignal
  emit(channel: string, observation: DataObservation): void
  /**
   * A request for the channel was answered and its new data was emitted. `observedToMs`: the answer is complete before
   * this.
   */
  answered(channel: string, observedToMs?: number): void
  /** Reports connection changes of what the tasks reach without a socket. */
  report(observation: ControlObservation): void
  /** Sends on the route's serving socket; returns false when there is none. */
  send(route: string, frame: string): boolean
  cut(route: string, reason: string): void
  /** Whether the consumer is behind and should not get more data. */
  isPaused(): boolean
}
