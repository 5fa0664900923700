/**
 * Sweeps that are still to be done. Each stays pending until it succeeds and is retried less and less often while it
 * fails.
 */
import { backoffMs } from '../../kit/backoff.ts'

const RETRY = { baseMs: 2_000, capMs: 60_000 }

export type PendingSweeps = ReturnType<typeof createPendingSweeps>

export function createPendingSweeps(random: () => number) {
  const pending = new Map<string, { fromMs: number; failures: number; nextMs: number }>()
  return {
    /** Everything from `fromMs` on has to be requested. */
    add(id: string, fromMs: number) {
      const known = pending.get(id)
      if (known === undefined) pending.set(id, { fromMs, failures: 0, nextMs: 0 })
      else known.fromMs = Math.min(known.fromMs, fromMs)
    },
    due: (nowMs: number): { id: string; fromMs: number }[] =>
      [...pending].filter(([, { nextMs }]) => nextMs <= nowMs).map(([id, { fromMs }]) => ({ id, fromMs })),
    done: (id: string) => void pending.delete(id),
    failed(id: string, nowMs: number) {
      const known = pending.get(id)
      if (known === undefined) return
      known.nextMs = nowMs + backoffMs(RETRY, known.failures, random)
      known.failures += 1
    },
    /** The earliest start of the pending sweeps that have failed; undefined if none has. */
    failingSinceMs(): number | undefined {
      const failing = [...pending.values()].filter(({ failures }) => failures > 0)
      return failing.length === 0 ? undefined : Math.min(...failing.map(({ fromMs }) => fromMs))
    },
  }
}
