import { ApiError } from '../core/errors.ts'
import type { ActiveCounts } from '../kit/active-counts.ts'

const RETRY_SECONDS = 1

/**
 * Takes up to `wanted` free slots for heavy calls, but at least one; a batch with more heavy calls than slots runs them
 * one after another. Refused with 429 if no slot is free. A slot stays taken until the answer has been sent.
 */
export function takeHeavySlots(
  active: ActiveCounts<string>,
  owner: string,
  wanted: number,
  limit: number,
): { slots: number; release: () => void } {
  const slots = Math.min(wanted, active.left(owner, limit))
  if (slots < 1) {
    throw new ApiError(
      'rate_limited',
      `${limit} heavy calls of this account are in flight, which is all that its plan allows.`,
      { retry_after: RETRY_SECONDS, reason: 'heavy_calls_in_flight' },
      [['Retry-After', String(RETRY_SECONDS)]],
    )
  }
  return { slots, release: active.add(owner, slots) }
}

/** For calls that an account may run only once at a time. */
export function takeOnlyPlace(active: ActiveCounts<string>, owner: string, reason: string): () => void {
  if (active.of(owner) > 0) {
    const text = 'Another such call of this account is running. Try again when it has ended.'
    throw new ApiError('rate_limited', text, { retry_after: RETRY_SECONDS, reason }, [
      ['Retry-After', String(RETRY_SECONDS)],
    ])
  }
  return active.add(owner)
}
