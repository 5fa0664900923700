import { ApiError } from '../core/errors.ts'
import type { ActiveCounts } from '../kit/active-counts.ts'

const RETRY_SECONDS = 1

/**
 * Takes up to `wanted` free slots for heavy calls, at least one: a batch with more heavy calls than slots runs them one
 * after another. Refused with 429 when none is free. A slot is in use until the answer was sent.
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
