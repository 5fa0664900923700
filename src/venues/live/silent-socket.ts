/**
 * Limits how often a socket is replaced because of silent channels: the first time at once, then after pauses that grow
 * until every one of these channels has sent data. A new socket alone does not reset the pauses.
 */
import { type BackoffPolicy, backoffCeilingMs } from '../../kit/backoff.ts'

export type SilentSocket = ReturnType<typeof createSilentSocket>

export function createSilentSocket(policy: BackoffPolicy) {
  const silent = new Set<string>()
  let attempt = 0
  let notBeforeMs = Number.NEGATIVE_INFINITY
  return {
    /**
     * Whether the socket may be replaced for this channel now; if so, the next pause begins. `nowMs` is monotonic time.
     */
    mayReplace(key: string, nowMs: number) {
      silent.add(key)
      if (nowMs < notBeforeMs) return false
      notBeforeMs = nowMs + backoffCeilingMs(policy, attempt++)
      return true
    },
    received(key: string) {
      if (silent.size === 0 || !silent.delete(key) || silent.size > 0) return
      attempt = 0
      notBeforeMs = Number.NEGATIVE_INFINITY
    },
  }
}
