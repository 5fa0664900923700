import { useState } from 'preact/hooks'
import type { CreatedKeyView, EnvironmentName } from '../../wire.ts'
import { call } from '../api.ts'
import { useSession } from '../session.ts'
import { Button, ChoiceButtons, Problem, TextField, useAction } from '../ui/parts.tsx'

const SCOPES = [
  ['market', 'Market data'],
  ['node', 'Kaspa node and stream'],
  ['webhooks', 'Webhooks'],
] as const

export function NewKeyForm({ onCreated }: { onCreated: (created: CreatedKeyView) => void }) {
  const { session } = useSession()
  const [name, setName] = useState('')
  const [environment, setEnvironment] = useState<EnvironmentName>(session.environments[0] ?? 'test')
  const [scopes, setScopes] = useState<string[]>(SCOPES.map(([scope]) => scope))
  const [expires, setExpires] = useState('')
  const [ranges, setRanges] = useState('')
  const [cap, setCap] = useState('')
  const { run, busy, problem } = useAction(async () => {
    const list = ranges.split(/[\s,]+/).filter((part) => part !== '')
    onCreated(
      await call<CreatedKeyView>('POST', 'keys', {
        name,
        environment,
        scopes: scopes.length === SCOPES.length ? null : scopes,
        expires_at: expires === '' ? null : `${expires}T23:59:59Z`,
        allowed_cidrs: list.length === 0 ? null : list,
        credit_cap: cap === '' ? null : Number(cap),
      }),
    )
  })
  const toggle = (scope: string) =>
    setScopes((now) => (now.includes(scope) ? now.filter((one) => one !== scope) : [...now, scope]))
  return (
    <form onSubmit={run}>
      <TextField
        label="Name"
        hint="What will use it: you will recognise it in lists and usage."
        name="name"
        required
        maxLength={100}
        placeholder="backtest on my laptop"
        value={name}
        onText={setName}
      />
      <div class="field">
        <span>Environment</span>
        <ChoiceButtons
          label="Environment of the key"
          value={environment}
          options={['test', 'live'] as const}
          onChange={setEnvironment}
        />
        <small class="muted">
          {environment === 'test' ? 'Reads the sandbox.' : 'Reads the real venues and nodes.'}
          {!session.environments.includes(environment) &&
            ' It is not running on this service now: calls are refused until it is.'}
        </small>
      </div>
      <fieldset>
        <legend>Scopes</legend>
        {SCOPES.map(([scope, label]) => (
          <label key={scope} class="check">
            <input type="checkbox" checked={scopes.includes(scope)} onChange={() => toggle(scope)} />
            {label}
          </label>
        ))}
      </fieldset>
      <details>
        <summary>Expiry, addresses, credit cap</summary>
        <TextField label="Expires at the end of" type="date" value={expires} onText={setExpires} />
        <TextField
          label="Allowed addresses"
          hint="Ranges such as 203.0.113.0/24, separated by commas. Empty: any."
          value={ranges}
          onText={setRanges}
        />
        <TextField
          label="Credit cap per month"
          hint="Empty: only the plan limits it."
          type="number"
          min="0"
          step="1"
          value={cap}
          onText={setCap}
        />
      </details>
      <Problem text={problem} />
      <footer>
        <Button type="submit" look="primary" disabled={busy}>
          Create key
        </Button>
      </footer>
    </form>
  )
}
