/**
 * Lets the other sockets have their turns between two full reads of one. Otherwise one turn of the event loop reads up
 * to two megabytes of a socket whose peer sends faster than we read, and handles all of their frames.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** A TLS socket hands over what it read in parts of this size; a plain one reads up to four times as much. */
const FULL_READ_BYTES = 16 * 1024

/** To be called at `upgrade`. */
export function shareTurns(socket: WebSocket, wire: Socket): void {
  // A listener that is there before the one of `ws` would receive the first bytes in its place.
  socket.once('open', () => {
    wire.on('data', (chunk: Buffer) => {
      if (chunk.length < FULL_READ_BYTES) return
      wire.pause()
      setImmediate(() => {
        if (!socket.isPaused) wire.resume()
      })
    })
  })
}
