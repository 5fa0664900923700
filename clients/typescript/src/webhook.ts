import { WebhookSignatureError } from './errors.ts'
import { parseJson } from './exact-json.ts'
import type { ChainEvent } from './generated.ts'

/** As the runtime gives them: an object (Node) or `Headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

const PREFIX = 'whsec_'
const TOLERANCE_S = 300

/**
 * Returns the events of a delivery (one, or several of a batch), or throws a `WebhookSignatureError`. `body` must be
 * the bytes as they arrived. The signature covers id, time and body, so an old delivery that somebody replays is
 * refused too.
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string,
  options: { toleranceSeconds?: number; nowMs?: number } = {},
): Promise<ChainEvent[]> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  )
  if (id === undefined || timestamp === undefined || signatures === undefined)
    throw new WebhookSignatureError('webhook-id, webhook-timestamp or webhook-signature is missing.')
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + bytes.length)
  signed.set(head)
  signed.set(bytes, head.length)
  const key = await crypto.subtle.importKey(
    'raw',
    keyBytes(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  )
  let isSigned = false
  for (const each of signatures.split(' ')) {
    const [version, text = ''] = each.split(',')
    const signature = version === 'v1' ? fromBase64(text) : undefined
    if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, signed)))
      isSigned = true
  }
  if (!isSigned) throw new WebhookSignatureError('The signature does not fit the body and the secret.')
  const ageS = Math.abs((options.nowMs ?? Date.now()) / 1_000 - Number(timestamp))
  if (!(ageS <= (options.toleranceSeconds ?? TOLERANCE_S)))
    throw new WebhookSignatureError('The delivery is too old, or the clock is wrong.')
  const value = parseJson(new TextDecoder().decode(bytes))
  return (Array.isArray(value) ? value : [value]) as ChainEvent[]
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found : found?.[0]
}

function keyBytes(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : undefined
  if (bytes === undefined || bytes.length === 0) throw new TypeError('The secret is whsec_ and base64.')
  return bytes
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
