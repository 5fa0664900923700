import { Type } from 'typebox'
import { type Caller, type EndpointAccess, MAX_REQUEST_BODY_BYTES } from '../../../contract/endpoint.ts'
import { text } from '../../../contract/params.ts'
import type { Plan } from '../../../core/plan.ts'
import {
  flagField,
  integerField,
  nullableTextField,
  nullableTimeField,
  textField,
  timeField,
} from '../../../core/rows/fields.ts'
import { formatTime } from '../../../core/time.ts'
import { EVENT_KINDS } from '../../../events/kinds.ts'
import type { SubscriptionRecord } from '../../../store/jobs.ts'
import { DELIVERY_PAUSE_REASONS } from '../../../webhooks/credits.ts'
import { DISABLE_REASONS } from '../../../webhooks/disable.ts'
import type { Services } from '../services.ts'

/** Shared by the webhook endpoints: access, the id in the path, and the rendering of a subscription. */
export const WEBHOOK_ACCESS: Partial<EndpointAccess> = { scope: 'webhooks', tier: 'pro', feature: 'webhooks' }

export const webhookId = text('Id of the webhook.', {
  pattern: /^wh_[0-9a-f]{20}$/,
  expected: 'the id of a webhook, such as wh_0123456789abcdef0123',
})

export const CreditsUsed = integerField('Credits that this call cost.')

/** The values are checked together with those of the stream, where errors suggest the nearest name. */
export const Kinds = Type.Array(Type.String({ 'x-enum': EVENT_KINDS, description: 'A kind of event.' }), {
  maxItems: 50,
  description: 'Kinds of events.',
})
export const Addresses = Type.Array(textField('An address of the chain.'), {
  maxItems: 100_000,
  description: 'Addresses that narrow the kinds which have some; needed for utxos_changed.',
})
export const Batch = flagField(
  'Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.',
)

export const webhookFields = {
  id: textField('Id of the webhook.'),
  url: textField('Where deliveries go.'),
  kinds: Kinds,
  addresses: Addresses,
  batch: Batch,
  active: flagField('Whether events are delivered.'),
  created_at: timeField('When it was created.'),
}

export const WebhookSchema = Type.Object({
  ...webhookFields,
  disabled_reason: nullableTextField(
    `Why the service switched it off: ${Object.keys(DISABLE_REASONS).join(', ')}; null while it did not.`,
  ),
  disabled_at: nullableTimeField('When the service switched it off.'),
  paused_reason: nullableTextField(
    `Why deliveries wait: ${DELIVERY_PAUSE_REASONS.join(', ')}; null while they do not, and while it is off.`,
  ),
  failing_since: nullableTimeField('First failure or pause since the last success.'),
  last_success_at: nullableTimeField('When the last delivery was taken.'),
})

/** More than an address with its quotes and comma. The rest of the body has the limit of any other body. */
const ADDRESS_BYTES = 80

/** Enough for as many addresses as the plan allows. */
export function maxSelectionBytes(plan: Plan): number {
  return MAX_REQUEST_BODY_BYTES + plan.webhookAddresses * ADDRESS_BYTES
}

export function baseBody(record: SubscriptionRecord) {
  const { id, url, kinds, addresses, batch, active, createdAtMs } = record
  return { id, url, kinds, addresses, batch, active, created_at: formatTime(createdAtMs) }
}

export function webhookBody(record: SubscriptionRecord, pausedReason: string | undefined) {
  return {
    ...baseBody(record),
    disabled_reason: record.disabledReason,
    disabled_at: timeTextOrNull(record.disabledAtMs),
    paused_reason: pausedReason ?? null,
    failing_since: timeTextOrNull(record.failingSinceMs),
    last_success_at: timeTextOrNull(record.lastSuccessAtMs),
  }
}

function timeTextOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : formatTime(timeMs)
}

export function ownerOf({ accountId, keyId, plan }: Caller) {
  return { accountId, keyId, plan }
}

/** The faults that the schema does not find: unknown kinds, wrong addresses, a refused target. */
export function webhookFaults(body: object, { webhooks }: Pick<Services, 'webhooks'>, plan: Plan) {
  return webhooks.subscriptions.faultsOf(plan, body as Record<string, unknown>)
}
