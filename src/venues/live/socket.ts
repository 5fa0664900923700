/**
 * One socket to one route of a venue, from dialling to its end.
 *
 *   dialling ──open──▶ greeting ──all accepted, data received──▶ ready ──▶ ended
 *       ╰──────────────────────── refused, timeout, cut, silent ────────────▲
 *
 * A socket ends once, for one reason, and is never reopened; the connection (connection.ts) keeps the route alive.
 */
import type { RawData, WebSocket } from 'ws'
import type { Clock } from '../../kit/clock.ts'
import { afterReading, sleepReading } from '../../kit/reading-time.ts'
import { type Channel, channelKey } from '../channel.ts'
import { isFrameTooLarge } from '../json-values.ts'
import { limitedForMs } from '../rest/classify-response.ts'
import type { Dial } from '../venue.ts'
import { type FrameOutcome, type FrameProtocol, refused } from './frame.ts'
import { isPlausibleTime, withoutImplausible } from './plausible.ts'
import { type SilenceLimits, SocketLiveness } from './socket-liveness.ts'

export interface SocketRoute {
  readonly name: string
  readonly url: string
  /** Of a session, all when it starts; those that are left out later stay unsubscribed. */
  readonly channels: readonly Channel[]
  /** Subscription frames, sent in order after the socket opens; read anew at every opening. */
  readonly greeting: readonly string[]
  /**
   * Whether anything is subscribed; until then silence is not a fault. If omitted, data is expected once the socket is
   * open.
   */
  readonly expectsData?: () => boolean
  /** Headers of the upgrade request, built anew for every dial. */
  readonly headers?: () => Readonly<Record<string, string>>
}

export interface SocketLimits extends SilenceLimits {
  readonly openWithinMs: number
  /** A closing handshake that takes longer is aborted. */
  readonly closeWithinMs: number
}

export interface SocketEvents {
  /** Called when the socket opens, before any frame. */
  opened(): void
  /** Called for every frame, after it was read. */
  frame(outcome: FrameOutcome, text: string): void
}

interface SocketOptions {
  readonly route: SocketRoute
  readonly protocol: FrameProtocol
  readonly dial: Dial
  readonly clock: Clock
  readonly limits: SocketLimits
  readonly events: SocketEvents
  readonly paused: boolean
}

/**
 * Pings and small frames between two checks of a socket, which are a second apart at most. A venue sends a few of them
 * per second, because data does not fit in a small frame. One read of a socket could contain thirty thousand.
 */
const MAX_SMALL_FRAMES = 500
const SMALL_FRAME_BYTES = 48

export class VenueSocket {
  readonly #options: SocketOptions
  readonly #opened = Promise.withResolvers<boolean>()
  readonly #ready = Promise.withResolvers<boolean>()
  readonly #ended = Promise.withResolvers<string>()
  /** Aborted when the socket ends, which cancels all of its timers. */
  readonly #life = new AbortController()
  readonly #liveness: SocketLiveness
  /** Channels that the venue has not accepted yet. */
  readonly #unaccepted: Set<string>
  /** Those of the route when the socket was greeted. */
  #channels: readonly Channel[]
  #socket: WebSocket | undefined
  #isOpen = false
  #openedMs = 0
  #isGreeted = false
  #hasData = false
  #smallFrames = 0
  #isPaused: boolean
  #wasSilent = false
  #predecessorDataMs = Number.POSITIVE_INFINITY
  #endReason: string | undefined
  #refusedStatus: number | undefined
  #refusedForMs = 0

  private constructor(options: SocketOptions) {
    const { protocol, route, limits, clock } = options
    this.#options = options
    this.#isPaused = options.paused
    this.#channels = route.channels
    this.#unaccepted = new Set(protocol.accepts ? route.channels.map(channelKey) : [])
    this.#liveness = new SocketLiveness(limits, protocol.heartbeat, clock.now())
  }

  static open(options: SocketOptions): VenueSocket {
    const socket = new VenueSocket(options)
    socket.#dial()
    return socket
  }

  /** Resolves with false if the socket ended before it was open. */
  get opened(): Promise<boolean> {
    return this.#opened.promise
  }

