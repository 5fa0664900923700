/** Which books are to be requested, and when: at once after a loss, later and later where the venue has none. */
import { backoffCeilingMs } from '../../kit/backoff.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'

export interface Repairs {
  /** Without effect while the token waits already. */
  want(tokenId: string, atMs: number): void
  /** The tokens whose time has come; each is being requested until it is `done` or has `failed`. */
  due(nowMs: number): string[]
  failed(tokenId: string, nowMs: number): void
  done(tokenId: string): void
}

export function createRepairs(): Repairs {
  const waiting = new Map<string, { atMs: number; tries: number; isAsked: boolean }>()
  const policy = { baseMs: TIMES.repairRetryMs, capMs: TIMES.repairSlowlyMs }
  return {
    want(tokenId, atMs) {
      if (!waiting.has(tokenId)) waiting.set(tokenId, { atMs, tries: 0, isAsked: false })
    },
    due(nowMs) {
      const due = [...waiting].filter(([, repair]) => !repair.isAsked && repair.atMs <= nowMs)
      for (const [, repair] of due) repair.isAsked = true
      return due.map(([tokenId]) => tokenId)
    },
    failed(tokenId, nowMs) {
      const repair = waiting.get(tokenId)
      if (repair === undefined) return
      repair.isAsked = false
      repair.atMs = nowMs + backoffCeilingMs(policy, repair.tries++)
    },
    done: (tokenId) => void waiting.delete(tokenId),
  }
}
