/** The time policy and the bounds of a live session, in one place. */
import type { BackoffPolicy } from '../../kit/backoff.ts'
import type { ConnectionLimits } from './connection.ts'
import type { SocketLimits } from './socket.ts'

export interface LiveLimits {
  readonly socket: Omit<SocketLimits, 'dataSilenceMs'>
  readonly connection: Omit<ConnectionLimits, 'renewAfterMs'>
  /** Pauses between replacements of a socket whose channels stay silent. */
  readonly replaceSilent: BackoffPolicy
  readonly queueHighWater: number
  readonly queueLowWater: number
  /** A consumer that keeps reading paused for longer than this loses its sockets. */
  readonly maxPauseMs: number
  /** A whole socket is never judged silent sooner than this. */
  readonly dataSilenceFloorMs: number
  /** Keys remembered per channel, to recognise data that is sent again after a reconnect or by overlapping sockets. */
  readonly keysRemembered: number
}

export const LIVE_LIMITS: LiveLimits = {
  socket: { openWithinMs: 10_000, trafficSilenceMs: 600_000, closeWithinMs: 2_000 },
  connection: {
    backoff: { baseMs: 250, capMs: 30_000 },
    steadyAfterMs: 30_000,
    renewSpread: 0.01,
    handoverMs: 10_000,
    overlapMs: 1_000,
  },
  replaceSilent: { baseMs: 4_000, capMs: 120_000 },
  queueHighWater: 65_536,
  queueLowWater: 16_384,
  maxPauseMs: 20_000,
  dataSilenceFloorMs: 30_000,
  keysRemembered: 16_384,
}
