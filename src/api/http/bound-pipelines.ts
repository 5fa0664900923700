/**
 * Node's HTTP server starts all requests of one read at once: 64 KiB of short ones are more than a thousand. A
 * connection on which so many wait for their answers gets those, then it is closed; HTTP lets a client send the others
 * again. What comes after them is not even parsed. Plain requests are answered one after another (`fast-http.ts`).
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ParsedConnections } from './parse-in-turns.ts'

const MAX_WAITING = 64

/** To be called when all listeners for requests are there. */
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
