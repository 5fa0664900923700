/**
 * A socket error without a listener ends the process. Since an error also closes the connection and `close` is handled
 * anyway, every socket gets this listener first and keeps it.
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
