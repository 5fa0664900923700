/**
 * One socket to one route of a venue, from dialling to its end.
 *
 *   dialling ──open──▶ greeting ──all accepted, data received──▶ ready ──▶ ended
 *       ╰──────────────────────── refused, timeout, cut, silent ────────────▲
 *
 * A socket ends once, for one reason, and never comes back; keeping a route alive is the connection's work.
 */
import type { RawData, WebSocket } from 'ws'
import type { Clock } from '../../kit/clock.ts'
import { afterReading, sleepReading } from '../../kit/reading-time.ts'
import { type Channel, channelKey } from '../channel.ts'
import type { Dial } from '../venue.ts'
import { type FrameOutcome, type FrameProtocol, refused } from './frame.ts'

export interface SocketRoute {
  readonly name: string
  readonly url: string
  readonly channels: readonly Channel[]
  /** Subscription frames, sent in order after the opening; read again at every opening. */
  readonly greeting: readonly string[]
  /** Whether anything is subscribed: until then silence is no fault. Left out: from the opening on. */
  readonly expectsData?: () => boolean
  /** Of the upgrade request, made for every dialling. */
  readonly headers?: () => Readonly<Record<string, string>>
}

export interface SocketLimits {
  readonly openWithinMs: number
  /** No data frame on the whole socket for so long: it is dead, whatever TCP reports. Null: any silence is normal. */
  readonly dataSilenceMs: number | null
  /** Not even a ping for so long. */
  readonly trafficSilenceMs: number
  /** A closing handshake that takes longer is cut. */
  readonly closeWithinMs: number
}

export interface SocketEvents {
  /** In the moment of opening, before any frame. */
  opened(): void
  /** Every frame, after it was read. */
  frame(outcome: FrameOutcome, text: string): void
}

export interface VenueSocket {
  /** False when it ended before it was open. */
  readonly opened: Promise<boolean>
  /** Open, greeted, accepted and sending data; false when it ended before. */
  readonly ready: Promise<boolean>
  readonly ended: Promise<string>
  /** Open, greeted and (where the venue confirms it) subscribed, though perhaps silent. */
  readonly accepted: boolean
  /** The HTTP status that the venue answered the upgrade with instead; undefined otherwise. */
  readonly refusedStatus: number | undefined
  readonly isOpen: boolean
  /** It brought data, or was accepted where any silence is normal: more than a socket that opens. */
  readonly isProven: boolean
  readonly lastTrafficMs: number
  setPaused(paused: boolean): void
  /** For subscriptions that change while the socket lives; false when it is not open. */
  send(frame: string): boolean
  /** With a closing handshake. */
  close(reason: string): void
  /** Cuts at once. */
  cut(reason: string): void
}

