/** Sweeps that have to be done: each stays pending until it succeeds, and is tried less and less often while it fails. */
import { backoffMs } from '../../kit/backoff.ts'

const RETRY = { baseMs: 2_000, capMs: 60_000 }

export interface PendingSweeps {
  /** Everything from an instant on is to be requested. */
  add(id: string, fromMs: number): void
  due(nowMs: number): { id: string; fromMs: number }[]
  done(id: string): void
  failed(id: string, nowMs: number): void
  /** Since when a sweep that has failed is pending; undefined while there is none. */
  failingSinceMs(): number | undefined
}

export function createPendingSweeps(random: () => number = Math.random): PendingSweeps {
  const pending = new Map<string, { fromMs: number; failures: number; nextMs: number }>()
  return {
    add(id, fromMs) {
      const known = pending.get(id)
      if (known === undefined) pending.set(id, { fromMs, failures: 0, nextMs: 0 })
      else known.fromMs = Math.min(known.fromMs, fromMs)
    },
    due: (nowMs) =>
      [...pending].filter(([, { nextMs }]) => nextMs <= nowMs).map(([id, { fromMs }]) => ({ id, fromMs })),
    done: (id) => void pending.delete(id),
    failed(id, nowMs) {
      const known = pending.get(id)
      if (known === undefined) return
      known.nextMs = nowMs + backoffMs(RETRY, known.failures, random)
      known.failures += 1
    },
    failingSinceMs() {
      const failing = [...pending.values()].filter(({ failures }) => failures > 0)
      return failing.length === 0 ? undefined : Math.min(...failing.map(({ fromMs }) => fromMs))
    },
  }
}
