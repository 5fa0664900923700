import { useState } from 'preact/hooks'
import { view } from '../api.ts'
import { EVENT_KIND_NAMES, KIND_INFO, NO_KIND, splitAddresses } from '../event-kinds.ts'
import { useSession } from '../session.ts'
import { Button, Field, Problem, TextField, useAction } from '../ui/parts.tsx'
import { useExpected } from './expected-events.ts'
import type { CreatedWebhook, WebhookSummary } from './webhook.ts'

/** Creates a webhook or changes one. */
export function WebhookForm(props: { webhook?: WebhookSummary; onSaved: (saved: CreatedWebhook) => void }) {
  const { environment } = useSession()
  const { webhook } = props
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [kinds, setKinds] = useState<string[]>(webhook?.kinds ?? [])
  const [addresses, setAddresses] = useState(webhook?.addresses.join('\n') ?? '')
  const [batch, setBatch] = useState(webhook?.batch ?? false)
  const watched = splitAddresses(addresses)
  const expected = useExpected(kinds, watched.length > 0)
  const { run, busy, problem } = useAction(async () => {
    if (kinds.length === 0) throw new Error(NO_KIND)
    const selection = { kinds, addresses: watched, batch }
    const { value } =
      webhook === undefined
        ? await view<CreatedWebhook>(environment, '/v1/webhooks', {
            method: 'POST',
            body: { url, ...selection },
          })
        : await view<CreatedWebhook>(environment, `/v1/webhooks/${webhook.id}`, {
            method: 'PATCH',
            body: selection,
          })
    props.onSaved(value)
  })
  const toggle = (kind: string) =>
    setKinds((now) => (now.includes(kind) ? now.filter((one) => one !== kind) : [...now, kind]))
  return (
    <form onSubmit={run}>
      <TextField
        label="Receiver"
        hint={
          webhook === undefined
            ? 'An HTTPS address of yours.'
            : 'Fixed: another receiver is another webhook, with a secret of its own.'
        }
        type="url"
        name="url"
        required
        disabled={webhook !== undefined}
        placeholder="https://example.com/hook"
        value={url}
        onText={setUrl}
      />
      <fieldset class="columns">
        <legend>Events</legend>
        {EVENT_KIND_NAMES.map((kind) => (
          <label key={kind} class="check">
            <input
              type="checkbox"
              aria-label={kind}
              aria-describedby={`about-${kind}`}
              checked={kinds.includes(kind)}
              onChange={() => toggle(kind)}
            />
            <span id={`about-${kind}`}>
              <code>{kind}</code>
              <small class="muted">{KIND_INFO[kind].text}</small>
              <small class="expected" data-testid={`expected ${kind}`}>
                {expected.textOf(kind)}
              </small>
            </span>
          </label>
        ))}
      </fieldset>
      <p class={expected.isTooMuch ? 'warning' : 'muted'} data-testid="expected-total">
        {expected.total}
      </p>
      <Field
        label="Addresses"
        hint="One per line; needed for utxos_changed, narrows the kinds that have addresses."
      >
        <textarea rows={3} value={addresses} onInput={(event) => setAddresses(event.currentTarget.value)} />
      </Field>
      <label class="check">
        <input type="checkbox" checked={batch} onChange={() => setBatch(!batch)} />
        Up to 100 events in one request
      </label>
      <Problem text={problem} />
      <footer>
        <Button type="submit" look="primary" disabled={busy}>
          {webhook === undefined ? 'Create webhook' : 'Save'}
        </Button>
      </footer>
    </form>
  )
}
