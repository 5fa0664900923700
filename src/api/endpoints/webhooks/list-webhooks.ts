import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import type { CursorPlace } from '../../../core/cursor.ts'
import { nullableTextField } from '../../../core/rows/fields.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import type { SubscriptionPlace } from '../../../store/jobs.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, WebhookSchema, webhookBody } from './webhook-record.ts'

export const listWebhooks = endpoint({
  path: 'GET /v1/webhooks',
  doc: {
    tag: 'webhooks',
    summary: 'The webhooks of the account',
    description:
      'Oldest first. A page holds up to 10,000 addresses: it ends before the webhook that would exceed them, and always has one.',
  },
  access: WEBHOOK_ACCESS,
  params: {
    // As many as the largest built-in plan allows; with few addresses each, they fit on one page.
    ...cursorPage('Webhooks per page.', { default: 250, max: 250 }),
  },
  cost: noCredits,
  returns: wrappedList('Webhook', WebhookSchema, {
    name: 'Webhooks',
    schema: Type.Object({
      webhooks: Type.Array(WebhookSchema, { description: 'Oldest first.' }),
      next_cursor: nullableTextField('Pass it as cursor to get the next page; null on the last.'),
      credits_used: CreditsUsed,
    }),
    cursor: 'cursor',
  }),
  run: async ({ services, caller, input, rowLimit, dryRun }) => {
    const { webhooks, chain } = services
    const binding = `/v1/webhooks of ${caller.accountId}`
    const { cursor } = input
    const from = cursor === undefined ? {} : { after: readCursor(chain.cursors.decode(binding, cursor)) }
    const page = await webhooks.subscriptions.list(caller.accountId, { limit: rowLimit, ...from })
    if (dryRun) return previewAnswer(page.records.length, false)
    const rows: string[] = []
    for (const record of page.records) {
      rows.push(JSON.stringify(webhookBody(record, await webhooks.pauseOf(record))))
      // Thousands of addresses take milliseconds, so other requests run in between.
      await nextTurn()
    }
    const { next } = page
    const nextCursor = next === undefined ? null : chain.cursors.encode(binding, [next.createdAtMs, next.id])
    return wrappedPage({
      rows,
      head: '{"webhooks":[',
      tail: `],"next_cursor":${JSON.stringify(nextCursor)},"credits_used":0}`,
      hasMore: nextCursor !== null,
      nextCursor,
    })
  },
})

function readCursor(place: CursorPlace | undefined): SubscriptionPlace {
  const [createdAtMs, id] = place ?? []
  if (typeof createdAtMs === 'number' && typeof id === 'string') return { createdAtMs, id }
  throw otherCursor('the webhooks of this account')
}
