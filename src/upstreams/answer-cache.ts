/** Answers that the node itself caches for a moment are cached as long; concurrent callers share one call. */
import type { Clock } from '../kit/clock.ts'
import { Lru } from '../kit/lru.ts'
import { createSingleflight } from '../kit/singleflight.ts'
import type { CallOutcome } from './call-outcome.ts'
import type { ValidCall } from './validate-params.ts'

const MAX_ENTRIES = 500
const MAX_BYTES = 8 * 1024 * 1024

export function createAnswerCache(clock: Clock) {
  const cache = new Lru<string, { outcome: CallOutcome; untilMs: number; bytes: number }>({
    maxEntries: MAX_ENTRIES,
    maxWeight: MAX_BYTES,
    weigh: (entry) => entry.bytes,
  })
  const flights = createSingleflight<CallOutcome>()

  return {
    /** An answer that is recent enough. */
    cached(call: ValidCall): CallOutcome | undefined {
      const entry = cache.get(call.key)
      return entry !== undefined && clock.now() < entry.untilMs ? entry.outcome : undefined
    },
    /** `send` is run at most once at a time per call; all callers in the meantime share its outcome. */
    fetch: (call: ValidCall, send: () => Promise<CallOutcome>): Promise<CallOutcome> =>
      flights.run(call.key, async () => {
        const askedMs = clock.now()
        const answer = await send()
        if (!answer.ok) return answer
        // The answer is a window on a larger read from the socket, which must not be kept alive.
        const outcome = { ...answer, bytes: Buffer.from(answer.bytes) }
        const untilMs = askedMs + call.method.cacheMs
        cache.set(call.key, { outcome, untilMs, bytes: outcome.bytes.length + call.key.length })
        return outcome
      }),
  }
}
