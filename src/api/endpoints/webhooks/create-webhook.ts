import { type Static, Type } from 'typebox'
import { flat } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'
import {
  Addresses,
  Batch,
  baseBody,
  CreditsUsed,
  Kinds,
  maxSelectionBytes,
  ownerOf,
  WEBHOOK_ACCESS,
  webhookFaults,
  webhookFields,
} from './webhook-record.ts'

const CREATE_CREDITS = 10
const EXAMPLE_URL = 'https://example.com/hook'

const NewWebhook = Type.Object(
  {
    url: Type.String({
      maxLength: 2_048,
      description: 'HTTPS address of the receiver; port 443 or 1024 and above.',
    }),
    kinds: Kinds,
    addresses: Type.Optional(Addresses),
    batch: Type.Optional(Batch),
  },
  { additionalProperties: false },
)

export const createWebhook = endpoint({
  path: 'POST /v1/webhooks',
  doc: {
    tag: 'webhooks',
    summary: 'Create a webhook',
    description: 'The secret that signs its deliveries is shown in this answer and never again.',
  },
  access: WEBHOOK_ACCESS,
  body: {
    name: 'NewWebhook',
    schema: NewWebhook,
    example: ({ address }) =>
      address === undefined
        ? { url: EXAMPLE_URL, kinds: ['virtual_chain_changed'] }
        : { url: EXAMPLE_URL, kinds: ['utxos_changed'], addresses: [address] },
    maxBytes: maxSelectionBytes,
    otherFaults: webhookFaults,
  },
  cost: flat(CREATE_CREDITS),
  returns: object(
    'CreatedWebhook',
    Type.Object({
      ...webhookFields,
      secret: textField('Signing secret; shown once.'),
      credits_used: CreditsUsed,
    }),
    201,
  ),
  run: async ({ services, caller, body, once }) => {
    const { url, kinds, addresses = [], batch = false } = body as Static<typeof NewWebhook>
    const asked = { url, kinds, addresses, batch }
    const created = await services.webhooks.subscriptions.create(ownerOf(caller), asked, once)
    return {
      kind: 'object',
      status: 201,
      value: { ...baseBody(created.subscription), secret: created.secret, credits_used: CREATE_CREDITS },
      headers: [['Location', `/v1/webhooks/${created.subscription.id}`]],
    }
  },
})
