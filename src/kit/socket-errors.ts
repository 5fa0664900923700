/**
 * A socket error without a listener ends the process. An error also closes the connection, and `close` is where that
 * is handled, so every socket gets this listener first and keeps it.
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
