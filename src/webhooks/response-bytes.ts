import type { Socket } from 'node:net'

/**
 * What a receiver may send in answer to one request, checked on the bytes that are read from its socket. The HTTP
 * parser behind it bounds a head and its trailers, but neither chunk sizes and their extensions nor the number of
 * interim responses, and it takes a `100 Continue` that nobody asked for as a broken response. Receivers do send
 * those: interim responses are skipped here, up to a limit.
 */
export class ResponseError extends Error {
  override readonly name = 'ResponseError'
}

export const MAX_HEAD_BYTES = 16_384
/** A longer body is cut off; reading it to its end would only serve to use the connection again. */
export const MAX_RESPONSE_BODY_BYTES = 65_536
const MAX_INTERIM_RESPONSES = 10
/** Everything together: a body in chunks of one byte fits, a flood of chunk extensions does not. */
const MAX_RESPONSE_BYTES = MAX_HEAD_BYTES + 5 * MAX_RESPONSE_BODY_BYTES
/** `HTTP/1.1 1`, and not `101`, which would end the exchange. */
const INTERIM_HEAD = /^HTTP\/1\.[01] 1(?!01)/
const INTERIM_PREFIX = 'HTTP/1.1 1xx'
const HEAD_END = '\r\n\r\n'
const EMPTY = Buffer.alloc(0)

export interface ResponseBytes {
  /** Another request is about to be sent: what is read from now on answers it. */
  begin(): void
  /** The final head was read: nothing interim can follow. */
  headComplete(): void
  /** Bytes since `begin`. */
  readonly count: number
}

/**
 * Checks everything that is read from the socket, on which the first request is about to be sent. A receiver that
 * exceeds a limit loses the connection.
 */
export function limitResponseBytes(socket: Socket): ResponseBytes {
  const read = socket.read.bind(socket)
  let count = 0
  let interims = 0
  let isHeadPending = true
  /** Of all heads together, those of interim responses included. */
  let headBytes = 0
  let held: Buffer = EMPTY

  /** Takes complete interim responses off the start; holds back what could still become one. */
  function skipInterims(chunk: Buffer): Buffer {
    let data = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    held = EMPTY
    while (data.length > 0 && maybeInterim(data)) {
      const end = data.indexOf(HEAD_END)
      if (end === -1) {
        countHead(data.length)
        headBytes -= data.length
        held = data
        return EMPTY
      }
      if (++interims > MAX_INTERIM_RESPONSES) throw new ResponseError('too many interim answers')
      countHead(end)
      data = data.subarray(end + HEAD_END.length)
    }
    return data
  }

  function countHead(bytes: number): void {
    headBytes += bytes
    if (headBytes > MAX_HEAD_BYTES) throw new ResponseError('the head is too long')
  }

  /** What the parser gets to see of a chunk while the final head is not complete. */
  function readHead(chunk: Buffer): Buffer {
    const data = skipInterims(chunk)
    const end = data.indexOf(HEAD_END)
    countHead(end === -1 ? data.length : end)
    return data
  }

  socket.read = (size?: number) => {
    const chunk = read(size) as Buffer | null
    if (chunk === null) return null
    count += chunk.length
    try {
      if (count > MAX_RESPONSE_BYTES) throw new ResponseError('the answer is too long')
      return isHeadPending ? readHead(chunk) : chunk
    } catch (error) {
      socket.destroy(error as Error)
      return null
    }
  }

  return {
    begin() {
      count = 0
      interims = 0
      isHeadPending = true
      headBytes = 0
      held = EMPTY
    },
    headComplete() {
      isHeadPending = false
    },
    get count() {
      return count
    },
  }
}

function maybeInterim(data: Buffer): boolean {
  const start = data.toString('latin1', 0, INTERIM_PREFIX.length)
  if (start.length === INTERIM_PREFIX.length) return INTERIM_HEAD.test(start)
  return /^H(T(T(P(\/(1(\.([01]( (1.{0,2})?)?)?)?)?)?)?)?)?$/.test(start)
}
