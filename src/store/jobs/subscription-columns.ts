import type { SubscriptionRecord } from '../jobs.ts'

/** The column of every field of a subscription, the same in all SQL engines. */
export const SUBSCRIPTION_COLUMNS = {
  id: 'id',
  accountId: 'account_id',
  keyId: 'key_id',
  url: 'url',
  kinds: 'kinds',
  addresses: 'addresses',
  batch: 'batch',
  active: 'active',
  disabledReason: 'disabled_reason',
  disabledAtMs: 'disabled_at',
  createdAtMs: 'created_at',
  secret: 'secret',
  previousSecret: 'previous_secret',
  previousUntilMs: 'previous_until',
  failingSinceMs: 'failing_since',
  lastSuccessAtMs: 'last_success_at',
} as const satisfies Record<keyof SubscriptionRecord, string>
