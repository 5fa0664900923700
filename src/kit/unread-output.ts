/**
 * A log that nobody reads must not end the service, and must not fill its memory: `npm start | head`, a terminal that
 * is gone, a full disk under a log file, a collector that hangs.
 *
 * The callbacks of a write never see an error: with an 'error' event the stream would also stop taking what threads
 * write, and their lines would wait in memory from then on. Each write is tried, so lines arrive again when there is
 * room again.
 */
import type { Writable } from 'node:stream'

/** Several thousand lines: a reader that is late for a second loses nothing. */
const MAX_WAITING_BYTES = 2 ** 20

/** Lines that cannot be written are dropped. `onLoss` is told of the first one. */
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
    // Never "wait": lines of threads would wait for the reader in memory too.
    return true
  }
}
