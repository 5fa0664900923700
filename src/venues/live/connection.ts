/**
 * Keeps one route connected: reconnects with full jitter after a loss, and replaces the socket before the venue would
 * cut it, opening the new socket before the old one is closed.
 *
 *   down ──socket open──▶ serving ──socket ended──▶ down (wait, full jitter)
 *                          │ ▲
 *             renewal due  ▼ │ successor ready, both read for `overlapMs`, old one closed
 *                        renewing ──successor failed──▶ serving (tried again later)
 *
 * An old socket that sends nothing while its successor receives data was dead. This counts as a loss for all of its
 * channels, although perhaps only the busiest one missed data.
 *
 * There is no renewal while the consumer is behind, because unread data of the old socket would be lost with it.
 *
 * During a renewal both sockets are read, so repeats are expected; they are recognised downstream by their keys.
 */
import { type BackoffPolicy, backoffMs } from '../../kit/backoff.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { SocketRoute, VenueSocket } from './socket.ts'

export interface ConnectionLimits {
  readonly backoff: BackoffPolicy
  /** A socket that lived this long and proved to work resets the backoff. */
  readonly steadyAfterMs: number
  readonly renewAfterMs: number | null
  /** Each renewal happens earlier by a random fraction of up to this share, so that routes do not renew together. */
  readonly renewSpread: number
  /** How long a successor may take to become ready. */
  readonly handoverMs: number
  readonly overlapMs: number
}

interface ConnectionEvents {
  /**
   * `isAccepted`: the venue has already confirmed the subscriptions of this socket, a successor, and will not do so
   * again.
   */
  connected(isAccepted: boolean): void
  disconnected(reason: string, sinceMs: number, wasSilent: boolean): void
  /** The venue answered the upgrade request with this HTTP status instead of opening a socket. */
  refused(status: number): void
  /** `channels`: those of the successor. */
  renewed(reason: string, channels: readonly Channel[]): void
  /** A successor was lost, or did not become ready. The old socket goes on, and another successor is dialled later. */
  successorFailed(): void
}

export interface Connection {
  readonly route: SocketRoute
  readonly isUp: boolean
  /** Requests a successor; has no effect while one is already being opened. */
  renew(reason: string): void
  setPaused(paused: boolean): void
  /** Sends on the serving socket; returns false when there is none. */
  send(frame: string): boolean
  cut(reason: string): void
  /** Resolves when the connection has stopped, which only the abort signal causes. */
  readonly stopped: Promise<void>
}

interface ConnectionOptions {
  readonly route: SocketRoute
  readonly open: (onOpened: () => void) => VenueSocket
  readonly clock: Clock
  readonly random: () => number
  readonly limits: ConnectionLimits
  readonly events: ConnectionEvents
  /** Resolves when the consumer keeps up; while it is behind, no new socket is opened. */
  readonly whenReading: () => Promise<void>
  readonly signal: AbortSignal
}

