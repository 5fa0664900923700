/**
 * How often a socket may be replaced because of channels that are silent on it: at once the first time, then
 * after pauses that grow until every one of them has sent data. A new socket alone proves nothing.
 */
import { type BackoffPolicy, backoffCeilingMs } from '../../kit/backoff.ts'

export type SilentSocket = ReturnType<typeof createSilentSocket>

export function createSilentSocket(policy: BackoffPolicy) {
  const silent = new Set<string>()
  let attempt = 0
  let notBeforeMs = Number.NEGATIVE_INFINITY
  return {
    /** Whether it may be replaced for this channel now, by a clock that is never set; if so, the next pause begins. */
    mayReplace(key: string, nowMs: number) {
      silent.add(key)
      if (nowMs < notBeforeMs) return false
      notBeforeMs = nowMs + backoffCeilingMs(policy, attempt++)
      return true
    },
    /** The channel sent data. */
    received(key: string) {
      if (silent.size === 0 || !silent.delete(key) || silent.size > 0) return
      attempt = 0
      notBeforeMs = Number.NEGATIVE_INFINITY
    },
  }
}
