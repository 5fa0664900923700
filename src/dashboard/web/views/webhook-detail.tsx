import { useState } from 'preact/hooks'
import { view } from '../api.ts'
import { ago, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Badge, Field, Problem, useAction } from '../ui/parts.tsx'
import { WebhookForm } from './webhook-form.tsx'
import type { Webhook, WithSecret } from './webhooks.tsx'

interface Delivery {
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
}

const TONES = { delivered: 'good', pending: 'warn', failed: 'bad' }

export function WebhookDetail(props: {
  webhook: Webhook
  onChange: () => void
  onSecret: (secret: string) => void
  onClose: () => void
}) {
  const { environment } = useSession()
  const { webhook } = props
  const path = `/v1/webhooks/${webhook.id}`
  const [tab, setTab] = useState<'log' | 'edit' | 'replay'>('log')
  const [deleting, setDeleting] = useState(false)
  const [note, setNote] = useState<string>()
  const log = useLoad(
    () => view<{ deliveries: Delivery[] }>(environment, `${path}/deliveries?limit=50`),
    [path],
    2_000,
  )
  const send = <T,>(tail: string, method: string, body?: unknown) =>
    view<T>(environment, `${path}${tail}`, { method, ...(body === undefined ? {} : { body }) })
  const test = useAction(async () => {
    const { value } = await send<Record<string, unknown>>('/test', 'POST')
    const status = value.status ?? value.last_status
    setNote(`Test event: ${status ?? value.error ?? 'sent'}`)
  })
  const pause = useAction(async () => {
    await send('', 'PATCH', { active: !webhook.active })
    props.onChange()
  })
  const rotate = useAction(async () => {
    const { value } = await send<WithSecret>('/rotate', 'POST')
    props.onSecret(value.secret)
  })
  const replayOne = async (seq: number) => {
    await send('/replay', 'POST', { after_seq: seq - 1 })
    setNote(`Replaying from event ${seq}.`)
    log.reload()
  }
  return (
    <Dialog title={webhook.url} onClose={props.onClose} wide>
      <div class="row">
        <button type="button" class="button" onClick={test.run} disabled={test.busy}>
          Send test event
        </button>
        <button type="button" class="button" onClick={pause.run}>
          {webhook.active ? 'Pause' : 'Resume'}
        </button>
        <button type="button" class="button" onClick={rotate.run}>
          Rotate secret
        </button>
        <button type="button" class="button" onClick={() => setTab(tab === 'edit' ? 'log' : 'edit')}>
          Edit
        </button>
        <button type="button" class="button" onClick={() => setTab(tab === 'replay' ? 'log' : 'replay')}>
          Replay
        </button>
        <button type="button" class="button danger" onClick={() => setDeleting(true)}>
          Delete
        </button>
      </div>
      <Problem text={test.problem ?? pause.problem ?? rotate.problem ?? log.error} />
      {note && <p role="status">{note}</p>}
      {tab === 'edit' && (
        <WebhookForm
          webhook={webhook}
          onSaved={() => {
            setTab('log')
            props.onChange()
          }}
        />
      )}
      {tab === 'replay' && <ReplayForm send={send} onDone={setNote} />}
      <h3>Deliveries</h3>
      <DeliveryTable deliveries={log.value?.value.deliveries ?? []} onReplay={replayOne} />
      {deleting && (
        <Confirm
          title="Delete this webhook?"
          text="Nothing is delivered any more, and what waits is dropped. This cannot be undone."
          action="Delete webhook"
          onYes={async () => {
            await send('', 'DELETE')
            props.onChange()
            props.onClose()
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </Dialog>
  )
}

function ReplayForm(props: {
  send: (tail: string, method: string, body: unknown) => Promise<{ value: unknown }>
  onDone: (note: string) => void
}) {
  const [since, setSince] = useState(new Date(Date.now() - 3_600_000).toISOString().slice(0, 16))
  const { run, busy, problem } = useAction(async () => {
    const { value } = await props.send('/replay', 'POST', { since: `${since}:00Z` })
    props.onDone(`${(value as { events: number }).events} events are delivered again.`)
  })
  return (
    <form class="narrow" onSubmit={run}>
      <Field label="Deliver again everything since (UTC)">
        <input type="datetime-local" value={since} onInput={(event) => setSince(event.currentTarget.value)} />
      </Field>
      <Problem text={problem} />
      <button type="submit" class="button primary" disabled={busy}>
        Replay
      </button>
    </form>
  )
}

function DeliveryTable(props: { deliveries: Delivery[]; onReplay: (seq: number) => void }) {
  if (props.deliveries.length === 0) return <p class="muted">Nothing was delivered yet.</p>
  return (
    <table class="stack" data-testid="deliveries">
      <thead>
        <tr>
          <th>Event</th>
          <th>State</th>
          <th>Response</th>
          <th>When</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {props.deliveries.map((delivery) => (
          <tr key={delivery.id}>
            <td data-label="Event">
              <code>{delivery.kind}</code>
              <div class="muted tiny">
                #{delivery.seq} · {delivery.event_id}
              </div>
            </td>
            <td data-label="State">
              <Badge tone={TONES[delivery.state]}>{delivery.state}</Badge>
              <div class="muted tiny">
                {delivery.attempts} {delivery.attempts === 1 ? 'try' : 'tries'}
              </div>
            </td>
            <td data-label="Response">
              {delivery.last_status ?? '–'}
              {delivery.duration_ms !== null && ` in ${delivery.duration_ms} ms`}
              <div class="muted tiny">{delivery.last_error}</div>
            </td>
            <td data-label="When">
              {ago(delivery.last_attempt_at ?? delivery.created_at)}
              <div class="muted tiny">
                {delivery.next_attempt_at !== null && `next try ${dateTime(delivery.next_attempt_at)}`}
              </div>
            </td>
            <td class="actions">
              <button type="button" class="button small" onClick={() => props.onReplay(delivery.seq)}>
                Replay from here
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
