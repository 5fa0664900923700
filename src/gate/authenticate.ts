import type { Credential, KeyRing } from '../accounts/key-ring.ts'
import { ApiError } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import { parseQuery } from './query.ts'
import type { GateRequest } from './request.ts'

/**
 * Looks for a key in the header, then the bearer token, then the two query parameters; the first one present is used.
 */
export function findKeyText({
  headers,
  search,
}: Pick<GateRequest, 'headers' | 'search'>): string | undefined {
  const header = headers['x-api-key']
  if (typeof header === 'string' && header !== '') return header
  const { authorization } = headers
  if (authorization !== undefined) {
    const match = /^bearer\s+(\S+)\s*$/i.exec(authorization)
    if (match?.[1] !== undefined) return match[1]
  }
  if (search === '') return undefined
  const { values } = parseQuery(search)
  return values.get('api-key') || values.get('api_key') || undefined
}

/** The throttle counts this error against the caller's address. */
export class AuthenticationError extends ApiError {
  constructor(reason: 'missing' | 'malformed' | 'unknown' | 'revoked' | 'expired', message: string) {
    super('unauthorized', message, { reason }, [['WWW-Authenticate', 'ApiKey header="X-API-Key"']])
  }
}

export function authenticate(keys: KeyRing, text: string | undefined): Credential | Promise<Credential> {
  if (text === undefined) {
    throw new AuthenticationError(
      'missing',
      'An API key is needed: send it in the header X-API-Key (or Authorization: Bearer, or the query parameter api-key).',
    )
  }
  return keys.known(text) ?? lookUp(keys, text)
}

async function lookUp(keys: KeyRing, text: string): Promise<Credential> {
  const verdict = await keys.find(text)
  if (!verdict.ok) throw new AuthenticationError(verdict.reason, verdict.message)
  return verdict.credential
}

/** Checks state, expiry, address and scope; runs on every request. */
export function checkCredential(
  credential: Credential,
  request: { nowMs: number; address: string; scope: Scope | null },
): void {
  const { key, account } = credential
  if (key.revokedAtMs !== null) throw new AuthenticationError('revoked', 'The API key was revoked.')
  if (key.expiresAtMs !== null && key.expiresAtMs <= request.nowMs) {
    throw new AuthenticationError('expired', 'The API key has expired.')
  }
  if (account.pausedReason !== null) {
    throw new ApiError(
      'tier_restricted',
      account.pausedReason === 'payment_past_due'
        ? 'The key is paused: a payment is past due. Update the billing details to go on.'
        : 'The key is paused by the operator of this service.',
      { reason: 'key_paused' },
    )
  }
  if (!credential.allowsAddress(request.address)) {
    throw new ApiError('tier_restricted', `The key may not be used from the address ${request.address}.`, {
      reason: 'ip_not_allowed',
    })
  }
  if (request.scope !== null && key.scopes !== null && !key.scopes.includes(request.scope)) {
    throw new ApiError('tier_restricted', `The key lacks the scope "${request.scope}".`, { reason: 'scope' })
  }
}
