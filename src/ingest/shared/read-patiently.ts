import type { Clock } from '../../kit/clock.ts'

const AGAIN_MS = 2_000

/**
 * Reads from the store until that succeeds. For what a run has to know once, at its beginning: a store that is away
 * just then would leave the run without it for good. Throws only when the run ends.
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
