/** Answers that the node itself keeps for a moment are given again for as long; askers in between share one. */
import type { Clock } from '../kit/clock.ts'
import { Lru } from '../kit/lru.ts'
import { createSingleflight } from '../kit/singleflight.ts'
import type { CallOutcome } from './outcome.ts'
import type { ValidCall } from './validate-params.ts'

export interface AnswerCache {
  /** An answer that is young enough. */
  kept(call: ValidCall): CallOutcome | undefined
  /** `send` is run at most once at a time per call; its outcome is shared by all who ask meanwhile. */
  ask(call: ValidCall, send: () => Promise<CallOutcome>): Promise<CallOutcome>
}

const MAX_ENTRIES = 500
const MAX_BYTES = 8 * 1024 * 1024

export function createAnswerCache(clock: Clock): AnswerCache {
  const kept = new Lru<string, { outcome: CallOutcome; untilMs: number; bytes: number }>({
    maxEntries: MAX_ENTRIES,
    maxWeight: MAX_BYTES,
    weigh: (entry) => entry.bytes,
  })
  const flights = createSingleflight<CallOutcome>()

  return {
    kept(call) {
      const entry = kept.get(call.key)
      return entry !== undefined && clock.now() < entry.untilMs ? entry.outcome : undefined
    },
    ask: (call, send) =>
      flights.run(call.key, async () => {
        const askedMs = clock.now()
        const answer = await send()
        if (!answer.ok) return answer
        // The answer is a window on a larger read from the socket, which must not be kept alive.
        const outcome = { ...answer, bytes: Buffer.from(answer.bytes) }
        const untilMs = askedMs + call.method.cacheMs
        kept.set(call.key, { outcome, untilMs, bytes: outcome.bytes.length + call.key.length })
        return outcome
      }),
  }
}
