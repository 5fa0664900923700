import type { ResponseWriter } from './response-writer.ts'

/** A client may start late, but must then read at this average speed. */
const PATIENCE_MS = 60_000
const MIN_BYTES_PER_MS = 8

/**
 * Calls `done` when the client has accepted what was written, or is gone. A stalled connection ends by its timeout;
 * this also ends a connection that is so slow that the answer would stay in memory for hours.
 *
 * @param bytes of the answer that have been written so far
 * @param startedMs when the answer began, in the time of `performance.now()`
 */
export function whenRead(response: ResponseWriter, bytes: number, startedMs: number, done: () => void): void {
  const allMs = PATIENCE_MS + bytes / MIN_BYTES_PER_MS
  /** An answer that waits behind others on its connection cannot be read yet, and gets its full time afterwards. */
  let isBehindOthers = response.socket === null
  const tooSlow = () => {
    if (!isBehindOthers) {
      response.destroy()
      return
    }
    isBehindOthers = response.socket === null
    timer = setTimeout(tooSlow, isBehindOthers ? PATIENCE_MS : allMs).unref()
  }
  let timer = setTimeout(tooSlow, Math.max(1, allMs - (performance.now() - startedMs))).unref()
  const end = () => {
    clearTimeout(timer)
    response.off('drain', end)
    response.off('close', end)
    done()
  }
  response.once('drain', end)
  response.once('close', end)
}
