import type { ErrorBody } from './generated.ts'

/**
 * Base class of everything that this client itself throws; a wrong argument is a `TypeError`, and an aborted call
 * throws the reason of its signal.
 */
export class TapelineError extends Error {
  override readonly name: string = 'TapelineError'
}

/** The service refused the request. There is a subclass for every code; `code` distinguishes them as well. */
export class ApiError extends TapelineError {
  override readonly name: string = this.constructor.name
  readonly code: string
  readonly status: number
  readonly requestId: string
  /** The whole body: `param`, `allowed`, `required_tier`, `errors` …, depending on the code. */
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

/** No answer arrived, so it is unknown whether the service carried out the request. */
export class ConnectionError extends TapelineError {
  override readonly name = 'ConnectionError'
  /** Attempts that got no answer, this one included. */
  lostAttempts = 1
}

/** The answer was a success but is not JSON: something other than the service answered, or it was damaged on its way. */
export class UnreadableAnswerError extends TapelineError {
  override readonly name = 'UnreadableAnswerError'
  readonly status: number
  readonly requestId: string

  constructor(url: string, status: number, requestId: string, cause: unknown) {
    super(`The answer to ${url} cannot be read: ${(cause as Error).message}`, { cause })
    this.status = status
    this.requestId = requestId
  }
}

/** The next page would cost more than `maxCredits` leaves. */
export class CreditLimitError<Row = unknown> extends TapelineError {
  override readonly name = 'CreditLimitError'
  /** What was read so far. */
  readonly rows: readonly Row[]
  readonly creditsUsed: number
  readonly nextPageCredits: number
  /** The cursor parameter with which the same call continues; null if nothing was read. */
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

/** The service closed the stream permanently, refused the subscription, or sent a message that cannot be read. */
export class StreamError extends TapelineError {
  override readonly name = 'StreamError'
  /** Close code of the connection, the code of the refusal, or `unreadable`. */
  readonly code: number | string

  constructor(code: number | string, message: string) {
    super(message)
    this.code = code
  }
}

/** Events that the service no longer has, or never had. */
export interface StreamGap {
  readonly after_seq: number
  readonly up_to_seq: number
  readonly reason: string
  readonly kinds?: readonly string[]
  readonly from?: string
  readonly to?: string
}

/** Thrown at a gap if no `onGap` was given. Pass `gap.up_to_seq` as `resumeAfter` to continue after the gap. */
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
