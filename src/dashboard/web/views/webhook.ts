export interface WebhookSummary {
  id: string
  url: string
  kinds: string[]
  addresses: string[]
  batch: boolean
  active: boolean
  created_at: string
  disabled_reason: string | null
  paused_reason: string | null
  failing_since: string | null
  last_success_at: string | null
}

export interface CreatedWebhook {
  id: string
  secret: string
}
