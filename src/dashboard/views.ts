import type { AccountRecord, Accounts, KeyRecord, UsageRow } from '../accounts/accounts.ts'
import type { NoticeRecord } from '../accounts/notices.ts'
import { ENVIRONMENTS } from '../core/environment.ts'
import type { Plan } from '../core/plan.ts'
import { formatTime } from '../core/time.ts'
import { deliveryFields, type FullDelivery } from '../webhooks/deliveries.ts'
import type {
  AccountView,
  BalanceView,
  DeliveryView,
  KeyView,
  NoticeView,
  PlanView,
  UsageRowView,
} from './wire.ts'

/** How records are shown. Views contain no credentials: no hash, no token, no secret. */
export function accountView(account: AccountRecord): AccountView {
  const { id, email, plan, pausedReason, createdAtMs } = account
  return { id, email, plan, paused_reason: pausedReason, created_at: formatTime(createdAtMs) }
}

export function keyView(key: KeyRecord): KeyView {
  return {
    id: key.id,
    name: key.name,
    environment: key.environment,
    hint: key.hint,
    scopes: key.scopes,
    allowed_cidrs: key.allowedCidrs,
    credit_cap: key.creditCap,
    created_at: formatTime(key.createdAtMs),
    last_used_at: isoOrNull(key.lastUsedAtMs),
    expires_at: isoOrNull(key.expiresAtMs),
    replaced_by: key.replacedBy,
    revoked_at: isoOrNull(key.revokedAtMs),
  }
}

export function planView(plan: Plan): PlanView {
  return {
    name: plan.name,
    tier: plan.tier,
    credits_per_month: plan.creditsPerMonth,
    requests_per_second: plan.requestsPerSecond,
    finest_candle: plan.finestCandle,
    candle_days: plan.historyDays.candles,
    webhooks: plan.webhookSubscriptions,
  }
}

export function usageRowView(row: UsageRow): UsageRowView {
  const { day, environment, endpoint, keyId: key_id, requests, credits, rows, failed } = row
  return {
    day,
    environment,
    endpoint,
    key_id,
    requests,
    credits,
    rows,
    failed,
    rate_limited: row.rateLimited,
  }
}

export function deliveryView(delivery: FullDelivery): DeliveryView {
  return {
    ...deliveryFields(delivery),
    request: { ...delivery.request, headers: [...delivery.request.headers] },
    response: delivery.response && { ...delivery.response, headers: [...delivery.response.headers] },
  }
}

export function noticeView({ id, kind, title, text, ...notice }: NoticeRecord): NoticeView {
  return {
    id,
    kind,
    title,
    text,
    starts_at: formatTime(notice.startsAtMs),
    ends_at: isoOrNull(notice.endsAtMs),
    updated_at: formatTime(notice.updatedAtMs),
  }
}

export function balanceViews(accounts: Accounts, account: AccountRecord): Promise<BalanceView[]> {
  return Promise.all(
    ENVIRONMENTS.map(async (environment) => {
      const { used, limit, remaining, resetsAtMs } = await accounts.balance(account, environment)
      return { environment, used, limit, remaining, resets_at: formatTime(resetsAtMs) }
    }),
  )
}

function isoOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : formatTime(timeMs)
}
