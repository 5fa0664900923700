import { type Static, Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { flagField } from '../../../core/rows/fields.ts'
import { StoreUnavailableError } from '../../../core/store-unavailable.ts'
import { endpoint } from '../services.ts'
import {
  Addresses,
  Batch,
  CreditsUsed,
  Kinds,
  maxSelectionBytes,
  ownerOf,
  WEBHOOK_ACCESS,
  WebhookSchema,
  webhookBody,
  webhookFaults,
  webhookId,
} from './webhook-record.ts'

const WebhookChange = Type.Object(
  {
    active: Type.Optional(
      flagField('Off stops deliveries; on starts them, also after the service switched it off.'),
    ),
    kinds: Type.Optional(Kinds),
    addresses: Type.Optional(Addresses),
    batch: Type.Optional(Batch),
  },
  { additionalProperties: false, minProperties: 1 },
)

export const patchWebhook = endpoint({
  path: 'PATCH /v1/webhooks/{id}',
  doc: {
    tag: 'webhooks',
    summary: 'Change a webhook',
    description: 'What is left out stays as it is. The url and the secret are not changed here.',
  },
  access: WEBHOOK_ACCESS,
  params: { id: webhookId },
  body: {
    name: 'WebhookChange',
    schema: WebhookChange,
    example: { active: true },
    maxBytes: maxSelectionBytes,
    otherFaults: webhookFaults,
  },
  cost: noCredits,
  returns: object('ChangedWebhook', Type.Object({ ...WebhookSchema.properties, credits_used: CreditsUsed })),
  errors: ['not_found'],
  run: async ({ services: { webhooks }, caller, input, body }) => {
    const change = body as Static<typeof WebhookChange>
    const record = await webhooks.subscriptions.patch(ownerOf(caller), input.id, change)
    // The change has been made, and an error now would suggest that it has not.
    const paused = await webhooks.pauseOf(record).catch((error) => {
      if (!(error instanceof StoreUnavailableError)) throw error
      return undefined
    })
    return { kind: 'object', value: { ...webhookBody(record, paused), credits_used: 0 } }
  },
})
