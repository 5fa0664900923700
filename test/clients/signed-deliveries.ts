import { randomBytes } from 'node:crypto'
import { createWebhookSigner, newSecret } from '../../src/webhooks/sign.ts'

/** Deliveries as the service signs them, in the middle of a rotation. */
export function signedDeliveries(timestamp = 1_781_092_800) {
  const [current, previous, other] = Array.from({ length: 3 }, () => newSecret(randomBytes)) as [
    string,
    string,
    string,
  ]
  const signer = createWebhookSigner({ current, previous })
  const body = '{"id":"evt_1","seq":9007199254740993,"kind":"block_added","data":{"text":"grüße ✓"}}'
  const batchBody = `[${body},${body}]`
  return {
    current,
    previous,
    other,
    timestamp,
    body,
    headers: signer.headers({ id: 'dlv_1', timestampS: timestamp, body }),
    batch: {
      body: batchBody,
      headers: signer.headers({ id: 'dlv_2', timestampS: timestamp, body: batchBody }),
    },
  }
}
