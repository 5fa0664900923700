import { ApiError, ERRORS, publicCode } from '../core/errors.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type { GateReply } from './request.ts'

const STORE_AWAY = 'The stored data cannot be reached at the moment. Try again in a few seconds.'
const STORE_AWAY_RETRY_SECONDS = 5
const INTERNAL = 'Something went wrong on our side. The request id helps us to find it.'

/** What the caller may see of an error; for an unknown one only the request id. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof StoreUnavailableError)
    return new ApiError('environment_unavailable', STORE_AWAY, { reason: 'store' }, [
      ['Retry-After', String(STORE_AWAY_RETRY_SECONDS)],
    ])
  return new ApiError('internal_error', INTERNAL)
}

/** Our own format, or RFC 9457 if the caller accepts it. */
export function errorReply(
  error: ApiError,
  requestId: string,
  accept: string | undefined,
): GateReply & { body: string } {
  const code = publicCode(error.kind)
  const problem = accept !== undefined && /application\/problem\+json/i.test(accept)
  const { detail, status, message } = error
  const body = problem
    ? { type: `/docs/errors#${code}`, title: ERRORS[error.kind].title, status, detail: message, code }
    : { error: code, message }
  const headers = error.headers.flat()
  headers.push(
    'Content-Type',
    problem ? 'application/problem+json; charset=utf-8' : 'application/json; charset=utf-8',
    'Cache-Control',
    'no-store',
  )
  return { status, headers, body: JSON.stringify({ ...body, request_id: requestId, ...detail }), error: code }
}
