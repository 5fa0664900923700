import type { ResponseWriter } from './response-writer.ts'

/** A client may begin late, and is then to read that fast on average. */
const PATIENCE_MS = 60_000
const MIN_BYTES_PER_MS = 8

/**
 * Calls `done` when the client has taken what was written, or is gone. A connection on which nothing moves ends by its
 * timeout; here it ends also if it moves so slowly that the answer would stay in memory for hours.
 *
 * @param bytes of the answer that were written so far
 * @param startedMs when the answer began, as `performance.now()` has it
 */
export function whenRead(response: ResponseWriter, bytes: number, startedMs: number, done: () => void): void {
  const allMs = PATIENCE_MS + bytes / MIN_BYTES_PER_MS
  /** An answer behind others of its connection cannot be read yet, and has all of its time afterwards. */
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
