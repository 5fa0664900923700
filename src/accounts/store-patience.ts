import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { type Clock, runAfter } from '../kit/clock.ts'

/** How long an answer waits for one call of the store, so that a hanging disk does not make callers hang with it. */
export const STORE_PATIENCE_MS = 10_000

/**
 * Rejects when the store takes longer than that. The call itself continues, and the caller decides what to do about it.
 */
export function inTime<T>(clock: Clock, call: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = runAfter(clock, STORE_PATIENCE_MS, () =>
      reject(new StoreUnavailableError('The store takes too long to answer.')),
    )
    call.finally(cancel).then(resolve, reject)
  })
}
