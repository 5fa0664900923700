/**
 * One wRPC-JSON socket to one node.
 *
 *   connecting ──open──▶ open ──close / hang──▶ closed        (never reused)
 *
 * The node answers one request at a time, in order, and answers no ping while it works. A call that exceeds its
 * time limit therefore proves that everything behind it is stuck as well: the socket is ended and every open call
 * reports a fault. A missing pong counts only while no call is open. A caller that gives up (`cancel`) does not end
 * the socket: an unsent call is never sent, and the answer to a sent one is dropped when it arrives. Calls made in one
 * turn of the event loop leave in one write; one system call per call would make sending take three times as long.
 */
import { type Clock, elapsedMs, runAfter, runEvery } from '../kit/clock.ts'
import { createDeadlineTimer, type DeadlineTimer } from '../kit/deadline-timer.ts'
import { afterReading } from '../kit/reading-time.ts'
import type { DialNode, NodeConnection } from './dial-node.ts'
import { faultAnswer, type NodeAnswer, type OnAnswer, OpenCalls, type PendingCall } from './open-calls.ts'
import { sliceMessage } from './wrpc-message.ts'

export interface WrpcOptions {
  url: string
  dial: DialNode
  clock: Clock
  onOpen?: () => void
  /** Called once, even if the socket never opened. */
  onClose?: (detail: string) => void
  onNotification?: (method: string, params: Buffer) => void
  pingMs?: number
  connectTimeoutMs?: number
  maxFrameBytes?: number
}

export interface WireCallOptions {
  timeoutMs: number
  signal?: AbortSignal
}

const DEFAULT_PING_MS = 5_000
const DEFAULT_CONNECT_TIMEOUT_MS = 4_000
/**
 * Blocks and answers to light calls need less than half of this. Frames are sliced on the thread that receives them.
 */
const DEFAULT_MAX_FRAME_BYTES = 4 * 1024 * 1024
/**
 * Frames between two of our pings that a node has no reason to send: answers to no call, notifications without a
 * subscription, pings, and pongs without a ping.
 */
const MAX_STRAY_FRAMES = 100
/** The precision of the calls' time limits. */
const LIMIT_STEP_MS = 20

export class WrpcSocket {
  readonly #options: WrpcOptions
  readonly #clock: Clock
  readonly #connection: NodeConnection
  readonly #calls = new OpenCalls()
  readonly #stopPinging: () => void
  readonly #stopConnecting: () => void
  readonly #limits: DeadlineTimer
  #state: 'connecting' | 'open' | 'closed' = 'connecting'
  #lastProgressMs = 0
  #awaitsPong = false
  #strayFrames = 0

  constructor(options: WrpcOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#connection = this.#connect()
    const openWithinMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS
    this.#stopConnecting = runAfter(this.#clock, openWithinMs, () => {
      if (this.#state === 'connecting') this.#end(`no handshake within ${openWithinMs} ms`)
    })
    this.#stopPinging = runEvery(this.#clock, options.pingMs ?? DEFAULT_PING_MS, () => this.#ping())
    this.#limits = createDeadlineTimer(this.#clock, LIMIT_STEP_MS, (nowMs) => {
      const expired = this.#calls.expire(nowMs)
      if (expired !== undefined) this.#end(expired)
      return this.#state === 'closed' ? undefined : this.#calls.firstEndMs()
    })
  }

  get state(): 'connecting' | 'open' | 'closed' {
    return this.#state
  }

  /** Unanswered calls, including abandoned ones. */
  get inFlight(): number {
    return this.#calls.size
  }

  /** Calls that will be sent at the end of this turn of the event loop. */
  get leaving(): number {
    return this.#calls.leaving
  }

  /** How long the node has been silent while calls wait; 0 if none waits. */
  silentMs(nowMs: number): number {
    return this.#calls.size === 0 ? 0 : Math.max(0, nowMs - this.#lastProgressMs)
  }

  ask(method: string, paramsText: string, timeoutMs: number, onAnswer: OnAnswer): PendingCall | undefined {
    if (this.#state !== 'open' || this.#calls.isFull) {
      onAnswer(
        this.#state === 'open'
          ? faultAnswer('overloaded', false, 'too many calls open')
          : faultAnswer('not_connected', false, `socket is ${this.#state}`),
      )
      return undefined
    }
    const nowMs = elapsedMs(this.#clock)
    if (this.#calls.size === 0) this.#lastProgressMs = nowMs
    const call = this.#calls.add({ method, paramsText, timeoutMs }, nowMs, onAnswer)
    if (this.#calls.leaving === 1) setImmediate(() => this.#flush())
    this.#limits.lookAt(nowMs + timeoutMs)
    return call
  }

  call(method: string, paramsText: string, { timeoutMs, signal }: WireCallOptions): Promise<NodeAnswer> {
    if (signal?.aborted)
      return Promise.resolve(faultAnswer('cancelled', false, 'cancelled before it was sent'))
    return new Promise((resolve) => {
      const onAbort = () => pending?.cancel()
      const pending = this.ask(method, paramsText, timeoutMs, (answer) => {
        signal?.removeEventListener('abort', onAbort)
        resolve(answer)
      })
      if (pending !== undefined) signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  close(): void {
    this.#end('closed by us')
  }

  #connect(): NodeConnection {
    const events = {
      onOpen: () => {
        if (this.#state !== 'connecting') return
        this.#state = 'open'
        this.#stopConnecting()
        this.#lastProgressMs = elapsedMs(this.#clock)
        this.#options.onOpen?.()
      },
      onMessage: (data: Buffer) => this.#receive(data),
      onPing: () => this.#stray(),
      onPong: () => {
        if (!this.#awaitsPong) this.#stray()
        this.#awaitsPong = false
      },
      onClose: (detail: string) => this.#closed(detail),
    }
    const { dial, url, maxFrameBytes = DEFAULT_MAX_FRAME_BYTES } = this.#options
    return dial(url, events, { maxFrameBytes })
  }

  #ping(): void {
    if (this.#state !== 'open') return
    this.#strayFrames = 0
    if (this.#awaitsPong && this.#calls.size === 0) {
      // The event loop may have been blocked, so what has already arrived is read first.
      void afterReading().then(() => {
        if (this.#awaitsPong && this.#calls.size === 0) this.#end('no pong')
      })
      return
    }
    this.#awaitsPong = true
    this.#connection.ping()
  }

  #receive(data: Buffer): void {
    // What was read before the socket ended still arrives, frame by frame.
    if (this.#state === 'closed') return
    // The pong may be behind many frames.
    this.#awaitsPong = false
    this.#lastProgressMs = elapsedMs(this.#clock)
    const message = sliceMessage(data)
    if (message === undefined) this.#end('malformed frame')
    else if (message.id !== undefined) {
      if (!this.#calls.settle(message.id, message)) this.#stray()
    } else if (message.method !== undefined && message.params !== undefined && this.#options.onNotification) {
      this.#options.onNotification(message.method, message.params)
    } else this.#stray()
  }

  #stray(): void {
    if (++this.#strayFrames > MAX_STRAY_FRAMES) this.#end('too many frames without a reason')
  }

  #flush(): void {
    const texts = this.#calls.takeLeaving()
    if (this.#state === 'open' && texts.length > 0) this.#connection.send(texts)
  }

  #end(reason: string): void {
    this.#connection.terminate()
    this.#closed(reason)
  }

  #closed(detail: string): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#stopPinging()
    this.#stopConnecting()
    this.#limits.stop()
    this.#calls.failAll(detail)
    this.#options.onClose?.(detail)
  }
}
