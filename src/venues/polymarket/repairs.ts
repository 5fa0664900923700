/**
 * Which books are to be requested, and when: at once after a loss, then less and less often while the venue has none.
 */
import { backoffCeilingMs } from '../../kit/backoff.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'

export type Repairs = ReturnType<typeof createRepairs>

export function createRepairs() {
  const waiting = new Map<string, { atMs: number; tries: number; isAsked: boolean }>()
  const policy = { baseMs: TIMES.repairRetryMs, capMs: TIMES.repairSlowlyMs }
  return {
    /** Has no effect while the token is already waiting. */
    want(tokenId: string, atMs: number) {
      if (!waiting.has(tokenId)) waiting.set(tokenId, { atMs, tries: 0, isAsked: false })
    },
    /** Returns the tokens that are due; each counts as being requested until it is `done` or has `failed`. */
    due(nowMs: number): string[] {
      const due = [...waiting].filter(([, repair]) => !repair.isAsked && repair.atMs <= nowMs)
      for (const [, repair] of due) repair.isAsked = true
      return due.map(([tokenId]) => tokenId)
    },
    failed(tokenId: string, nowMs: number) {
      const repair = waiting.get(tokenId)
      if (repair === undefined) return
      repair.isAsked = false
      repair.atMs = nowMs + backoffCeilingMs(policy, repair.tries++)
    },
    done: (tokenId: string) => void waiting.delete(tokenId),
  }
}
