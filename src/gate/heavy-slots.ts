import { ApiError } from '../core/errors.ts'

/** Counts the heavy calls that an account has in flight: until their answers were sent. */
export interface HeavySlots {
  /**
   * Takes up to `wanted` free slots, at least one: a batch with more heavy calls than slots runs them one after
   * another. Refused with 429 when none is free.
   */
  take(owner: string, wanted: number, limit: number): { slots: number; release: () => void }
}

const RETRY_SECONDS = 1

export function createHeavySlots(): HeavySlots {
  const inFlight = new Map<string, number>()
  const change = (owner: string, by: number) => {
    const count = (inFlight.get(owner) ?? 0) + by
    if (count > 0) inFlight.set(owner, count)
    else inFlight.delete(owner)
  }
  return {
    take(owner, wanted, limit) {
      const slots = Math.min(wanted, limit - (inFlight.get(owner) ?? 0))
      if (slots < 1) {
        throw new ApiError(
          'rate_limited',
          `${limit} heavy calls of this account are in flight, which is all that its plan allows.`,
          { retry_after: RETRY_SECONDS, reason: 'heavy_calls_in_flight' },
          [['Retry-After', String(RETRY_SECONDS)]],
        )
      }
      change(owner, slots)
      let taken = true
      return {
        slots,
        release: () => {
          if (taken) change(owner, -slots)
          taken = false
        },
      }
    },
  }
}
