/**
 * The two ends of a simulated WebSocket, with as much of the interface of `ws` as our code uses. Frames of one
 * direction keep their order and are delayed; a cut may fall between any two of them.
 */
import { EventEmitter } from 'node:events'

const CONNECTING = 0
const OPEN = 1
const CLOSING = 2
const CLOSED = 3
/** The code of a connection that ended without a closing handshake. */
const ABNORMAL = 1006

type Frame =
  | { readonly kind: 'message'; readonly data: Buffer; readonly isBinary: boolean }
  | { readonly kind: 'ping' | 'pong'; readonly data: Buffer }
  | { readonly kind: 'close'; readonly code: number; readonly reason: Buffer }

/** Carries frames from one end to the other; implemented by the network. */
export interface Wire {
  /** Calls `arrive` when the frame has reached the other end, unless it is lost. */
  carry(bytes: number, arrive: () => void): void
  /** This end disappeared without a closing handshake; the other end learns of it later. */
  reset(): void
}

/** How many more bytes are carried to an end that stopped reading before the sender's buffer grows. */
const WINDOW_BYTES = 256 * 1024

export class SimulatedSocket extends EventEmitter {
  readonly CONNECTING = CONNECTING
  readonly OPEN = OPEN
  readonly CLOSING = CLOSING
  readonly CLOSED = CLOSED
  readyState: number = CONNECTING
  peer: SimulatedSocket | undefined
  #wire: Wire | undefined
  #isPaused = false
  #unread: Frame[] = []
  #unreadBytes = 0
  #isDeaf = false

  /** Bytes that were sent but not yet read by the other end. */
  get bufferedAmount(): number {
    return Math.max(0, (this.peer?.unreadBytes ?? 0) - WINDOW_BYTES)
  }

  get unreadBytes(): number {
    return this.#unreadBytes
  }

  attach(wire: Wire): void {
    this.#wire = wire
  }

  open(): void {
    if (this.readyState !== CONNECTING) return
    this.readyState = OPEN
    this.emit('open')
  }

  send(data: string | Buffer): void {
    if (this.readyState === CONNECTING) throw new Error('WebSocket is not open: readyState 0 (CONNECTING)')
    const isBinary = typeof data !== 'string'
    this.#carry({ kind: 'message', data: isBinary ? data : Buffer.from(data), isBinary })
  }

  ping(data: string | Buffer = ''): void {
    this.#carry({ kind: 'ping', data: Buffer.from(data as string) })
  }

  pong(data: string | Buffer = ''): void {
    this.#carry({ kind: 'pong', data: Buffer.from(data as string) })
  }

  close(code = 1005, reason: string | Buffer = ''): void {
    if (this.readyState === CONNECTING) this.fail(new Error('closed before the connection was established'))
    if (this.readyState !== OPEN) return
    this.#carry({ kind: 'close', code, reason: Buffer.from(reason as string) })
    this.readyState = CLOSING
  }

  terminate(): void {
    if (this.readyState === CLOSED) return
    this.#wire?.reset()
    this.#end(ABNORMAL, Buffer.alloc(0))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused && this.#unread.length > 0) {
      const frame = this.#unread.shift() as Frame
      this.#unreadBytes -= sizeOf(frame)
      this.#receive(frame)
    }
  }

  /** Nothing is reported to this end any more, because its process is dead. */
  deafen(): void {
    this.#isDeaf = true
    this.removeAllListeners()
    this.on('error', () => {})
    this.readyState = CLOSED
  }

  /** The attempt to connect, or the connection, failed. */
  fail(error: Error): void {
    if (this.readyState === CLOSED || this.#isDeaf) return
    if (this.listenerCount('error') > 0) this.emit('error', error)
    this.#end(ABNORMAL, Buffer.alloc(0))
  }

  /** The server answered the upgrade with a status. */
  refuse(status: number): void {
    if (this.readyState !== CONNECTING) return
    if (this.listenerCount('unexpected-response') > 0)
      this.emit('unexpected-response', {}, { statusCode: status, headers: {}, resume() {}, on() {} })
    else this.fail(new Error(`Unexpected server response: ${status}`))
  }

  /** The other end has disappeared. */
  reset(): void {
    this.#end(ABNORMAL, Buffer.alloc(0))
  }

  #carry(frame: Frame): void {
    if (this.readyState !== OPEN) return
    const { peer } = this
    this.#wire?.carry(sizeOf(frame), () => peer?.arrived(frame))
  }

  arrived(frame: Frame): void {
    if (this.readyState === CLOSED || this.#isDeaf) return
    if (this.#isPaused) {
      this.#unread.push(frame)
      this.#unreadBytes += sizeOf(frame)
    } else this.#receive(frame)
  }

  #receive(frame: Frame): void {
    if (this.readyState === CLOSED || this.#isDeaf) return
    if (frame.kind === 'message') this.emit('message', frame.data, frame.isBinary)
    else if (frame.kind === 'close') {
      if (this.readyState === OPEN) this.#carry(frame)
      this.#end(frame.code, frame.reason)
    } else this.emit(frame.kind, frame.data)
  }

  #end(code: number, reason: Buffer): void {
    if (this.readyState === CLOSED || this.#isDeaf) return
    this.readyState = CLOSED
    this.emit('close', code, reason)
  }
}

const sizeOf = (frame: Frame): number => (frame.kind === 'close' ? frame.reason : frame.data).length + 8
