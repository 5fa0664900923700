import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, WebhookSchema, webhookBody, webhookId } from './webhook-record.ts'

export const getWebhook = endpoint({
  path: 'GET /v1/webhooks/{id}',
  doc: { tag: 'webhooks', summary: 'One webhook', description: 'The secret is shown at creation only.' },
  access: WEBHOOK_ACCESS,
  params: { id: webhookId },
  cost: noCredits,
  returns: object('FoundWebhook', Type.Object({ ...WebhookSchema.properties, credits_used: CreditsUsed })),
  errors: ['not_found'],
  run: async ({ services: { webhooks }, caller, input }) => {
    const record = await webhooks.subscriptions.find(caller.accountId, input.id)
    return {
      kind: 'object',
      value: { ...webhookBody(record, await webhooks.pauseOf(record)), credits_used: 0 },
    }
  },
})
