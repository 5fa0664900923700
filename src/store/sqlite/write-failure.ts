import { StoreUnavailableError, WritesRefusedError } from '../../core/store-unavailable.ts'
import { ThreadEndedError } from '../../kit/thread-calls.ts'

/** SQLite result codes; the low byte is the kind of error. */
const READ_ONLY = 8
const FULL = 13
const IO_ERROR = 10
/** Another connection holds the lock, there is no memory, or the file cannot be opened. */
const AWAY = new Set([5, 6, 7, 14])

/**
 * What callers see of a failed write: a `StoreUnavailableError` if the disk or the thread is the reason rather than the
 * write itself.
 */
export function writeFailure(error: unknown, database: string): unknown {
  if (!(error instanceof Error)) return error
  const { message } = error
  if (error instanceof ThreadEndedError)
    return new StoreUnavailableError(message, { cause: error, mayBeDone: true })
  const kind = ((error as { errcode?: number }).errcode ?? 0) & 0xff
  if (kind === READ_ONLY || kind === FULL)
    return new WritesRefusedError(`The ${database} database accepts no writes now: ${message}`, {
      cause: error,
    })
  // Some of these errors are reported after the data was written.
  if (kind === IO_ERROR || AWAY.has(kind))
    return new StoreUnavailableError(`The ${database} database failed: ${message}`, {
      cause: error,
      mayBeDone: kind === IO_ERROR,
    })
  return error
}
