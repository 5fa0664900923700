import type { Clock } from '../../kit/clock.ts'

const AGAIN_MS = 2_000

/**
 * Retries a read from the store until it succeeds. For data that a run needs once, at its start: if the store is away
 * at that moment, the run would otherwise lack the data until it ends. Throws only when the run ends.
 */
export async function readPatiently<T>(
  read: () => T | Promise<T>,
  options: {
    readonly clock: Clock
    readonly signal: AbortSignal
    readonly onError?: (error: unknown) => void
  },
): Promise<T> {
  for (;;) {
    try {
      return await read()
    } catch (error) {
      if (options.signal.aborted) throw error
      options.onError?.(error)
      await options.clock.sleep(AGAIN_MS, options.signal)
    }
  }
}
