/** Proves that signatures verify with the official library and with ten lines of HMAC, and that rotations overlap. */
import assert from 'node:assert/strict'
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createWebhookSigner, newSecret, type SigningSecrets } from './sign.ts'

const BODY = JSON.stringify({ id: 'evt_1', seq: 1, kind: 'block_added', data: { text: 'grüße ✓' } })
const nowS = () => Math.floor(Date.now() / 1000)

function verifies(secret: string, body: string, header: string | undefined): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  const given = Buffer.from(header ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function signedHeaders(secrets: SigningSecrets, id: string): Record<string, string> {
  return createWebhookSigner(secrets).headers({ id, timestampS: nowS(), body: BODY })
}

test('the official library and the plain HMAC accept a delivery, and refuse it when one byte differs', () => {
  const secret = newSecret(randomBytes)
  const headers = signedHeaders({ current: secret, previous: null }, 'dlv_1')
  assert.deepEqual(new Webhook(secret).verify(BODY, headers), JSON.parse(BODY))
  assert.ok(verifies(secret, BODY, headers['X-Svc-Signature']))
  assert.throws(() => new Webhook(secret).verify(`${BODY} `, headers))
  assert.throws(() => new Webhook(newSecret(randomBytes)).verify(BODY, headers))
  assert.ok(!verifies(secret, `${BODY} `, headers['X-Svc-Signature']))
  assert.equal(headers['X-Svc-Signature-Previous'], undefined)
})

test('during a rotation a receiver with either secret accepts the same delivery', () => {
  const previous = newSecret(randomBytes)
  const current = newSecret(randomBytes)
  const headers = signedHeaders({ current, previous }, 'dlv_2')
  new Webhook(previous).verify(BODY, headers)
  new Webhook(current).verify(BODY, headers)
  assert.ok(verifies(current, BODY, headers['X-Svc-Signature']))
  assert.ok(verifies(previous, BODY, headers['X-Svc-Signature-Previous']))
})