export function startConnection(options: ConnectionOptions): Connection {
  const { clock, limits, events, signal } = options
  let serving: VenueSocket | undefined
  let successor: VenueSocket | undefined
  let renewal = Promise.withResolvers<string>()
  let attempt = 0
  /** Until then the venue wants no other socket, also after the one that is open is lost. In monotonic time. */
  let refusedToMs = Number.NEGATIVE_INFINITY

  /** The pause after a socket that could not be opened or was lost. */
  function pause({ refusedForMs }: VenueSocket): Promise<void> {
    const nowMs = elapsedMs(clock)
    refusedToMs = Math.max(refusedToMs, nowMs + refusedForMs)
    const waitMs = backoffMs(limits.backoff, attempt++, options.random)
    return clock.sleep(Math.max(waitMs, refusedToMs - nowMs), signal)
  }

  /** Dials. A socket that opens while none is serving starts to serve immediately, before its first frame is read. */
  function dial(): VenueSocket {
    const socket = options.open(() => {
      if (serving === undefined) serve(socket)
    })
    successor = socket
    return socket
  }

  function serve(socket: VenueSocket): void {
    serving = socket
    if (successor === socket) successor = undefined
    events.connected(socket.accepted)
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await options.whenReading()
      if (signal.aborted) return
      renewal = Promise.withResolvers()
      const first = dial()
      let socket: VenueSocket | undefined = first
      // After a loss, a successor that was already dialled takes over, unless it is lost as well.
      while (socket !== undefined && (await socket.opened) && serving === socket) {
        const openedMs = clock.now()
        const { reason, last } = await stay(socket)
        serving = undefined
        events.disconnected(reason, last.lostSinceMs, last.wasSilent)
        if (clock.now() - openedMs >= limits.steadyAfterMs && last.isProven) attempt = 0
        socket = successor
        if (socket?.isOpen === true) serve(socket)
      }
      successor = undefined
      if (first.refusedStatus !== undefined) events.refused(first.refusedStatus)
      if (!signal.aborted) await pause(first)
    }
  }

  /** Serves and renews whenever a renewal is due; returns the last socket and why it ended. */
  async function stay(first: VenueSocket): Promise<{ reason: string; last: VenueSocket }> {
    let socket = first
    for (;;) {
      const due = await nextRenewal(socket, renewal.promise, options)
      if (due.ended !== undefined) return { reason: due.ended, last: socket }
      await Promise.race([options.whenReading(), socket.ended])
      if (signal.aborted || !socket.isOpen) return { reason: await socket.ended, last: socket }
      renewal = Promise.withResolvers()
      const next = dial()
      const took = await handover(socket, next, options)
      if (took === 'lost') return { reason: await socket.ended, last: socket }
      successor = undefined
      if (took === 'failed') {
        next.cut('did not become ready')
        events.successorFailed()
        await Promise.race([pause(next), socket.ended])
        renewal.resolve(due.reason)
        continue
      }
      serving = next
      if (next.isProven) attempt = 0
      if (socket.isDeadBeside(next)) {
        events.disconnected('silent, and replaced', socket.lastDataMs, false)
        events.connected(next.accepted)
      } else {
        next.succeed(socket)
        events.renewed(due.reason, next.channels)
      }
      socket.close('replaced')
      socket = next
    }
  }

  const onAbort = () => {
    successor?.close('stopped')
    serving?.close('stopped')
  }
  signal.addEventListener('abort', onAbort, { once: true })
  const stopped = run()
    .catch(() => {})
    .then(async () => {
      successor?.close('stopped')
      await successor?.ended
    })

  return {
    route: options.route,
    get isUp() {
      return serving !== undefined
    },
    renew(reason) {
      if (successor === undefined) renewal.resolve(reason)
    },
    setPaused(paused) {
      serving?.setPaused(paused)
      successor?.setPaused(paused)
    },
    send: (frame) => serving?.send(frame) ?? false,
    cut(reason) {
      successor?.cut(reason)
      serving?.cut(reason)
    },
    stopped,
  }
}

/** Resolves when the socket has ended, or when a successor is requested or due. */
async function nextRenewal(
  socket: VenueSocket,
  requested: Promise<string>,
  { clock, limits, random }: ConnectionOptions,
): Promise<{ ended?: string; reason: string }> {
  const timer = new AbortController()
  const planned =
    limits.renewAfterMs === null
      ? new Promise<never>(() => {})
      : clock
          .sleep(limits.renewAfterMs * (1 - limits.renewSpread * random()), timer.signal)
          .then(() => ({ reason: "before the venue's cut" }))
  planned.catch(() => {})
  try {
    return await Promise.race([
      socket.ended.then((ended) => ({ ended, reason: ended })),
      requested.then((reason) => ({ reason })),
      planned,
    ])
  } finally {
    timer.abort()
  }
}

/** Waits until the successor is ready and both sockets have been read for `overlapMs`, or until one of them ends. */
async function handover(
  socket: VenueSocket,
  next: VenueSocket,
  { clock, limits, whenReading }: ConnectionOptions,
): Promise<'taken' | 'failed' | 'lost'> {
  const timer = new AbortController()
  const late = clock.sleep(limits.handoverMs, timer.signal).then(() => 'late' as const)
  late.catch(() => {})
  try {
    const lost = socket.ended.then(() => 'lost' as const)
    const first = await Promise.race([lost, next.ready, late])
    if (first === 'lost') return 'lost'
    // A route whose channels are all quiet may never send data, so being accepted is enough.
    if (first === false || (first === 'late' && !next.accepted)) return 'failed'
    const overlap = clock
      .sleep(limits.overlapMs, timer.signal)
      .then(whenReading)
      .then(() => 'taken' as const)
    overlap.catch(() => {})
    return await Promise.race([lost, overlap, next.ended.then(() => 'failed' as const)])
  } finally {
    timer.abort()
  }
}