  /**
   * Resolves with true once the socket is open, greeted, accepted and sending data, and with false if it ended before.
   */
  get ready(): Promise<boolean> {
    return this.#ready.promise
  }

  get ended(): Promise<string> {
    return this.#ended.promise
  }

  get channels(): readonly Channel[] {
    return this.#channels
  }

  /** Open, greeted and, where the venue confirms it, subscribed. The socket may still be silent. */
  get accepted(): boolean {
    return this.#isOpen && this.#isGreeted && this.#unaccepted.size === 0
  }

  /** The HTTP status with which the venue refused the upgrade request; undefined if it did not. */
  get refusedStatus(): number | undefined {
    return this.#refusedStatus
  }

  /** How long the venue that refused the upgrade wants no other one. */
  get refusedForMs(): number {
    return this.#refusedForMs
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#life.signal.aborted
  }

  /** The socket sent data, or was accepted on a route where any silence is normal; being open alone proves nothing. */
  get isProven(): boolean {
    return this.#hasData || (this.#options.limits.dataSilenceMs === null && this.accepted)
  }

  get lostSinceMs(): number {
    return this.#sinceLastProof(this.#liveness.lostSinceMs)
  }

  /** The socket was cut as silent, although some of its channels are never quiet for that long. */
  get wasSilent(): boolean {
    return this.#wasSilent
  }

