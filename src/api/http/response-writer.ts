import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { HeaderList } from '../../gate/request.ts'

/** The part of Node's `ServerResponse` that we use. */
export interface ResponseWriter {
  readonly destroyed: boolean
  /** Bytes that the socket has not accepted yet. */
  readonly writableLength: number
  /** Null while earlier answers on the connection are being sent. */
  readonly socket?: object | null
  writeHead(status: number, headers: HeaderList): unknown
  /** False if the caller should wait for `drain` before writing more. */
  write(part: Buffer): boolean
  /**
   * @param done called when the bytes have been sent or cannot be sent
   * @param room free bytes before the body, which may be overwritten
   */
  end(body?: string | Buffer, done?: () => void, room?: number): unknown
  cork(): void
  uncork(): void
  once(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
  destroy(): unknown
}

/** Writes an answer directly to the socket of a keep-alive connection; chunked if there is no Content-Length. */
export class SocketResponseWriter implements ResponseWriter {
  readonly #socket: Socket
  readonly #keepAlive: KeepAlive
  readonly #onEnd: () => void
  /** Written together with the first bytes of the body. */
  #head = ''
  #isChunked = false
  #hasBegun = false

  constructor(socket: Socket, keepAlive: KeepAlive, onEnd: () => void) {
    this.#socket = socket
    this.#keepAlive = keepAlive
    this.#onEnd = onEnd
  }

  get destroyed(): boolean {
    return this.#socket.destroyed
  }

  get writableLength(): number {
    return this.#socket.writableLength
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  writeHead(status: number, headers: HeaderList): void {
    this.#hasBegun = true
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    let hasLength = status === 204 || status === 304
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i]
      if (name === 'Content-Length') hasLength = true
      head += `${name}: ${headers[i + 1]}\r\n`
    }
    head += this.#keepAlive.headers()
    this.#isChunked = !hasLength
    this.#head = `${head}${hasLength ? '' : 'Transfer-Encoding: chunked\r\n'}\r\n`
  }

  write(part: Buffer): boolean {
    if (!this.#isChunked) return this.#put(part)
    if (part.length === 0) return true
    const socket = this.#socket
    socket.cork()
    this.#put(`${part.length.toString(16)}\r\n`)
    socket.write(part)
    const more = socket.write('\r\n', 'latin1')
    socket.uncork()
    return more
  }

  end(body?: string | Buffer, done?: () => void, room = 0): void {
    if (this.#isChunked) {
      if (body !== undefined) this.write(typeof body === 'string' ? Buffer.from(body) : body)
      this.#put('0\r\n\r\n', done)
    } else if (Buffer.isBuffer(body) && room >= this.#head.length) this.#putBehindHead(body, done)
    else if (body !== undefined || this.#head !== '') this.#put(body ?? '', done)
    else done?.()
    this.#onEnd()
  }

  /** Writes the head into the free bytes before the body, so that both take a single write. */
  #putBehindHead(body: Buffer, done?: () => void): void {
    const head = this.#head
    this.#head = ''
    const whole = Buffer.from(body.buffer, body.byteOffset - head.length, head.length + body.length)
    whole.write(head, 0, 'latin1')
    this.#socket.write(whole, done)
  }

  #put(body: string | Buffer, done?: () => void): boolean {
    const head = this.#head
    const socket = this.#socket
    this.#head = ''
    if (typeof body === 'string') return socket.write(head + body, 'utf8', done)
    if (head === '') return socket.write(body, done)
    socket.cork()
    socket.write(head, 'latin1')
    const more = socket.write(body, done)
    socket.uncork()
    return more
  }

  cork(): void {
    this.#socket.cork()
  }

  uncork(): void {
    this.#socket.uncork()
  }

  once(event: 'drain' | 'close', listener: () => void): void {
    this.#socket.once(event, listener)
  }

  off(event: 'drain' | 'close', listener: () => void): void {
    this.#socket.off(event, listener)
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/** The headers that every answer on a connection has, rendered once a second because of the date. */
export interface KeepAlive {
  headers(): string
  /** Later answers close their connection. */
  close(): void
}

export function keepAliveHeaders(keepAliveMs: number, now: () => number): KeepAlive {
  let rest = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`
  let second = -1
  let text = ''
  return {
    headers() {
      const nowMs = now()
      const nowSecond = Math.floor(nowMs / 1000)
      if (nowSecond !== second) {
        second = nowSecond
        text = `Date: ${new Date(nowMs).toUTCString()}\r\n${rest}`
      }
      return text
    },
    close() {
      rest = 'Connection: close\r\n'
      second = -1
    },
  }
}
