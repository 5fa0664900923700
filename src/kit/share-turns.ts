/**
 * Lets the other sockets have their turns beside one whose peer sends faster than we read. Otherwise one turn of the
 * event loop reads up to two megabytes of it and handles all of their frames; a single read of an unencrypted socket
 * can contain thirty thousand empty frames, which are spread over several turns.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { turnTimeMs } from './turns.ts'

/** A TLS socket hands over what it read in parts of this size; a plain one reads up to four times as much. */
const PART_BYTES = 16 * 1024
/**
 * How long a socket may take of a turn. With much less, a socket that needs a fifth of the thread could not be read as
 * fast as its peer sends, because the turns of a busy recorder last for tens of milliseconds.
 */
const READ_MS = 12

/** To be called at `upgrade`. */
export function shareTurns(socket: WebSocket, wire: Socket): void {
  // A listener that is there before the one of `ws` would receive the first bytes in its place.
  socket.once('open', () => {
    const readers = wire.listeners('data')
    const handOver = (part: NonSharedBuffer) => {
      for (const read of readers) read.call(wire, part)
    }
    let endsAtMs: number | undefined
    let isHeld = false
    const endTurn = () => {
      endsAtMs = undefined
      if (isHeld && !socket.isPaused && !wire.destroyed) wire.resume()
      isHeld = false
    }
    const onData = (chunk: NonSharedBuffer) => {
      if (chunk.length < PART_BYTES) return handOver(chunk)
      if (endsAtMs === undefined) {
        endsAtMs = turnTimeMs() + READ_MS
        // Not an immediate: that would end the turn between the poll and the check phase, and the socket would have two in one.
        setTimeout(endTurn, 0)
      }
      let at = 0
      do {
        handOver(chunk.subarray(at, at + PART_BYTES))
        at += PART_BYTES
        isHeld = turnTimeMs() >= endsAtMs
        // If `ws` pauses the socket, it also resumes it.
      } while (at < chunk.length && !isHeld && !wire.isPaused() && !wire.destroyed)
      if (wire.isPaused()) isHeld = false
      else if (isHeld) wire.pause()
      if (at < chunk.length) wire.unshift(chunk.subarray(at))
    }
    wire.on('data', onData)
    for (const read of readers) wire.off('data', read as () => void)
    // When a socket closes, `ws` handles what has not been handed over in one turn. Of one that we end, it is dropped.
    wire.prependOnceListener('close', () => {
      wire.off('data', onData)
      if (socket.readyState !== socket.OPEN) wire.read(wire.readableLength)
    })
  })
}
