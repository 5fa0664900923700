import { useState } from 'preact/hooks'
import { view } from '../api.ts'
import { count } from '../format.ts'
import { useSession } from '../session.ts'
import { ApiCall } from '../ui/api-call.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Button, Problem, useAction } from '../ui/parts.tsx'
import { DeliveryTable } from './delivery-log.tsx'
import { ReplayForm } from './replay-form.tsx'
import type { CreatedWebhook, WebhookSummary } from './webhook.ts'
import { WebhookForm } from './webhook-form.tsx'

interface TestResult {
  delivered: boolean
  status: number | null
  error: string | null
  duration_ms: number
}

interface Note {
  text: string
  isBad: boolean
}

export function WebhookDetail(props: {
  webhook: WebhookSummary
  onChange: () => void
  onSecret: (secret: string) => void
  onClose: () => void
}) {
  const { environment } = useSession()
  const { webhook } = props
  const path = `/v1/webhooks/${webhook.id}`
  const [tab, setTab] = useState<'log' | 'edit' | 'replay'>('log')
  const [asking, setAsking] = useState<'delete' | 'rotate'>()
  const [note, setNote] = useState<Note>()
  const showNote = (text: string) => setNote({ text, isBad: false })
  const send = <T,>(tail: string, method: string, body?: unknown) =>
    view<T>(environment, `${path}${tail}`, { method, ...(body === undefined ? {} : { body }) })
  const test = useAction(async () => {
    const { value } = await send<TestResult>('/test', 'POST')
    setNote({ text: testText(value), isBad: !value.delivered })
  })
  const pause = useAction(async () => {
    await send('', 'PATCH', { active: !webhook.active })
    props.onChange()
  })
  return (
    <Dialog title={webhook.url} onClose={props.onClose} wide>
      <div class="row">
        <Button onClick={test.run} disabled={test.busy}>
          Send test event
        </Button>
        <Button onClick={pause.run}>{webhook.active ? 'Pause' : 'Resume'}</Button>
        <Button onClick={() => setAsking('rotate')}>Rotate secret</Button>
        <Button aria-expanded={tab === 'edit'} onClick={() => setTab(tab === 'edit' ? 'log' : 'edit')}>
          Edit
        </Button>
        <Button aria-expanded={tab === 'replay'} onClick={() => setTab(tab === 'replay' ? 'log' : 'replay')}>
          Replay
        </Button>
        <Button look="danger" onClick={() => setAsking('delete')}>
          Delete
        </Button>
      </div>
      <Problem text={test.problem ?? pause.problem} />
      {note && (
        <p class={note.isBad ? 'problem' : 'note'} role={note.isBad ? 'alert' : 'status'}>
          {note.text}
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
      {tab === 'replay' && <ReplayForm webhookId={webhook.id} onDone={showNote} />}
      <h3>Deliveries</h3>
      <DeliveryTable webhookId={webhook.id} onNote={showNote} />
      <ApiCall path={`${path}/deliveries`} price={0} />
      {asking === 'delete' && (
        <Confirm
          title="Delete this webhook?"
          text="Nothing is delivered any more, and what waits is dropped. This cannot be undone."
          action="Delete webhook"
          onYes={async () => {
            await send('', 'DELETE')
            props.onChange()
            props.onClose()
          }}
          onClose={() => setAsking(undefined)}
        />
      )}
      {asking === 'rotate' && (
        <Confirm
          title="Rotate the secret?"
          text="A new secret is made and shown once. The old one signs too for 24 hours, so that your receiver can change over."
          action="Rotate secret now"
          harmless
          onYes={async () => props.onSecret((await send<CreatedWebhook>('/rotate', 'POST')).value.secret)}
          onClose={() => setAsking(undefined)}
        />
      )}
    </Dialog>
  )
}

/** The receiver's answer and what was wrong with it. */
function testText({ delivered, status, error, duration_ms: ms }: TestResult): string {
  const answer = status === null ? (error ?? 'no answer') : `HTTP ${status}`
  const reason = status !== null && error !== null && !delivered ? ` (${error})` : ''
  return `Test event ${delivered ? 'delivered' : 'failed'}: ${answer}${reason} in ${count(ms)} ms`
}
