import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { textField, timeField } from '../../../core/rows/fields.ts'
import { formatTime } from '../../../core/time.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, webhookId } from './webhook-record.ts'

export const rotateSecret = endpoint({
  path: 'POST /v1/webhooks/{id}/rotate',
  doc: {
    tag: 'webhooks',
    summary: 'Give a webhook a new signing secret',
    description:
      'The old secret goes on signing beside the new one for 24 hours: in X-Svc-Signature-Previous and in the Standard Webhooks header. Another rotation within this time replaces the new secret and leaves the old one and its time as they are.',
  },
  access: WEBHOOK_ACCESS,
  params: { id: webhookId },
  cost: noCredits,
  returns: object(
    'RotatedSecret',
    Type.Object({
      id: textField('Id of the webhook.'),
      secret: textField('The new signing secret; shown once.'),
      previous_valid_until: timeField('Until when the old secret signs too.'),
      credits_used: CreditsUsed,
    }),
  ),
  errors: ['not_found'],
  run: async ({ services, caller, input }) => {
    const rotated = await services.webhooks.subscriptions.rotate(caller.accountId, input.id)
    return {
      kind: 'object',
      value: {
        id: input.id,
        secret: rotated.secret,
        previous_valid_until: formatTime(rotated.previousUntilMs),
        credits_used: 0,
      },
    }
  },
})
