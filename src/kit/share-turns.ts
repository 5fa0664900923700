/**
 * Lets the other sockets have their turns between two full reads of one. Otherwise one turn of the event loop reads up
 * to two megabytes of a socket whose peer sends faster than we read, and handles all of their frames; a single read of
 * an unencrypted socket can contain thirty thousand empty frames, which are spread over several turns.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { Slice } from './time-slices.ts'

/** A TLS socket hands over what it read in parts of this size; a plain one reads up to four times as much. */
const PART_BYTES = 16 * 1024

/** To be called at `upgrade`. */
export function shareTurns(socket: WebSocket, wire: Socket): void {
  // A listener that is there before the one of `ws` would receive the first bytes in its place.
  socket.once('open', () => {
    const readers = wire.listeners('data')
    const handOver = (part: NonSharedBuffer) => {
      for (const read of readers) read.call(wire, part)
    }
    const onData = (chunk: NonSharedBuffer) => {
      if (chunk.length < PART_BYTES) return handOver(chunk)
      wire.pause()
      const slice = new Slice()
      let at = 0
      do {
        handOver(chunk.subarray(at, at + PART_BYTES))
        at += PART_BYTES
      } while (at < chunk.length && !slice.isOver && !socket.isPaused && !wire.destroyed)
      if (at < chunk.length) wire.unshift(chunk.subarray(at))
      setImmediate(() => {
        if (!socket.isPaused && !wire.destroyed) wire.resume()
      })
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
