import type { KeyRing } from '../accounts/key-ring.ts'
import type { Clock } from '../kit/clock.ts'
import type { AuthThrottle } from './auth-throttle.ts'
import { AuthenticationError, authenticate, checkCredential, findKeyText } from './authenticate.ts'
import { limitRate } from './limit-rate.ts'
import type { GateRequest } from './request.ts'

/** Admits messages of MCP by the same key rules and rate as requests. What their tools read passes the gate again. */
export interface McpGate {
  /** Gives the key as it was sent; rejects with ApiError when it may not be used. */
  admit(request: Pick<GateRequest, 'headers' | 'search' | 'address'>, messages: number): Promise<string>
}

export function createMcpGate(deps: { keys: KeyRing; authThrottle: AuthThrottle; clock: Clock }): McpGate {
  const { keys, authThrottle, clock } = deps
  return {
    async admit(request, messages) {
      try {
        const text = findKeyText(request)
        const credential = await authenticate(keys, text)
        const nowMs = clock.now()
        checkCredential(credential, { nowMs, address: request.address, scope: null })
        limitRate(credential.rate, nowMs, 'rate_limited', messages)
        return text ?? ''
      } catch (error) {
        if (error instanceof AuthenticationError) await authThrottle.afterFailure(request.address)
        throw error
      }
    },
  }
}
