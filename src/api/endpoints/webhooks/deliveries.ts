import { Type } from 'typebox'
import { noCredits } from '../../../contract/costs.ts'
import { wrappedList } from '../../../contract/endpoint.ts'
import { previewAnswer, wrappedPage } from '../../../contract/envelopes.ts'
import { cursorPage } from '../../../contract/params.ts'
import type { CursorPlace } from '../../../core/cursor.ts'
import {
  constantsField,
  integerField,
  nullableIntegerField,
  nullableTextField,
  nullableTimeField,
  textField,
  timeField,
} from '../../../core/rows/fields.ts'
import { deliveryFields } from '../../../webhooks/deliveries.ts'
import { otherCursor } from '../other-cursor.ts'
import { endpoint } from '../services.ts'
import { CreditsUsed, WEBHOOK_ACCESS, webhookId } from './webhook-record.ts'

const Delivery = Type.Object({
  id: textField('Id of the delivery, as in X-Svc-Delivery.'),
  event_id: textField('Id of the event.'),
  seq: integerField('Number of the event.'),
  kind: textField('Kind of the event.'),
  state: constantsField('failed: no further try will be made; a replay sends it again.', [
    'pending',
    'delivered',
    'failed',
  ]),
  attempts: integerField('Tries so far.'),
  last_status: nullableIntegerField('HTTP status of the last try; null without an answer.'),
  last_error: nullableTextField('What was wrong with the last try.'),
  last_attempt_at: nullableTimeField('When the last try ended.'),
  duration_ms: nullableIntegerField('How long the last try took.'),
  next_attempt_at: nullableTimeField('When the next try is due.'),
  created_at: timeField('When the delivery was planned.'),
})

export const deliveries = endpoint({
  path: 'GET /v1/webhooks/{id}/deliveries',
  doc: {
    tag: 'webhooks',
    summary: 'Deliveries of a webhook, newest first',
    description: 'Pending ones, and those of the last seven days.',
  },
  access: WEBHOOK_ACCESS,
  params: {
    id: webhookId,
    ...cursorPage('Deliveries per page.', { default: 50, max: 200 }),
  },
  cost: noCredits,
  returns: wrappedList('Delivery', Delivery, {
    name: 'Deliveries',
    schema: Type.Object({
      id: textField('Id of the webhook.'),
      deliveries: Type.Array(Delivery, { description: 'Newest first.' }),
      next_cursor: nullableTextField('Pass it as cursor to get the next page; null on the last.'),
      credits_used: CreditsUsed,
    }),
    cursor: 'cursor',
  }),
  errors: ['not_found'],
  run: async ({ services, caller, input, rowLimit, dryRun }) => {
    const { id, cursor } = input
    const { cursors } = services.chain
    const binding = `/v1/webhooks/${id}/deliveries`
    const before = cursor === undefined ? {} : { before: readCursor(cursors.decode(binding, cursor)) }
    const rows = await services.webhooks.subscriptions.deliveries(caller.accountId, id, {
      limit: rowLimit + 1,
      ...before,
    })
    const page = rows.slice(0, rowLimit)
    if (dryRun) return previewAnswer(page.length, false)
    const last = page.at(-1)
    const hasMore = rows.length > rowLimit
    const next = hasMore && last !== undefined ? cursors.encode(binding, [last.place]) : null
    return wrappedPage({
      rows: page.map((record) => JSON.stringify(deliveryFields(record))),
      head: `{"id":${JSON.stringify(id)},"deliveries":[`,
      tail: `],"next_cursor":${JSON.stringify(next)},"credits_used":0}`,
      hasMore,
      nextCursor: next,
    })
  },
})

function readCursor(place: CursorPlace | undefined): string {
  const [before] = place ?? []
  if (typeof before === 'string') return before
  throw otherCursor('the deliveries of this webhook')
}
