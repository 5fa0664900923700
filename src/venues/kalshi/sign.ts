/** Signs requests with RSA-PSS over time, method and path; the salt is as long as the digest. */
import { constants, createPrivateKey, sign } from 'node:crypto'
import type { Fetch } from '../rest/http.ts'
import type { VenueNotice } from '../venue.ts'

export interface KalshiCredentials {
  readonly keyId: string
  /** PEM. */
  readonly privateKey: string
}

type RequestSigner = ReturnType<typeof createRequestSigner>

function createRequestSigner(credentials: KalshiCredentials, now: () => number) {
  const key = createPrivateKey(credentials.privateKey)
  if (key.asymmetricKeyType !== 'rsa') throw new TypeError('the private key is not an RSA key')
  return {
    /** `path` starts at the root of the host and has no query. */
    headers(method: string, path: string): Record<string, string> {
      const timestamp = String(now())
      const signature = sign('sha256', Buffer.from(timestamp + method + path), {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      })
      return {
        'KALSHI-ACCESS-KEY': credentials.keyId,
        'KALSHI-ACCESS-SIGNATURE': signature.toString('base64'),
        'KALSHI-ACCESS-TIMESTAMP': timestamp,
      }
    },
  }
}

/**
 * Signs a request only after the venue refused it unsigned. Market data is public, and a key that the venue rejects
 * must not prevent access to it.
 */
export function signedWhereAsked(fetch: Fetch, signer: RequestSigner): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.status !== 401) return response
    for await (const _ of response.body ?? []) break
    const signature = signer.headers(init.method, new URL(url).pathname)
    return fetch(url, { ...init, headers: { ...init.headers, ...signature } })
  }
}

const COST =
  'books are polled over REST instead of streamed: every 5 s for quarter-hour contracts, every 45 s for the others'

/** Shown while the venue answers the signature with 401. */
export const REJECTED: VenueNotice = {
  venue: 'kalshi',
  code: 'credentials_rejected',
  line: `kalshi: the venue rejects the key (revoked, or this machine's clock is wrong), so its WebSocket stays closed and is tried again now and then; ${COST}`,
}

/**
 * Returns a signer if the credentials allow one, otherwise a notice for the operator. The key itself is never logged.
 */
export function signerOrNotice(
  credentials: Partial<KalshiCredentials> | undefined,
  now: () => number,
): { signer?: RequestSigner; notice?: VenueNotice } {
  const { keyId, privateKey } = credentials ?? {}
  if (keyId === undefined || keyId === '' || privateKey === undefined || privateKey === '') {
    const missing = [keyId ? '' : 'key id', privateKey ? '' : 'private key'].filter((part) => part !== '')
    const line = `kalshi: no ${missing.join(' and no ')} given, so its WebSocket stays closed; ${COST}`
    return { notice: { venue: 'kalshi', code: 'credentials_missing', line } }
  }
  try {
    return { signer: createRequestSigner({ keyId, privateKey }, now) }
  } catch {
    const line = `kalshi: the private key cannot be read as an RSA key in PEM, so its WebSocket stays closed; ${COST}`
    return { notice: { venue: 'kalshi', code: 'credentials_invalid', line } }
  }
}
