/**
 * The work a venue does beside its sockets: a catalogue loop, subscriptions that follow it, repairs of books by REST.
 * It emits through the session, so its observations are in one queue with those of the sockets.
 */
import type { Channel, Topic } from '../channel.ts'
import type { ControlObservation, DataObservation } from '../observation.ts'

export interface VenueTasks {
  /** Channels that only the tasks feed; they count as up while the tasks run. */
  readonly channels: readonly Channel[]
  /** Topics of them, beside the list of markets, that are up from their first answer on. */
  readonly polled?: readonly Topic[]
  /** Called once; ends when the signal is aborted. It should not throw: an error ends it. */
  run(io: SessionIo): Promise<void>
  connected?(route: string): void
  /** The venue answered the dialling of the route with this HTTP status instead of a socket. */
  refused?(route: string, status: number): void
  /** `sinceMs` is when the quietest channel of the route last sent data: what followed may be lost. */
  disconnected?(route: string, sinceMs: number): void
}

export interface SessionIo {
  readonly signal: AbortSignal
  emit(channel: string, observation: DataObservation): void
  /** A request for the channel was answered; what was new has been emitted. `observedToMs`: all of it before this. */
  answered(channel: string, observedToMs?: number): void
  /** Connection changes of what the tasks reach without a socket. */
  report(observation: ControlObservation): void
  /** Sends on the route's serving socket; false when there is none. */
  send(route: string, frame: string): boolean
  cut(route: string, reason: string): void
  /** Whether the consumer is behind and should not be given more. */
  isPaused(): boolean
}
