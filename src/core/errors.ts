/**
 * The error catalogue: every code that a caller can receive, with its status and a one-line meaning. The public text of
 * an error is separate from what is logged about it.
 */
export const ERRORS = {
  invalid_symbol: { status: 400, title: 'The symbol is missing or not recognised' },
  invalid_source: { status: 400, title: 'The source is not one of the allowed values' },
  invalid_interval: { status: 400, title: 'The interval is not supported' },
  invalid_side: { status: 400, title: 'The side is not one of the allowed values' },
  invalid_time_range: { status: 400, title: 'The time range is wrong' },
  unauthorized: { status: 401, title: 'The API key is missing or not valid' },
  credits_exhausted: { status: 402, title: 'The credits of this period are used up' },
  plan_required: { status: 402, title: 'The plan does not reach that far back' },
  tier_restricted: { status: 403, title: 'The plan or key does not allow this' },
  not_found: { status: 404, title: 'There is nothing at this path' },
  market_not_found: { status: 404, title: 'The market is not known' },
  transaction_not_found: { status: 404, title: 'The transaction is not known' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  idempotency_in_progress: {
    status: 409,
    title: 'The same request is in progress, or its answer was not kept',
  },
  idempotency_conflict: { status: 422, title: 'The idempotency key was used with another body' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported' },
  invalid_param: { status: 422, title: 'A parameter is wrong' },
  transaction_rejected: { status: 422, title: 'The node refused the transaction' },
  upgrade_required: { status: 426, title: 'This path takes WebSocket connections only' },
  rate_limited: { status: 429, title: 'Too many requests' },
  rate_limit_exceeded: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Something went wrong on our side' },
  data_not_available: { status: 501, title: 'The data is not available for that range' },
  upstream_error: { status: 502, title: 'The node answered with a fault' },
  upstream_unavailable: { status: 503, title: 'No node can answer' },
  environment_unavailable: { status: 503, title: "The key's environment is not running" },
  upstream_timeout: { status: 504, title: 'No node answered in time' },
} as const

export type ErrorKind = keyof typeof ERRORS

/** Two kinds share one public code with different statuses (409 in progress, 422 with another body). */
export function publicCode(kind: ErrorKind): string {
  return kind === 'idempotency_in_progress' ? 'idempotency_conflict' : kind
}

/** One wrong parameter. An error can carry several of them. */
export interface InputFault {
  param: string
  error: ErrorKind
  message: string
  allowed?: readonly (string | number)[]
  [extra: string]: unknown
}

/** Members that an error body may have in addition to code, message and request id. */
export interface ErrorDetail {
  param?: string
  allowed?: readonly (string | number)[]
  required_tier?: string
  upgrade_url?: string
  retry_after?: number
  reason?: string
  earliest_start?: string
  errors?: readonly InputFault[]
  [extra: string]: unknown
}

/** An error that a caller may read. Any other thrown error becomes `internal_error`. */
export class ApiError extends Error {
  readonly kind: ErrorKind
  readonly status: number
  readonly detail: ErrorDetail
  readonly headers: readonly (readonly [string, string])[]

  constructor(
    kind: ErrorKind,
    message: string,
    detail: ErrorDetail = {},
    headers: readonly (readonly [string, string])[] = [],
  ) {
    super(message)
    this.name = 'ApiError'
    this.kind = kind
    this.status = ERRORS[kind].status
    this.detail = detail
    this.headers = headers
  }
}

/** Validation stops after this many faults, which are enough to correct a request. */
export const MAX_FAULTS = 20

/** Combines many faults into one error. A specific code (400) takes precedence over the general one (422). */
export function faultsError(found: readonly InputFault[]): ApiError {
  const faults = found.slice(0, MAX_FAULTS)
  const lead = faults.find((fault) => fault.error !== 'invalid_param') ?? faults[0]
  if (lead === undefined) throw new RangeError('no fault given')
  const { param, error, message: _message, ...detail } = lead
  const wrong = new Set(faults.map((fault) => fault.param)).size
  const messages = faults.map((fault) => fault.message).join(' ')
  const text = wrong === 1 ? messages : `${wrong} parameters are wrong. ${messages}`
  if (faults.length < MAX_FAULTS) return new ApiError(error, text, { param, ...detail, errors: faults })
  const stopped = `${text} Checking stopped after ${MAX_FAULTS} faults: there may be more.`
  return new ApiError(error, stopped, { param, ...detail, errors: faults, checking_stopped: true })
}