  /**
   * Whether the socket sent nothing since its successor opened, although the successor has data and some of the
   * channels are never quiet for long. Such a socket was dead, for an unknown time.
   */
  isDeadBeside(successor: VenueSocket): boolean {
    if (this.#options.limits.dataSilenceMs === null || !successor.#hasData) return false
    return this.#liveness.dataMs < successor.#openedMs
  }

  get lastDataMs(): number {
    return this.#sinceLastProof(this.#liveness.dataMs)
  }

  /**
   * Takes over from another socket. Until this one sends data, nothing after the last data of the old one is proven.
   */
  succeed(old: VenueSocket): void {
    this.#predecessorDataMs = old.#sinceLastProof(old.#liveness.dataMs)
  }

  setPaused(paused: boolean): void {
    this.#isPaused = paused
    if (!this.isOpen) return
    if (paused) {
      this.#socket?.pause()
      return
    }
    this.#liveness.restart(this.#options.clock.now())
    this.#socket?.resume()
  }

  /** For subscriptions that change while the socket is open; returns false when it is not open. */
  send(frame: string): boolean {
    if (!this.isOpen || this.#socket?.readyState !== this.#socket?.OPEN) return false
    this.#socket?.send(frame)
    return true
  }

  /** Ends the socket with a closing handshake. */
  close(reason: string): void {
    this.#endReason ??= reason
    if (!this.#isOpen) {
      this.cut(reason)
      return
    }
    this.#socket?.close(1000)
    this.#options.clock.sleep(this.#options.limits.closeWithinMs, this.#life.signal).then(
      () => this.cut(reason),
      () => {},
    )
  }

  /** Ends the socket immediately. */
  cut(reason: string): void {
    this.#endReason ??= reason
    this.#socket?.terminate()
    this.#end(reason)
  }

  #sinceLastProof(ownMs: number): number {
    return this.isProven ? ownMs : Math.min(ownMs, this.#predecessorDataMs)
  }

  #dial(): void {
    const { dial, route } = this.#options
    try {
      this.#socket = dial(route.url, route.headers?.())
    } catch (error) {
      this.#end(reasonOf(error))
      return
    }
    this.#socket.on('unexpected-response', (_request, response) => {
      const { statusCode: status = 0, headers } = response
      this.#refusedStatus = status
      const get = (name: string) => headers[name]?.toString() ?? null
      this.#refusedForMs = limitedForMs({ status, headers: { get }, nowMs: this.#options.clock.now() })
      this.cut(`refused with status ${status}`)
    })
    this.#socket.on('error', (error) => {
      this.#endReason ??= reasonOf(error)
    })
    this.#socket.on('open', () => this.#onOpen())
    this.#socket.on('ping', () => this.#onPing())
    this.#socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    this.#socket.on('close', (code, reason) => this.#end(closeText(code, reason.toString())))
    this.#watch().catch(() => {})
    this.#openInTime().catch(() => {})
  }

  #onOpen(): void {
    if (this.#life.signal.aborted) {
      this.#socket?.terminate()
      return
    }
    this.#isOpen = true
    this.#openedMs = this.#options.clock.now()
    this.#liveness.restart(this.#openedMs)
    if (this.#isPaused) this.#socket?.pause()
    this.#options.events.opened()
    this.#opened.resolve(true)
    this.#greet().catch(() => {})
  }

  async #greet(): Promise<void> {
    const { route, protocol, clock } = this.#options
    this.#channels = route.channels
    for (const [index, frame] of route.greeting.entries()) {
      if (index > 0 && protocol.greetingPaceMs > 0)
        await clock.sleep(protocol.greetingPaceMs, this.#life.signal)
      this.#socket?.send(frame)
    }
    this.#isGreeted = true
    this.#reportReady()
  }

  #onPing(): void {
    const nowMs = this.#options.clock.now()
    if (this.#life.signal.aborted) return
    this.#liveness.onTraffic(nowMs)
    this.#countSmallFrame()
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    if (this.#life.signal.aborted) return
    const { clock, events } = this.#options
    const nowMs = clock.now()
    // Reading the clock may have revealed that this process stood still, which cuts the socket.
    if (this.#life.signal.aborted) return
    this.#liveness.onTraffic(nowMs)
    const text = data.toString()
    if (text.length < SMALL_FRAME_BYTES) this.#countSmallFrame()
    if (this.#life.signal.aborted) return
    const isUnreadable = isBinary || (Buffer.isBuffer(data) && isFrameTooLarge(data))
    const outcome = isUnreadable ? refused('malformed') : this.#read(text, nowMs)
    if (outcome === undefined) {
      events.frame(refused('malformed'), text)
      this.cut('a frame that its reader failed at')
      return
    }
    if (outcome.kind === 'data') {
      this.#hasData = true
      this.#liveness.onData(nowMs)
    } else if (outcome.kind === 'accepted') {
      for (const channel of outcome.channels) this.#unaccepted.delete(channel)
    } else if (outcome.kind === 'pong') {
      this.#liveness.onPong()
    }
    events.frame(outcome, text)
    this.#reportReady()
  }

  #countSmallFrame(): void {
    if (++this.#smallFrames > MAX_SMALL_FRAMES) this.cut('too many small frames')
  }

  /**
   * Undefined if the reader throws. That is a defect of ours and may have left the reader's state wrong, so this
   * socket, and no other, is cut.
   */
  #read(text: string, nowMs: number): FrameOutcome | undefined {
    try {
      return withoutImplausible(this.#options.protocol.read(text, nowMs, isPlausibleTime))
    } catch {
      return undefined
    }
  }

  #reportReady(): void {
    if (this.accepted && this.#hasData) this.#ready.resolve(true)
  }

  async #watch(): Promise<void> {
    const { clock, route, protocol } = this.#options
    const { checkEveryMs } = this.#liveness
    for (;;) {
      await clock.sleep(checkEveryMs, this.#life.signal)
      this.#smallFrames = 0
      await afterReading()
      if (this.#life.signal.aborted) return
      // While the socket opens, only `openWithinMs` applies, and nothing can be sent.
      if (!this.#isOpen || this.#isPaused) continue
      const verdict = this.#liveness.check(clock.now(), route.expectsData?.() !== false)
      if (typeof verdict === 'object') {
        this.#wasSilent = this.#options.limits.dataSilenceMs !== null
        this.cut(verdict.deadBecause)
        return
      }
      if (verdict === 'send a ping' && protocol.heartbeat !== null)
        this.#socket?.send(protocol.heartbeat.frame)
    }
  }

  async #openInTime(): Promise<void> {
    await sleepReading(this.#options.clock, this.#options.limits.openWithinMs, this.#life.signal)
    if (!this.#isOpen) this.cut('no answer while opening')
  }

  #end(reason: string): void {
    if (this.#life.signal.aborted) return
    this.#endReason ??= reason
    this.#life.abort()
    this.#opened.resolve(false)
    this.#ready.resolve(false)
    this.#ended.resolve(this.#endReason)
  }
}

function closeText(code: number, reason: string): string {
  return reason === '' ? `closed with ${code}` : `closed with ${code}: ${reason.slice(0, 120)}`
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
