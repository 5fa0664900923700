/**
 * Clients that close their side of the connection after the request (`nc -N`, some proxies) still read: they get
 * their answer. A client that has left looks the same until something is written to it, so while an answer takes
 * its time two interim `100 Continue`, which every HTTP/1.1 client must be able to skip, find out: a client that
 * has left resets the connection at the first, the second fails, and the work for it is dropped.
 *
 * This file gives the connections of the platform's parser the same rules that the fast path has for its own,
 * and cuts readers that do not read after the same time.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export const INTERIM_ANSWER = 'HTTP/1.1 100 Continue\r\n\r\n'
/** Most answers are on their way before the first. */
const PROBE_AFTER_MS = [40, 70]

/** Calls it at the times of the interim answers. */
export function whenHalfClosed(probe: () => void): void {
  for (const ms of PROBE_AFTER_MS) setTimeout(probe, ms).unref()
}

export function keepHalfClosedReaders(server: Server, unreadMs: number): void {
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

  // Nobody asked, or nobody read, for that long. An answer that is still being made is no reason.
  server.on('timeout', (socket) => {
    const isWaiting = (answering.get(socket)?.size ?? 0) > 0
    if (!isWaiting || socket.writableLength > 0) socket.destroy()
  })
}
