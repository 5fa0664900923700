/** The messages between the page and the server. Types only: the page imports nothing else of the server's. */
export type EnvironmentName = 'test' | 'live'

export interface PlanView {
  name: string
  tier: string
  credits_per_month: number
  requests_per_second: number
  finest_candle: string
  candle_days: number | null
  webhooks: number
}

export interface SessionView {
  csrf: string
  version: string
  sign_up: boolean
  /** Whether there is a public status page. */
  status_page: boolean
  environments: EnvironmentName[]
  /** Where nothing is recorded, or no node is connected: what to set. */
  idle: Record<EnvironmentName, { market: string | null; chain: string | null }>
  user: { email: string; role: 'operator' | 'customer' } | null
  account: AccountView | null
  plan: PlanView | null
  /** What the operator announces. */
  notices: NoticeView[]
  /** The smallest plan with webhooks; null where none has any. */
  webhook_plan: Pick<PlanView, 'name' | 'tier'> | null
}

/** The first answer to a page: the session, and what it shows first. */
export interface StartView {
  session: SessionView
  /** Where the views come from. */
  environment: EnvironmentName
  /** `value` is the body of the view, JSON in text. */
  views: { path: string; price: number; value: string }[]
  /** The free views of the day in credits, and what is left of them; null for a visitor. */
  allowance: (AllowanceView & { used_up: boolean }) | null
}

export interface AllowanceView {
  limit: number
  remaining: number
}

export interface AccountView {
  id: string
  email: string
  plan: string
  paused_reason: 'payment_past_due' | 'operator' | null
  created_at: string
}

export interface KeyView {
  id: string
  name: string
  environment: EnvironmentName
  hint: string
  scopes: string[] | null
  allowed_cidrs: string[] | null
  credit_cap: number | null
  created_at: string
  last_used_at: string | null
  expires_at: string | null
  /** The key that a rotation made instead of this one. */
  replaced_by: string | null
  revoked_at: string | null
}

export interface CreatedKeyView {
  /** The clear text: in this answer and nowhere else. */
  key: string
  record: KeyView
}

export interface BalanceView {
  environment: EnvironmentName
  used: number
  limit: number
  remaining: number
  resets_at: string
}

export interface UsageRowView {
  day: string
  environment: EnvironmentName
  endpoint: string
  key_id: string
  requests: number
  credits: number
  rows: number
  failed: number
  rate_limited: number
}

export interface UsageView {
  from: string
  to: string
  balances: BalanceView[]
  rows: UsageRowView[]
  /** The first day of which there are rows, where the range has more than are shown. */
  rows_from: string | null
  keys: { id: string; name: string }[]
}

export interface SourceStatusView {
  source: string
  status: 'healthy' | 'stale' | 'down'
  last_event_at: string | null
  lag_seconds: number | null
  rows_inserted: number
  gaps_24h: number
  backfill: number | null
  audit: { checked: number; differences: number }
  notice: string | null
  datasets: DatasetStatusView[]
}

export interface DatasetStatusView {
  dataset: string
  interval: string | null
  /** First and last observed instant; null before the first record. */
  from: string | null
  to: string | null
  /** The last 24 hours in equal parts: the share of each that was observed; null before the first record. */
  strip: (number | null)[]
}

export interface StatusView {
  environment: EnvironmentName
  status: 'ok' | 'degraded' | 'down'
  sources: SourceStatusView[]
  nodes: { name: string; state: string; synced: boolean; daa_score: number | null; lag: number | null }[]
  webhooks: { pending: number; oldest_pending_seconds: number }
  notice: string | null
}

/** One delivery, as `GET webhooks/{environment}/{id}/deliveries/{delivery}` gives it. */
export interface DeliveryView {
  id: string
  event_id: string
  seq: number
  kind: string
  state: 'pending' | 'delivered' | 'failed'
  attempts: number
  last_status: number | null
  last_error: string | null
  last_attempt_at: string | null
  duration_ms: number | null
  next_attempt_at: string | null
  created_at: string
  /** Of the last try. */
  request: {
    url: string
    headers: HeaderView[]
    /** The event as it was sent (in a batch: its part of the array); null when it is no longer stored. */
    body: { text: string; bytes: number; truncated: boolean } | null
  }
  /** How the last answer began; null without one. */
  response: { headers: HeaderView[]; body: string | null } | null
}

export interface HeaderView {
  name: string
  value: string
}

/** The answer to `POST webhooks/{environment}/{id}/deliveries/{delivery}/redeliver`. */
export interface RedeliveryView {
  delivery_id: string
  event_id: string
}

/** What a day of a kind of event brings and costs, as `GET webhooks/{environment}/expected` gives it. */
export interface ExpectedEventsView {
  kind: string
  events_per_day: number | null
  credits_per_day: number | null
  basis: 'measured' | 'declared' | 'addresses' | 'unknown'
}

export interface OperatorAccountView extends AccountView {
  users: string[]
  keys: number
  billing_customer: string | null
  balances: BalanceView[]
}

/** A link to reset the password of a user: its token is in this answer and nowhere else. */
export interface ResetLinkView {
  email: string
  token: string
  expires_at: string
}

/** Whether a link to choose a password works, and for whom. */
export interface LinkView {
  valid: boolean
  email: string | null
  /** The user was invited and chooses the first password. */
  first: boolean
}

/** A new account, and the link with which its first user chooses a password. */
export interface CreatedAccountView {
  account: AccountView
  link: ResetLinkView
}

/** An incident or maintenance, as the operator wrote it. */
export interface NoticeView {
  id: string
  kind: 'incident' | 'maintenance'
  title: string
  text: string
  starts_at: string
  ends_at: string | null
  updated_at: string
}

interface CallView {
  at: string
  request_id: string
  method: string
  target: string
  key_id: string
  environment: string
}

/** Calls of an account in the last 24 hours, as one process has seen them. */
export interface AccountCallsView {
  process: ProcessView
  failed: (CallView & { status: number; code: string; message: string; times: number })[]
  slowest: (CallView & { duration_ms: number })[]
}

export interface ProcessView {
  name: string
  started_at: string
}

/** What an operator looks at first. */
export interface OverviewView {
  version: string
  process: ProcessView
  environments: {
    environment: EnvironmentName
    status: 'ok' | 'degraded' | 'down'
    sources: number
    gaps_24h: number
    audit: { checked: number; differences: number }
    /** Sources in which the audit found differences. */
    differing: string[]
  }[]
  /** Null before the first measurement. */
  disk: {
    state: 'ok' | 'low'
    measured_at: string
    used_bytes: number
    /** Null where the disk is that of another server. */
    free_bytes: number | null
    min_free_bytes: number | null
    growth_bytes_per_day: number | null
    full_at: string | null
    parts: {
      environment: EnvironmentName | null
      part: string
      rows: number | null
      bytes: number
      growth_bytes_per_day: number | null
    }[]
  } | null
  /** Of the data folder of this process; null before the first one. */
  backup: {
    taken_at: string | null
    to: string | null
    bytes: number | null
    failed_at: string | null
    failure: string | null
  } | null
}

export interface AuditView {
  seq: number
  at: string
  actor: string
  action: string
  account_id: string | null
  detail: string
}
