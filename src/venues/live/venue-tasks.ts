/**
 * The part of a session that a venue itself drives: a catalogue loop, subscriptions that follow it, repairs of
 * books by REST. It speaks through the session, so its observations stand in one queue with those of the lines.
 */
import type { Channel } from '../channel.ts'
import type { ControlObservation, DataObservation } from '../observation.ts'

export interface VenueTasks {
  /** Channels that only the companion feeds; they count as up while it runs, the list of markets from its first answer on. */
  readonly channels: readonly Channel[]
  /** Called once; ends when the signal is aborted. An error it throws is the end of it, so it should not. */
  run(io: SessionIo): Promise<void>
  connected?(route: string): void
  /** The venue answered the dialling of the route with this HTTP status instead of a socket. */
  refused?(route: string, status: number): void
  /** `sinceMs` is when the quietest channel of the route was last heard: what followed may be lost. */
  disconnected?(route: string, sinceMs: number): void
}

export interface SessionIo {
  readonly signal: AbortSignal
  emit(channel: string, observation: DataObservation): void
  /** The channel was asked about and has answered; what was new has been emitted. */
  answered(channel: string): void
  /** Connection changes of what the companion reaches by itself. */
  report(observation: ControlObservation): void
  /** Speaks on the route's serving socket; false when there is none. */
  send(route: string, frame: string): boolean
  cut(route: string, reason: string): void
  /** Whether the consumer is behind and should not be given more. */
  isPaused(): boolean
}
