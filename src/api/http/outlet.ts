import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { HeaderList } from '../../gate/request.ts'

/** Where an answer is written to: as much of the platform's `ServerResponse` as we use. */
export interface Outlet {
  readonly destroyed: boolean
  writeHead(status: number, headers: HeaderList): unknown
  /** False: wait for `drain` before more is written. */
  write(part: Buffer): boolean
  /** @param done is called when the bytes have left, or cannot leave any more. */
  end(body?: string | Buffer, done?: () => void): unknown
  cork(): void
  uncork(): void
  once(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
  destroy(): unknown
}

/** An answer on a kept connection, straight to its socket. Without a Content-Length it goes in chunks. */
export function plainOutlet(socket: Socket, keepAlive: KeepAlive, onEnd: () => void): Outlet {
  let head = ''
  let isChunked = false

  function put(body: string | Buffer, done?: () => void): boolean {
    const start = head
    head = ''
    if (typeof body === 'string') return socket.write(start + body, 'utf8', done)
    if (start === '') return socket.write(body, done)
    socket.cork()
    socket.write(start, 'latin1')
    const more = socket.write(body, done)
    socket.uncork()
    return more
  }

  return {
    get destroyed() {
      return socket.destroyed
    },
    writeHead(status, headers) {
      head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
      let hasLength = status === 204 || status === 304
      for (let i = 0; i + 1 < headers.length; i += 2) {
        const name = headers[i]
        if (name === 'Content-Length') hasLength = true
        head += `${name}: ${headers[i + 1]}\r\n`
      }
      isChunked = !hasLength
      head += keepAlive.headers()
      head += isChunked ? 'Transfer-Encoding: chunked\r\n\r\n' : '\r\n'
    },
    write(part) {
      if (!isChunked) return put(part)
      if (part.length === 0) return true
      socket.cork()
      put(`${part.length.toString(16)}\r\n`)
      socket.write(part)
      const more = socket.write('\r\n', 'latin1')
      socket.uncork()
      return more
    },
    end(body, done) {
      if (body !== undefined && isChunked) this.write(typeof body === 'string' ? Buffer.from(body) : body)
      if (isChunked) put('0\r\n\r\n', done)
      else if (body !== undefined || head !== '') put(body ?? '', done)
      else done?.()
      onEnd()
    },
    cork: () => socket.cork(),
    uncork: () => socket.uncork(),
    once: (event, listener) => socket.once(event, listener),
    off: (event, listener) => socket.off(event, listener),
    destroy: () => socket.destroy(),
  }
}

/** The headers of a connection that stays. The date changes once a second, so it is written once a second. */
export interface KeepAlive {
  headers(): string
}

export function keepAliveHeaders(keepAliveMs: number, now: () => number): KeepAlive {
  const rest = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`
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
  }
}
