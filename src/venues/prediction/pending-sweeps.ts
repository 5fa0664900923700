/** Sweeps that are owed: each stays owed until it has succeeded, and is tried less and less often while it fails. */
import { backoffMs } from '../../kit/backoff.ts'

const RETRY = { baseMs: 2_000, capMs: 60_000 }

export interface OwedSweeps {
  /** Everything from an instant on is to be asked for. */
  owe(id: string, fromMs: number): void
  due(nowMs: number): { id: string; fromMs: number }[]
  done(id: string): void
  failed(id: string, nowMs: number): void
  /** Since when something is owed that was asked for in vain; undefined while nothing is. */
  failingSinceMs(): number | undefined
}

export function createOwedSweeps(random: () => number = Math.random): OwedSweeps {
  const owed = new Map<string, { fromMs: number; failures: number; nextMs: number }>()
  return {
    owe(id, fromMs) {
      const known = owed.get(id)
      if (known === undefined) owed.set(id, { fromMs, failures: 0, nextMs: 0 })
      else known.fromMs = Math.min(known.fromMs, fromMs)
    },
    due: (nowMs) =>
      [...owed].filter(([, { nextMs }]) => nextMs <= nowMs).map(([id, { fromMs }]) => ({ id, fromMs })),
    done: (id) => void owed.delete(id),
    failed(id, nowMs) {
      const known = owed.get(id)
      if (known === undefined) return
      known.nextMs = nowMs + backoffMs(RETRY, known.failures, random)
      known.failures += 1
    },
    failingSinceMs() {
      const failing = [...owed.values()].filter(({ failures }) => failures > 0)
      return failing.length === 0 ? undefined : Math.min(...failing.map(({ fromMs }) => fromMs))
    },
  }
}
