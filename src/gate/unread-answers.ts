import { ApiError, type ErrorKind } from '../core/errors.ts'
import { ActiveCounts } from '../kit/active-counts.ts'

/** Of one account: dozens of the longest pages. */
const MAX_OF_ACCOUNT = 128 * 1024 * 1024
const MAX_OF_ALL = 1024 * 1024 * 1024
const RETRY_SECONDS = 5

/**
 * Bytes of answers that wait in memory until their sockets take them. An account that has many of them reads first; where all
 * accounts together have too many, that goes for each that has some, and the others go on.
 */
export class UnreadAnswers {
  readonly #bytes = new ActiveCounts<string>()
  #all = 0

  hold(accountId: string, bytes: number): () => void {
    const end = this.#bytes.add(accountId, bytes)
    this.#all += bytes
    let isHeld = true
    return () => {
      end()
      if (isHeld) this.#all -= bytes
      isHeld = false
    }
  }

  /** Refuses an account that has to read first. */
  check(accountId: string, kind: ErrorKind = 'rate_limited'): void {
    if (this.#all === 0) return
    const bytes = this.#bytes.of(accountId)
    if (bytes <= (this.#all > MAX_OF_ALL ? 0 : MAX_OF_ACCOUNT)) return
    const megabytes = Math.ceil(bytes / 1_048_576).toLocaleString('en')
    throw new ApiError(
      kind,
      `${megabytes} MiB of answers to this account wait to be sent or read. Read them, or close their connections.`,
      { retry_after: RETRY_SECONDS, reason: 'unread_answers' },
      [['Retry-After', String(RETRY_SECONDS)]],
    )
  }
}
