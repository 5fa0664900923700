import { useState } from 'preact/hooks'
import { view } from '../api.ts'
import { count } from '../format.ts'
import { useSession } from '../session.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Problem, useAction } from '../ui/parts.tsx'
import { DeliveryLog } from './delivery-log.tsx'
import { WebhookForm } from './webhook-form.tsx'
import type { Webhook, WithSecret } from './webhooks.tsx'

interface TestResult {
  status: number | null
  error: string | null
  duration_ms: number
}

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
  const send = <T,>(tail: string, method: string, body?: unknown) =>
    view<T>(environment, `${path}${tail}`, { method, ...(body === undefined ? {} : { body }) })
  const test = useAction(async () => {
    const { value } = await send<TestResult>('/test', 'POST')
    setNote(`Test event: ${value.status ?? value.error} in ${value.duration_ms} ms`)
  })
  const pause = useAction(async () => {
    await send('', 'PATCH', { active: !webhook.active })
    props.onChange()
  })
  const rotate = useAction(async () => {
    const { value } = await send<WithSecret>('/rotate', 'POST')
    props.onSecret(value.secret)
  })
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
      <Problem text={test.problem ?? pause.problem ?? rotate.problem} />
      {note && (
        <p class="note" role="status">
          {note}
        </p>
      )}
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
      <DeliveryLog webhookId={webhook.id} onNote={setNote} />
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

type From = 'time' | 'event number'

/** Everything from a moment or an event on, as new deliveries. */
function ReplayForm(props: {
  send: (tail: string, method: string, body: unknown) => Promise<{ value: unknown }>
  onDone: (note: string) => void
}) {
  const [from, setFrom] = useState<From>('time')
  const [since, setSince] = useState(new Date(Date.now() - 3_600_000).toISOString().slice(0, 16))
  const [number, setNumber] = useState('')
  const { run, busy, problem } = useAction(async () => {
    const range = from === 'time' ? { since: `${since}:00Z` } : { after_seq: Number(number) - 1 }
    const { value } = await props.send('/replay', 'POST', range)
    props.onDone(`${count((value as { events: number }).events)} events are delivered again.`)
  })
  return (
    <form class="narrow" onSubmit={run}>
      <p class="muted">Delivers up to 10,000 past events again. One event alone: “Send again” in the log.</p>
      <Choice
        label="Replay from a"
        value={from}
        options={['time', 'event number'] as const}
        onChange={setFrom}
      />
      {from === 'time' ? (
        <Field label="Everything since (UTC)">
          <input
            type="datetime-local"
            required
            value={since}
            onInput={(event) => setSince(event.currentTarget.value)}
          />
        </Field>
      ) : (
        <Field label="Everything from event">
          <input
            type="number"
            min="1"
            required
            placeholder="the number after # in the log"
            value={number}
            onInput={(event) => setNumber(event.currentTarget.value)}
          />
        </Field>
      )}
      <Problem text={problem} />
      <button type="submit" class="button primary" disabled={busy}>
        Replay
      </button>
    </form>
  )
}
