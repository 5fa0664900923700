import type { Socket } from 'node:net'

/**
 * Limits what a receiver may send in answer to one request, checked on the bytes read from its socket. The HTTP parser
 * behind it bounds a head and its trailers, but neither chunk sizes and their extensions nor the number of interim
 * responses, and it treats an unsolicited `100 Continue` as a broken response. Because receivers do send those, interim
 * responses are skipped here, up to a limit.
 */
export class ResponseError extends Error {
  override readonly name = 'ResponseError'
}

export const MAX_HEAD_BYTES = 16_384
/** A longer body is cut off. Reading it to its end would only help to reuse the connection. */
export const MAX_RESPONSE_BODY_BYTES = 65_536
const MAX_INTERIM_RESPONSES = 10
/** For everything together: a body in chunks of one byte fits, a flood of chunk extensions does not. */
const MAX_RESPONSE_BYTES = MAX_HEAD_BYTES + 5 * MAX_RESPONSE_BODY_BYTES
/** Matches `HTTP/1.1 1xx` except 101, which would end the exchange. */
const INTERIM_HEAD = /^HTTP\/1\.[01] 1(?!01)/
const INTERIM_PREFIX = 'HTTP/1.1 1xx'
const HEAD_END = '\r\n\r\n'
const EMPTY = Buffer.alloc(0)

export interface ResponseBytes {
  /** Another request is about to be sent; bytes read from now on answer it. */
  begin(): void
  /** The final head was read, so no interim response can follow. */
  headComplete(): void
  /** Bytes since `begin`. */
  readonly count: number
}

/**
 * Checks everything read from the socket, on which the first request is about to be sent. A receiver that exceeds a
 * limit loses the connection.
 */
export function limitResponseBytes(socket: Socket): ResponseBytes {
  const read = socket.read.bind(socket)
  let count = 0
  let interims = 0
  let isHeadPending = true
  /** For all heads together, including those of interim responses. */
  let headBytes = 0
  let held: Buffer = EMPTY
  /** The last bytes of the final head so far, because its end can be split over several reads. */
  let headTail: Buffer = EMPTY

  /** Removes complete interim responses from the start and holds back bytes that could still become one. */
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

  /** The part of a chunk that the parser gets while the final head is incomplete. */
  function readHead(chunk: Buffer): Buffer {
    const data = skipInterims(chunk)
    const joined = Buffer.concat([headTail, data])
    const end = joined.indexOf(HEAD_END)
    countHead(end === -1 ? data.length : Math.max(0, end - headTail.length))
    headTail = joined.subarray(1 - HEAD_END.length)
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
      headTail = EMPTY
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
