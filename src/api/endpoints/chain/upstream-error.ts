import { ApiError } from '../../../core/errors.ts'
import type { CallFailure } from '../../../upstreams/call-outcome.ts'

const RETRY_SECONDS = 1
const RETRY = [['Retry-After', String(RETRY_SECONDS)]] as const

/** The node's answer does not have the form of the method's result. */
export function unusableAnswer(node: string, detail: string): ApiError {
  return upstreamError({ kind: 'malformed_answer', detail, node })
}

/** The endpoint's error for a failed call. It contains no names or addresses of nodes. */
export function upstreamError(failure: CallFailure, detail: Record<string, unknown> = {}): ApiError {
  switch (failure.kind) {
    case 'refused':
      return new ApiError('upstream_error', `The node refused: ${failure.refusal.text}.`, {
        reason: failure.refusal.reason,
        ...detail,
      })
    case 'timeout':
      return new ApiError('upstream_timeout', 'No node answered in time.', { reason: 'timeout', ...detail })
    case 'unavailable':
    case 'overloaded':
      return new ApiError(
        'upstream_unavailable',
        failure.kind === 'overloaded' ? 'The nodes are busy.' : 'No node is available.',
        { reason: failure.kind, retry_after: RETRY_SECONDS, ...detail },
        RETRY,
      )
    default:
      return new ApiError('upstream_error', 'The node did not give a usable answer.', {
        reason: failure.kind,
        ...detail,
      })
  }
}

/** Different nodes kept answering the calls of one balance. */
export function notOfOneNode(): ApiError {
  return notNow('unavailable', 'No node answered all calls of a balance.')
}

const NOT_NOW_SECONDS = 2

/** Nodes and index are available, but cannot be compared yet. */
export function notNow(reason: string, message: string): ApiError {
  return new ApiError('upstream_unavailable', message, { reason, retry_after: NOT_NOW_SECONDS }, [
    ['Retry-After', String(NOT_NOW_SECONDS)],
  ])
}