export function openVenueSocket(options: {
  route: SocketRoute
  protocol: FrameProtocol
  dial: Dial
  clock: Clock
  limits: SocketLimits
  events: SocketEvents
  paused: boolean
}): VenueSocket {
  const { route, protocol, clock, limits, events } = options
  const opened = Promise.withResolvers<boolean>()
  const ready = Promise.withResolvers<boolean>()
  const ended = Promise.withResolvers<string>()
  const life = new AbortController()
  const waiting = new Set(protocol.accepts ? route.channels.map(channelKey) : [])
  let isOpen = false
  let greeted = false
  let hasData = false
  let paused = options.paused
  let lastTrafficMs = clock.now()
  let lastDataMs = lastTrafficMs
  let lastPingMs = lastTrafficMs
  let pingPending = false
  let endReason: string | undefined
  let refusedStatus: number | undefined
  let socket: WebSocket | undefined

  const accepted = () => isOpen && greeted && waiting.size === 0
  const settle = () => {
    if (accepted() && hasData) ready.resolve(true)
  }

  function end(reason: string): void {
    if (life.signal.aborted) return
    endReason ??= reason
    life.abort()
    opened.resolve(false)
    ready.resolve(false)
    ended.resolve(endReason)
  }

  function cut(reason: string): void {
    endReason ??= reason
    socket?.terminate()
    end(reason)
  }

  async function greet(): Promise<void> {
    for (const [index, frame] of route.greeting.entries()) {
      if (index > 0 && protocol.greetingPaceMs > 0) await clock.sleep(protocol.greetingPaceMs, life.signal)
      socket?.send(frame)
    }
    greeted = true
    settle()
  }

  async function keepWatch(): Promise<void> {
    const spans = [limits.dataSilenceMs, limits.trafficSilenceMs, protocol.heartbeat?.answerWithinMs]
    const stepMs = Math.min(1_000, ...spans.filter((span) => span != null).map((span) => span / 4))
    for (;;) {
      await clock.sleep(stepMs, life.signal)
      await afterReading()
      if (life.signal.aborted) return
      if (paused) continue
      const now = clock.now()
      if (route.expectsData?.() === false) lastDataMs = now
      if (now - lastTrafficMs > limits.trafficSilenceMs) return cut('no traffic')
      if (limits.dataSilenceMs !== null && now - lastDataMs > limits.dataSilenceMs) return cut('no data')
      const beat = protocol.heartbeat
      if (beat === null) continue
      const isLate = pingPending && beat.answerWithinMs !== null && now - lastPingMs > beat.answerWithinMs
      // A socket that sends is alive, though the pong may be far behind in the queue: another ping is sent.
      if (isLate && lastTrafficMs > lastPingMs) pingPending = false
      else if (isLate) return cut('no pong')
      const isAnswered = beat.answerWithinMs === null || !pingPending
      if (isAnswered && now - lastPingMs >= beat.everyMs) {
        pingPending = true
        lastPingMs = now
        socket?.send(beat.frame)
      }
    }
  }

  async function openWithin(): Promise<void> {
    await sleepReading(clock, limits.openWithinMs, life.signal)
    if (!isOpen) cut('no answer while opening')
  }

  function onMessage(data: RawData, isBinary: boolean): void {
    if (life.signal.aborted) return
    lastTrafficMs = clock.now()
    const text = data.toString()
    const outcome = isBinary ? refused('malformed') : protocol.read(text, lastTrafficMs)
    switch (outcome.kind) {
      case 'data':
        hasData = true
        lastDataMs = lastTrafficMs
        break
      case 'accepted':
        for (const channel of outcome.channels) waiting.delete(channel)
        break
      case 'pong':
        pingPending = false
        break
    }
    events.frame(outcome, text)
    settle()
  }

  function start(): void {
    try {
      socket = options.dial(route.url, route.headers?.())
    } catch (error) {
      end(reasonOf(error))
      return
    }
    socket.on('unexpected-response', (_request, response) => {
      refusedStatus = response.statusCode
      cut(`refused with status ${refusedStatus}`)
    })
    socket.on('error', (error) => {
      endReason ??= reasonOf(error)
    })
    socket.on('open', () => {
      if (life.signal.aborted) return socket?.terminate()
      isOpen = true
      lastTrafficMs = lastDataMs = lastPingMs = clock.now()
      if (paused) socket?.pause()
      events.opened()
      opened.resolve(true)
      greet().catch(() => {})
    })
    socket.on('ping', () => {
      lastTrafficMs = clock.now()
    })
    socket.on('message', onMessage)
    socket.on('close', (code, reason) => end(closeText(code, reason.toString())))
    keepWatch().catch(() => {})
    openWithin().catch(() => {})
  }
  start()

  return {
    opened: opened.promise,
    ready: ready.promise,
    ended: ended.promise,
    get accepted() {
      return accepted()
    },
    get refusedStatus() {
      return refusedStatus
    },
    get isOpen() {
      return isOpen && !life.signal.aborted
    },
    get isProven() {
      return hasData || (limits.dataSilenceMs === null && accepted())
    },
    get lastTrafficMs() {
      return lastTrafficMs
    },
    setPaused(value) {
      paused = value
      if (!isOpen || life.signal.aborted) return
      if (value) return socket?.pause()
      lastTrafficMs = lastDataMs = lastPingMs = clock.now()
      pingPending = false
      socket?.resume()
    },
    send(frame) {
      if (!isOpen || life.signal.aborted || socket?.readyState !== socket?.OPEN) return false
      socket?.send(frame)
      return true
    },
    close(reason) {
      endReason ??= reason
      if (!isOpen) return cut(reason)
      socket?.close(1000)
      clock.sleep(limits.closeWithinMs, life.signal).then(
        () => cut(reason),
        () => {},
      )
    },
    cut,
  }
}

function closeText(code: number, reason: string): string {
  return reason === '' ? `closed with ${code}` : `closed with ${code}: ${reason.slice(0, 120)}`
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
