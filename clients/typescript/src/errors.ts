import type { ErrorBody } from './generated.ts'

/**
 * Everything that this client throws by itself; a wrong argument is a `TypeError`, and an aborted call throws the reason
 * of its signal.
 */
export class TapelineError extends Error {
  override readonly name: string = 'TapelineError'
}

/** The service refused. There is a class for every code; `code` tells them apart as well. */
export class ApiError extends TapelineError {
  override readonly name: string = this.constructor.name
  readonly code: string
  readonly status: number
  readonly requestId: string
  /** The whole body: `param`, `allowed`, `required_tier`, `errors` … where they help. */
  readonly details: Partial<ErrorBody>
  /** Seconds to wait before another attempt. */
  readonly retryAfter: number | undefined

  constructor(status: number, details: Partial<ErrorBody>, retryAfter?: number) {
    super(details.message ?? `The service answered with status ${status}.`)
    this.code = details.error ?? 'unknown'
    this.status = status
    this.requestId = details.request_id ?? ''
    this.details = details
    this.retryAfter = retryAfter
  }
}

/** No answer arrived: whether the service took the request is not known. */
export class ConnectionError extends TapelineError {
  override readonly name = 'ConnectionError'
  /** Attempts that got no answer, this one included. */
  lostAttempts = 1
}

/** The next page would cost more than `maxCredits` leaves. */
export class CreditLimitError<Row = unknown> extends TapelineError {
  override readonly name = 'CreditLimitError'
  /** What was read so far. */
  readonly rows: readonly Row[]
  readonly creditsUsed: number
  readonly nextPageCredits: number
  /** Where to go on, as the cursor parameter of the same call; null at the beginning. */
  readonly nextCursor: string | null

  constructor(found: {
    rows: readonly Row[]
    creditsUsed: number
    nextPageCredits: number
    nextCursor: string | null
  }) {
    super(`The next page costs ${found.nextPageCredits} credits; ${found.creditsUsed} are spent.`)
    this.rows = found.rows
    this.creditsUsed = found.creditsUsed
    this.nextPageCredits = found.nextPageCredits
    this.nextCursor = found.nextCursor
  }
}

/** The service closed the stream for good, refused the subscription, or sent what cannot be read. */
export class StreamError extends TapelineError {
  override readonly name = 'StreamError'
  /** Close code of the connection, the code of the refusal, or `unreadable`. */
  readonly code: number | string

  constructor(code: number | string, message: string) {
    super(message)
    this.code = code
  }
}

/** Events that the service does not have any more, or never had. */
export interface StreamGap {
  readonly after_seq: number
  readonly up_to_seq: number
  readonly reason: string
  readonly kinds?: readonly string[]
  readonly from?: string
  readonly to?: string
}

/** Thrown at a gap where no `onGap` was given. `gap.up_to_seq` as `resumeAfter` goes on behind it. */
export class StreamGapError extends TapelineError {
  override readonly name = 'StreamGapError'
  readonly gap: StreamGap

  constructor(gap: StreamGap) {
    super(`Events ${gap.after_seq + 1} to ${gap.up_to_seq} are missing (${gap.reason}).`)
    this.gap = gap
  }
}

/** A delivery that was not signed with the secret, was changed, or is too old. */
export class WebhookSignatureError extends TapelineError {
  override readonly name = 'WebhookSignatureError'
}
