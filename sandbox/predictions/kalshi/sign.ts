/** The account of the sandbox, and the check of its signatures: RSA-PSS over time, method and path. */
import { constants, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface KalshiAccount {
  readonly keyId: string
  /** PEM. */
  readonly publicKey: string
  /** PEM; absent if the caller supplied a public key. */
  readonly privateKey?: string
}

/** Generated once per process, because a key pair takes as long as the rest of a venue's start. */
let pair: { publicKey: string; privateKey: string } | undefined

export function createAccount(keyId: string): KalshiAccount {
  pair ??= generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { keyId, ...pair }
}

export type Refusal = 'missing' | 'unknown key' | 'expired' | 'bad signature'

/** Returns undefined if the request is signed correctly. The path has neither host nor query. */
export type SignatureCheck = (
  headers: IncomingHttpHeaders,
  method: string,
  path: string,
) => Refusal | undefined

export function createSignatureCheck(options: {
  account: KalshiAccount
  now: () => number
  toleranceMs: number
}): SignatureCheck {
  const key = createPublicKey(options.account.publicKey)
  return (headers, method, path) => {
    const [id, signature, time] = ['key', 'signature', 'timestamp'].map(
      (name) => headers[`kalshi-access-${name}`],
    )
    if (typeof id !== 'string' || typeof signature !== 'string' || typeof time !== 'string') return 'missing'
    if (id !== options.account.keyId) return 'unknown key'
    if (!/^\d{13}$/.test(time) || Math.abs(options.now() - Number(time)) > options.toleranceMs)
      return 'expired'
    const isGood = verify(
      'sha256',
      Buffer.from(`${time}${method}${path}`),
      { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
      Buffer.from(signature, 'base64'),
    )
    return isGood ? undefined : 'bad signature'
  }
}

const CODES: Record<Refusal, { code: string; message: string }> = {
  missing: { code: 'missing_parameters', message: 'missing authentication headers' },
  'unknown key': { code: 'authentication_error', message: 'NOT_FOUND' },
  expired: { code: 'header_timestamp_expired', message: 'header timestamp is expired' },
  'bad signature': { code: 'authentication_error', message: 'INCORRECT_API_KEY_SIGNATURE' },
}

export const refusalBody = (refusal: Refusal): unknown => ({
  error: { ...CODES[refusal], details: refusal, service: 'auth' },
})
