/** The messages between the page and the server. Types only, because the page imports nothing else from the server. */
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
  /** Which settings to change if nothing is recorded or no node is connected. */
  idle: Record<EnvironmentName, { market: string | null; chain: string | null }>
  user: { email: string; role: 'operator' | 'customer' } | null
  account: AccountView | null
  plan: PlanView | null
  /** The operator's current notices. */
  notices: NoticeView[]
  /** The smallest plan with webhooks; null if no plan has them. */
  webhook_plan: Pick<PlanView, 'name' | 'tier'> | null
}

/** The first answer to a page: the session and what the page shows first. */
export interface StartView {
  session: SessionView
  /** The environment of the views. */
  environment: EnvironmentName
  /** `value` is the body of the view, as JSON text. */
  views: { path: string; price: number; value: string }[]
  /** The day's free views in credits, and what is left of them; null for a visitor. */
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
  /** The key that a rotation created to replace this one. */
  replaced_by: string | null
  revoked_at: string | null
}

export interface CreatedKeyView {
  /** The clear text, which appears in this answer and nowhere else. */
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
  /** The first day that has rows, if the range has more rows than are shown. */
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

/** One delivery, as returned by `GET webhooks/{environment}/{id}/deliveries/{delivery}`. */
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
  /** The request of the last attempt. */
  request: {
    url: string
    headers: HeaderView[]
    /** The event as it was sent (in a batch, its element of the array); null if it is no longer stored. */
    body: { text: string; bytes: number; truncated: boolean } | null
  }
  /** The beginning of the last answer; null if there was none. */
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

/** The expected events of a kind per day and their cost, as returned by `GET webhooks/{environment}/expected`. */
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

/** A link to reset a user's password. Its token appears in this answer and nowhere else. */
export interface ResetLinkView {
  email: string
  token: string
  expires_at: string
}

/** Whether a link to choose a password works, and for whom. */
export interface LinkView {
  valid: boolean
  email: string | null
  /** Whether the user was invited and chooses the first password. */
  first: boolean
}

/** A new account, and the link with which its first user chooses a password. */
export interface CreatedAccountView {
  account: AccountView
  link: ResetLinkView
}

/** An incident or maintenance, as written by the operator. */
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

/** Calls of an account in the last 24 hours, as seen by one process. */
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
    /** Null if the disk belongs to another server. */
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
  /** The last backup of this process's data folder; null before the first one. */
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
