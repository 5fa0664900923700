import { useState } from 'preact/hooks'
import type { EnvironmentName } from '../../wire.ts'
import { type Viewed, view } from '../api.ts'
import { ago, dateTime, planName, plural } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Badge, Button, Card, Empty, PageFrame, Problem } from '../ui/parts.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { type Column, Table } from '../ui/table.tsx'
import type { WebhookSummary } from './webhook.ts'
import { WebhookDetail } from './webhook-detail.tsx'
import { WebhookForm } from './webhook-form.tsx'

interface WebhookPage {
  webhooks: WebhookSummary[]
  next_cursor: string | null
}

export function WebhooksPage() {
  const { environment, session } = useSession()
  const hasWebhooks = session.plan?.webhooks !== 0
  const list = useLoad(
    async () => (hasWebhooks ? allWebhooks(environment) : undefined),
    [environment, hasWebhooks],
    hasWebhooks ? 3_000 : 0,
  )
  const [creating, setCreating] = useState(false)
  const [secret, setSecret] = useState<string>()
  const [openId, setOpenId] = useState<string>()
  const webhooks = list.value?.webhooks ?? []
  const columns: Column<WebhookSummary>[] = [
    {
      title: 'Receiver',
      cell: ({ id, url, created_at: createdAt }) => (
        <>
          <strong class="break">{url}</strong>
          <div class="muted tiny">
            {id} · {dateTime(createdAt)}
          </div>
        </>
      ),
    },
    {
      title: 'Events',
      class: 'muted',
      cell: ({ kinds, addresses }) =>
        kinds.join(', ') +
        (addresses.length > 0 ? ` · ${plural(addresses.length, 'address', 'addresses')}` : ''),
    },
    { title: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
    { title: 'Last success', cell: (webhook) => ago(webhook.last_success_at) },
    {
      cell: ({ id }) => (
        <Button look="small" onClick={() => setOpenId(id)}>
          Open
        </Button>
      ),
    },
  ]
  const open = webhooks.find(({ id }) => id === openId)
  return (
    <PageFrame
      title="Webhooks"
      lead="Chain events as signed POST requests: at least once, retried for more than a day."
      actions={
        <Button look="primary" disabled={!hasWebhooks} onClick={() => setCreating(true)}>
          Create webhook
        </Button>
      }
    >
      <Problem text={list.error} />
      {!hasWebhooks && (
        <Empty>
          <strong>
            {session.webhook_plan === null
              ? 'No plan of this service has webhooks'
              : `Webhooks come with the ${planName(session.webhook_plan)} plan`}
          </strong>
          <p class="muted">The live stream is there on every plan: see the explorer.</p>
        </Empty>
      )}
      {list.value && webhooks.length === 0 && (
        <Empty>
          <strong>No webhooks yet</strong>
          <p class="muted">Create one to be notified when addresses receive funds or blocks are added.</p>
        </Empty>
      )}
      {webhooks.length > 0 && (
        <Card class="flush">
          <Table columns={columns} rows={webhooks} idOf={({ id }) => id} />
        </Card>
      )}
      {hasWebhooks && <ApiCall path="/v1/webhooks" price={list.value?.price} />}
      {creating && (
        <Dialog title="Create a webhook" onClose={() => setCreating(false)} wide>
          <WebhookForm
            onSaved={(saved) => {
              setCreating(false)
              setSecret(saved.secret)
              list.reload()
            }}
          />
        </Dialog>
      )}
      {secret !== undefined && (
        <ShownOnce
          title="The signing secret"
          lead="Copy it now: it is shown this once. Your receiver verifies each delivery with it."
          secret={secret}
          name="secret"
          onClose={() => setSecret(undefined)}
        />
      )}
      {open && (
        <WebhookDetail
          webhook={open}
          onChange={list.reload}
          onSecret={setSecret}
          onClose={() => setOpenId(undefined)}
        />
      )}
    </PageFrame>
  )
}

/** Webhooks with very many addresses arrive in several pages. */
async function allWebhooks(
  environment: EnvironmentName,
): Promise<{ webhooks: readonly WebhookSummary[]; price: number }> {
  const webhooks: WebhookSummary[] = []
  let next: string | null = null
  let price = 0
  do {
    const path: string = next === null ? '/v1/webhooks' : `/v1/webhooks?cursor=${next}`
    const page: Viewed<WebhookPage> = await view<WebhookPage>(environment, path)
    webhooks.push(...page.value.webhooks)
    price += page.price
    next = page.value.next_cursor
  } while (next !== null)
  return { webhooks, price }
}

function WebhookState({ webhook }: { webhook: WebhookSummary }) {
  if (webhook.disabled_reason !== null)
    return <Badge tone="bad">switched off: {webhook.disabled_reason}</Badge>
  if (!webhook.active) return <Badge tone="warn">paused</Badge>
  if (webhook.paused_reason !== null) return <Badge tone="warn">waits: {webhook.paused_reason}</Badge>
  if (webhook.failing_since !== null)
    return <Badge tone="warn">failing since {ago(webhook.failing_since)}</Badge>
  return <Badge tone="good">active</Badge>
}
