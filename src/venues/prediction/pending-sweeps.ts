/**
 * Sweeps that are still to be done. Each stays pending until it succeeds and is retried less and less often while it
 * fails, or its answers lack something.
 */
import { backoffMs } from '../../kit/backoff.ts'

const RETRY = { baseMs: 2_000, capMs: 60_000 }

export type PendingSweeps = ReturnType<typeof createPendingSweeps>

export function createPendingSweeps(random: () => number) {
  const pending = new Map<string, { fromMs: number; tries: number; isFailing: boolean; nextMs: number }>()

  function retryLater(id: string, isFailing: boolean, nowMs: number): void {
    const known = pending.get(id)
    if (known === undefined) return
    known.nextMs = nowMs + backoffMs(RETRY, known.tries, random)
    known.tries += 1
    known.isFailing = isFailing
  }

  return {
    /** Everything from `fromMs` on has to be requested. */
    add(id: string, fromMs: number) {
      const known = pending.get(id)
      if (known === undefined) pending.set(id, { fromMs, tries: 0, isFailing: false, nextMs: 0 })
      else known.fromMs = Math.min(known.fromMs, fromMs)
    },
    due: (nowMs: number): { id: string; fromMs: number }[] =>
      [...pending].filter(([, { nextMs }]) => nextMs <= nowMs).map(([id, { fromMs }]) => ({ id, fromMs })),
    done: (id: string) => void pending.delete(id),
    failed: (id: string, nowMs: number) => retryLater(id, true, nowMs),
    /** The venue answered, but not with everything that it has. */
    lacked: (id: string, nowMs: number) => retryLater(id, false, nowMs),
    /** Whether any of them has to be retried. */
    isAnyRetried: () => [...pending.values()].some(({ tries }) => tries > 0),
    /** The earliest start of the pending sweeps that have failed; undefined if none has. */
    failingSinceMs(): number | undefined {
      const failing = [...pending.values()].filter(({ isFailing }) => isFailing)
      return failing.length === 0 ? undefined : Math.min(...failing.map(({ fromMs }) => fromMs))
    },
  }
}
