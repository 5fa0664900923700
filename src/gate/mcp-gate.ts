import type { KeyRing } from '../accounts/key-ring.ts'
import type { Clock } from '../kit/clock.ts'
import { type AuthThrottle, tooManyFailures } from './auth-throttle.ts'
import { AuthenticationError, authenticate, checkCredential, findKeyText } from './authenticate.ts'
import { limitRate } from './limit-rate.ts'
import type { GateRequest } from './request.ts'

/**
 * Admits MCP messages by the same key rules and rate as requests. The requests that their tools make pass the gate
 * again.
 */
export interface McpGate {
  /** Rejects with ApiError if the key may not be used, or the rate leaves no request. */
  admit(request: Pick<GateRequest, 'headers' | 'search' | 'address'>): Promise<AdmittedMcp>
}

interface AdmittedMcp {
  /** The key text as it was sent. */
  readonly key: string
  readonly accountId: string
  /** To be called once with the number of messages. Throws ApiError if the rate does not allow as many. */
  readonly count: (messages: number) => void
}

export function createMcpGate(deps: { keys: KeyRing; authThrottle: AuthThrottle; clock: Clock }): McpGate {
  const { keys, authThrottle, clock } = deps
  return {
    async admit(request) {
      try {
        const text = findKeyText(request)
        const credential = await authenticate(keys, text)
        const nowMs = clock.now()
        checkCredential(credential, { nowMs, address: request.address, scope: null })
        const { rate, accountId } = credential
        // A body that cannot be read counts too.
        limitRate(rate, nowMs, 'rate_limited')
        const count = (messages: number) => limitRate(rate, clock.now(), 'rate_limited', messages, 1)
        return { key: text ?? '', accountId, count }
      } catch (error) {
        if (error instanceof AuthenticationError && !(await authThrottle.afterFailure(request.address)))
          throw tooManyFailures()
        throw error
      }
    },
  }
}
