import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { RandomBytes } from '../kit/random.ts'

/**
 * Every delivery is signed twice over the same raw body: in our own header (hex; the key is the whole text of the
 * secret) and in the Standard Webhooks headers (base64; the key is the decoded bytes after `whsec_`). During a rotation
 * the old secret signs as well.
 */
const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32
/** How long the replaced secret continues to sign. */
export const ROTATION_OVERLAP_MS = 24 * 3_600_000

export interface SigningSecrets {
  readonly current: string
  readonly previous: string | null
}

export function newSecret(randomBytes: RandomBytes): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

export interface WebhookSigner {
  /** The headers that authenticate a body. */
  headers(delivery: { id: string; timestampS: number; body: Buffer | string }): Record<string, string>
}

/** Derives the keys once for all deliveries to a receiver. */
export function createWebhookSigner({ current, previous }: SigningSecrets): WebhookSigner {
  const keys = keysOf(current)
  const older = previous === null ? undefined : keysOf(previous)
  return {
    headers({ id, timestampS, body }) {
      const stamp = `${id}.${timestampS}.`
      const signatures = [keys, ...(older === undefined ? [] : [older])].map(
        ({ standard }) => `v1,${hmac(standard, 'base64', stamp, body)}`,
      )
      return {
        'X-Svc-Signature': `sha256=${hmac(keys.svc, 'hex', body)}`,
        ...(older === undefined
          ? {}
          : { 'X-Svc-Signature-Previous': `sha256=${hmac(older.svc, 'hex', body)}` }),
        'webhook-id': id,
        'webhook-timestamp': String(timestampS),
        'webhook-signature': signatures.join(' '),
      }
    },
  }
}

function keysOf(secret: string): { svc: KeyObject; standard: KeyObject } {
  return {
    svc: createSecretKey(secret, 'utf8'),
    standard: createSecretKey(secret.slice(SECRET_PREFIX.length), 'base64'),
  }
}

function hmac(key: KeyObject, encoding: 'hex' | 'base64', ...parts: (Buffer | string)[]): string {
  const sum = createHmac('sha256', key)
  for (const part of parts) sum.update(part)
  return sum.digest(encoding)
}
