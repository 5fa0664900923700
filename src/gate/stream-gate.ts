import type { IncomingHttpHeaders } from 'node:http'
import type { Credential, KeyRing } from '../accounts/key-ring.ts'
import { ApiError } from '../core/errors.ts'
import type { Plan } from '../core/plan.ts'
import type { Clock } from '../kit/clock.ts'
import { type AuthThrottle, tooManyFailures } from './auth-throttle.ts'
import { AuthenticationError, authenticate, checkCredential, findKeyText } from './authenticate.ts'
import { limitRate } from './limit-rate.ts'

/**
 * Admits stream connections by the same key rules and rate as requests. The key is checked again while a connection is
 * open.
 */
export interface StreamGate {
  /** Rejects with ApiError if the key may not open a stream. */
  admit(request: StreamRequest): Promise<AdmittedStream>
}

interface StreamRequest {
  readonly headers: IncomingHttpHeaders
  readonly search: string
  readonly address: string
}

export interface AdmittedStream {
  readonly credential: Credential
  /** Why the connection has to be closed; undefined while it may stay open. */
  recheck(): Promise<ApiError | undefined>
}

export function createStreamGate(deps: {
  keys: KeyRing
  authThrottle: AuthThrottle
  clock: Clock
}): StreamGate {
  const { keys, authThrottle, clock } = deps
  return {
    async admit({ headers, search, address }) {
      const text = findKeyText({ headers, search })
      const check = async (): Promise<Credential> => {
        const credential = await authenticate(keys, text)
        checkCredential(credential, { nowMs: clock.now(), address, scope: 'node' })
        return credential
      }
      try {
        const credential = await check()
        limitRate(credential.rate, clock.now(), 'rate_limited')
        return {
          credential,
          recheck: () =>
            check().then(
              (now) => planRefusal(now.plan, credential.plan),
              // A failing store is no reason to close a connection.
              (error) => (error instanceof ApiError ? error : undefined),
            ),
        }
      } catch (error) {
        if (error instanceof AuthenticationError && !(await authThrottle.afterFailure(address)))
          throw tooManyFailures()
        throw error
      }
    },
  }
}

/**
 * Closes a connection that was opened under a larger plan, so that the client reconnects with the limits of the current
 * one.
 */
export function planRefusal(now: Plan, before: Plan): ApiError | undefined {
  if (now.streamConnections >= before.streamConnections && now.streamAddresses >= before.streamAddresses)
    return undefined
  const text = `The account has the plan ${now.name} now, which allows less. Connect again.`
  return new ApiError('rate_limited', text, { reason: 'plan_changed' })
}
