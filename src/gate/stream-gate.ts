import type { IncomingHttpHeaders } from 'node:http'
import type { Credential, KeyRing } from '../accounts/key-ring.ts'
import { ApiError } from '../core/errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { AuthThrottle } from './auth-throttle.ts'
import { AuthenticationError, authenticate, checkCredential, findKeyText } from './authenticate.ts'
import { limitRate } from './limit-rate.ts'

/** Lets connections of the stream in: the same key rules and rate as a request, and looked at again while it lasts. */
export interface StreamGate {
  /** Rejects with ApiError when the key may not open a stream. */
  admit(request: StreamRequest): Promise<AdmittedStream>
}

interface StreamRequest {
  readonly headers: IncomingHttpHeaders
  readonly search: string
  readonly address: string
}

export interface AdmittedStream {
  readonly credential: Credential
  /** Why the connection has to end; undefined while it may stay. */
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
              () => undefined,
              // A store that cannot be asked is no reason to end a connection.
              (error) => (error instanceof ApiError ? error : undefined),
            ),
        }
      } catch (error) {
        if (error instanceof AuthenticationError) await authThrottle.afterFailure(address)
        throw error
      }
    },
  }
}
