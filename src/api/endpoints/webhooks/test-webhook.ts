import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import {
  flagField,
  integerField,
  nullableIntegerField,
  nullableTextField,
  textField,
} from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, webhookId } from './webhook-record.ts'

export const testWebhook = endpoint({
  path: 'POST /v1/webhooks/{id}/test',
  doc: {
    tag: 'webhooks',
    summary: 'Send a sample event now',
    description:
      "Sends one event of the webhook's first kind, signed like any other, with seq 0 and an id that begins evt_test. The answer tells what the receiver said.",
  },
  access: WEBHOOK_ACCESS,
  params: { id: webhookId },
  cost: noCredits,
  returns: object(
    'WebhookTest',
    Type.Object({
      id: textField('Id of the webhook.'),
      delivery_id: textField('Id of the delivery, as in X-Svc-Delivery.'),
      event_id: textField('Id of the sample event.'),
      delivered: flagField('Whether the receiver answered 2xx in time.'),
      status: nullableIntegerField('HTTP status of the answer; null without one.'),
      error: nullableTextField('What was wrong.'),
      duration_ms: integerField('How long it took.'),
      credits_used: CreditsUsed,
    }),
  ),
  errors: ['not_found'],
  run: async ({ services, caller, input }) => {
    const attempt = await services.webhooks.subscriptions.test(caller.accountId, input.id)
    const { delivered, status, error, durationMs } = attempt
    return {
      kind: 'object',
      value: {
        id: input.id,
        delivery_id: attempt.id,
        event_id: attempt.eventId,
        delivered,
        status,
        error,
        duration_ms: durationMs,
        credits_used: 0,
      },
    }
  },
})
