/**
 * Node's HTTP server starts all requests of one read at once, and 64 KiB hold more than a thousand short ones. A
 * connection with this many requests in progress gets their answers and is then closed; HTTP lets a client send the
 * others again. Later requests are not even parsed. Plain requests are answered one after another (`fast-http.ts`).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ParsedConnections } from './parse-in-turns.ts'

const MAX_WAITING = 64

/** To be called after all listeners for requests have been added. */
export function boundPipelines(
  server: Server,
  connections: ParsedConnections,
  maxWaiting = MAX_WAITING,
): void {
  const waiting = new WeakMap<Socket, number>()
  const full = new WeakSet<Socket>()
  const listeners = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const { socket } = request
    if (full.has(socket)) {
      connections.ignoreRest(socket)
      return
    }
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1))
    if (count >= maxWaiting) {
      full.add(socket)
      response.shouldKeepAlive = false
    }
    for (const listener of listeners) listener.call(server, request, response)
  })
}
