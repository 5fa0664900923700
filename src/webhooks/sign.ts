import { createHmac, randomBytes } from 'node:crypto'

/**
 * Every delivery is signed twice over the same raw body: our own header (hex, key = the secret's whole text)
 * and the Standard Webhooks set (base64, key = the decoded bytes behind `whsec_`). During a rotation the old
 * secret signs too.
 */
export const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32
/** How long the replaced secret goes on signing. */
export const ROTATION_OVERLAP_MS = 24 * 3_600_000

export interface Secrets {
  readonly current: string
  readonly previous: string | null
}

export function newSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

export function svcSignature(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

export function standardSignature(secret: string, id: string, timestampS: number, body: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`
}

export function signatureHeaders(
  secrets: Secrets,
  delivery: { id: string; timestampS: number; body: string },
): Record<string, string> {
  const { id, timestampS, body } = delivery
  const { current, previous } = secrets
  const standard = [standardSignature(current, id, timestampS, body)]
  if (previous !== null) standard.push(standardSignature(previous, id, timestampS, body))
  return {
    'X-Svc-Signature': svcSignature(current, body),
    ...(previous === null ? {} : { 'X-Svc-Signature-Previous': svcSignature(previous, body) }),
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': standard.join(' '),
  }
}
