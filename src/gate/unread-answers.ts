import { ApiError, type ErrorKind } from '../core/errors.ts'
import { ActiveCounts } from '../kit/active-counts.ts'

/** Per account: dozens of the longest pages. */
const MAX_OF_ACCOUNT = 128 * 1024 * 1024
const MAX_OF_ALL = 1024 * 1024 * 1024
const RETRY_SECONDS = 5

/**
 * Bytes of answers that wait in memory until their sockets accept them. An account with too many has to read them
 * before it gets more. If all accounts together have too many, this applies to every account that has any, and the
 * others continue.
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

  /** Refuses an account that has to read its answers first. */
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
