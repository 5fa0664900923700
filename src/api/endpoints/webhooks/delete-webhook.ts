import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, webhookId } from './webhook-record.ts'

export const deleteWebhook = endpoint({
  path: 'DELETE /v1/webhooks/{id}',
  doc: {
    tag: 'webhooks',
    summary: 'Remove a webhook, with everything that waits for it',
  },
  access: WEBHOOK_ACCESS,
  params: { id: webhookId },
  cost: noCredits,
  returns: object(
    'DeletedWebhook',
    Type.Object({
      id: textField('Id of the webhook.'),
      deleted: Type.Literal(true, { description: 'It is gone.' }),
      credits_used: CreditsUsed,
    }),
  ),
  errors: ['not_found'],
  run: async ({ services, caller, input }) => {
    await services.webhooks.subscriptions.remove(caller.accountId, input.id)
    return { kind: 'object', value: { id: input.id, deleted: true, credits_used: 0 } }
  },
})
