/**
 * Clients that close their side of the connection after the request (`nc -N`, some proxies) still read their answer. A
 * client that is gone looks the same until something is written to it. While an answer is being prepared we therefore
 * send two interim `100 Continue` responses, which every HTTP/1.1 client must skip: a client that is gone resets the
 * connection at the first one, the second one fails, and the work is abandoned.
 *
 * This file gives the connections of Node's HTTP server the same rules as the fast path, and disconnects clients that
 * do not read after the same time.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export const INTERIM_ANSWER = 'HTTP/1.1 100 Continue\r\n\r\n'
/** Most answers are sent before the first probe. */
const PROBE_AFTER_MS = [40, 70]

/** Calls `probe` at the times of the interim answers. */
export function whenHalfClosed(probe: () => void): void {
  for (const ms of PROBE_AFTER_MS) setTimeout(probe, ms).unref()
}

interface Readers {
  /** Whether an answer on this connection is only partly written. */
  isInAnswer(socket: Socket): boolean
}

export function keepHalfClosedReaders(server: Server, unreadMs: number): Readers {
  const answering = new WeakMap<Socket, Set<ServerResponse>>()
  Object.assign(server, { httpAllowHalfOpen: true })
  server.setTimeout(unreadMs)

  server.on('request', (request, response) => {
    const { socket } = request
    const open = answering.get(socket) ?? watch(socket)
    open.add(response)
    response.once('close', () => open.delete(response))
  })

  function watch(socket: Socket): Set<ServerResponse> {
    const open = new Set<ServerResponse>()
    answering.set(socket, open)
    socket.once('end', () => whenHalfClosed(() => probe(socket, open)))
    return open
  }

  function probe(socket: Socket, open: ReadonlySet<ServerResponse>): void {
    const [current] = open
    if (current === undefined || current.headersSent || socket.destroyed) return
    if (current.req.httpVersion === '1.1') current.writeContinue()
  }

  // The client has sent no request, or read nothing, for the whole timeout; it may wait while an answer is prepared.
  server.on('timeout', (socket) => {
    const isWaiting = (answering.get(socket)?.size ?? 0) > 0
    if (!isWaiting || socket.writableLength > 0) socket.destroy()
  })

  return {
    isInAnswer(socket) {
      const open = answering.get(socket)
      return open !== undefined && [...open].some((one) => one.headersSent && !one.writableEnded)
    },
  }
}
