/**
 * A socket that fails without a listener for `error` ends the process. Whatever breaks a connection also closes
 * it, and `close` is where that is dealt with; so every socket gets this listener first and keeps it for life,
 * whoever takes the socket over later.
 */
import type { EventEmitter } from 'node:events'

export function ignoreSocketErrors(socket: EventEmitter): void {
  socket.on('error', ignore)
}

/** The same for every connection that a server accepts. */
export function ignoreConnectionErrors(server: EventEmitter): void {
  server.on('connection', ignoreSocketErrors)
}

function ignore(): void {}
