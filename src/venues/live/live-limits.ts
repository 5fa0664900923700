/** The time policy and bounds of a live session, in one place. */
import type { BackoffPolicy } from '../../kit/backoff.ts'
import type { ConnectionLimits } from './connection.ts'
import type { SocketLimits } from './socket.ts'

export interface LiveLimits {
  readonly socket: Omit<SocketLimits, 'dataSilenceMs'>
  readonly connection: Omit<ConnectionLimits, 'renewAfterMs'>
  /** Between two replacements of a socket because of channels that stay silent. */
  readonly replaceSilent: BackoffPolicy
  readonly queueHighWater: number
  readonly queueLowWater: number
  /** A consumer that keeps reading stopped for so long loses its sockets. */
  readonly maxPauseMs: number
  /** The silence of a whole socket is never judged sooner than this. */
  readonly dataSilenceFloorMs: number
  /** Trades remembered per channel, to recognise replays and overlaps. */
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
