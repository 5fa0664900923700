import { Type } from 'typebox'
import { noCredits } from '../../contract/costs.ts'
import { wrappedList } from '../../contract/endpoint.ts'
import { wrappedPage } from '../../contract/envelopes.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, Webhook, webhookBody } from './webhook-record.ts'

export const listWebhooks = endpoint({
  path: 'GET /v1/webhooks',
  doc: {
    tag: 'webhooks',
    summary: 'The webhooks of the account',
  },
  access: WEBHOOK_ACCESS,
  cost: noCredits,
  returns: wrappedList('Webhook', Webhook, {
    name: 'Webhooks',
    schema: Type.Object({
      webhooks: Type.Array(Webhook, { description: 'Oldest first.' }),
      credits_used: CreditsUsed,
    }),
    cursor: null,
  }),
  run: async ({ services: { webhooks }, caller }) => {
    const records = await webhooks.subscriptions.list(caller.accountId)
    const shown = records.map((record) => webhookBody(record, webhooks.pauseOf(record.id)))
    return wrappedPage({
      rows: shown.map((webhook) => JSON.stringify(webhook)),
      head: '{"webhooks":[',
      tail: '],"credits_used":0}',
    })
  },
})
