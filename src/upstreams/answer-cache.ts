/** Caches an answer for as long as the node itself caches it. Concurrent callers share one call. */
import { type Clock, elapsedMs } from '../kit/clock.ts'
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
    /** The cached answer, unless it has expired. */
    cached(call: ValidCall): CallOutcome | undefined {
      const entry = cache.get(call.key)
      return entry !== undefined && elapsedMs(clock) < entry.untilMs ? entry.outcome : undefined
    },
    /** Runs `send` at most once at a time per call. Everyone who calls in the meantime gets the same outcome. */
    fetch: (call: ValidCall, send: () => Promise<CallOutcome>): Promise<CallOutcome> =>
      flights.run(call.key, async () => {
        const askedMs = elapsedMs(clock)
        const answer = await send()
        if (!answer.ok) return answer
        // The answer is a slice of a larger buffer read from the socket. The copy lets that buffer be freed.
        const outcome = { ...answer, bytes: Buffer.from(answer.bytes) }
        const untilMs = askedMs + call.method.cacheMs
        cache.set(call.key, { outcome, untilMs, bytes: outcome.bytes.length + call.key.length })
        return outcome
      }),
  }
}
