/**
 * A log that nobody reads must neither end the service nor fill its memory: `npm start | head`, a closed terminal, a
 * full disk under a log file, a collector that hangs.
 *
 * The callbacks of a write never see an error, because after an 'error' event the stream would also stop accepting what
 * threads write, and their lines would pile up in memory. Every write is still tried, so lines appear again once there
 * is room.
 */
import type { Writable } from 'node:stream'

/** Several thousand lines, so that a reader that is a second late loses nothing. */
const MAX_WAITING_BYTES = 2 ** 20

/** Drops lines that cannot be written. `onLoss` is called for the first one. */
export function dropUnread(stream: Writable, onLoss: (reason: string) => void): void {
  let isTold = false
  const lose = (reason: string) => {
    if (isTold) return
    isTold = true
    onLoss(reason)
  }
  const settled = (callback: (error?: Error | null) => void) => (error?: Error | null) => {
    callback()
    if (error) lose(error.message)
  }
  const { _write: writeOne, _writev: writeMany } = stream
  stream._write = (chunk, encoding, callback) => writeOne.call(stream, chunk, encoding, settled(callback))
  if (writeMany !== undefined)
    stream._writev = (chunks, callback) => writeMany.call(stream, chunks, settled(callback))

  const { write } = stream
  stream.write = (chunk: unknown, ...rest: unknown[]): boolean => {
    if (stream.writableLength < MAX_WAITING_BYTES) Reflect.apply(write, stream, [chunk, ...rest])
    else {
      const callback = rest.at(-1)
      if (typeof callback === 'function') queueMicrotask(() => callback())
      lose(`${MAX_WAITING_BYTES} bytes wait to be read`)
    }
    // Never reports back-pressure, because the lines of threads would then wait for the reader in memory as well.
    return true
  }
}
