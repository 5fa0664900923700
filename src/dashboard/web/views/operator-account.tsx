import { useState } from 'preact/hooks'
import type { KeyView, OperatorAccountView, PlanView, UsageView } from '../../wire.ts'
import { call } from '../api.ts'
import { count, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Problem, Select, Stat, useAction } from '../ui/parts.tsx'
import { KeyTable, RevokeKey } from './keys.tsx'
import { AccountState, planNamed } from './operator.tsx'
import { UsageBody } from './usage.tsx'

export function AccountDialog(props: {
  account: OperatorAccountView
  plans: PlanView[]
  onChange: () => void
  onClose: () => void
}) {
  const { account } = props
  const path = `operator/accounts/${account.id}`
  const keys = useLoad(() => call<{ keys: KeyView[] }>('GET', `${path}/keys`), [account.id])
  const usage = useLoad(() => call<UsageView>('GET', `${path}/usage`), [account.id])
  const [plan, setPlan] = useState(account.plan)
  const [revoking, setRevoking] = useState<KeyView>()
  const paused = account.paused_reason !== null
  const act = (what: string, body: unknown) => async () => {
    await call('POST', `${path}/${what}`, body)
    props.onChange()
  }
  const change = useAction(act('plan', { plan }))
  const pause = useAction(act(paused ? 'resume' : 'pause', {}))
  return (
    <Dialog title={account.email} onClose={props.onClose} wide>
      <div class="stats">
        <Stat
          label="State"
          value={<AccountState account={account} />}
          note={`since ${dateTime(account.created_at).slice(0, 10)}`}
        />
        <Stat label="People" value={count(account.users.length)} note={account.users.join(', ') || 'none'} />
        <Stat
          label="Billing"
          value={account.billing_customer === null ? 'not linked' : 'linked'}
          note={account.billing_customer ?? undefined}
        />
      </div>
      <div class="row">
        <Select
          label="Plan"
          value={plan}
          options={props.plans.map(({ name }) => name)}
          nameOf={(name) => planNamed(props.plans, name)}
          onChange={setPlan}
        />
        <button
          type="button"
          class="button"
          disabled={change.busy || plan === account.plan}
          onClick={change.run}
        >
          Change plan
        </button>
        <button
          type="button"
          class={paused ? 'button primary' : 'button danger'}
          disabled={pause.busy}
          onClick={pause.run}
        >
          {paused ? 'Resume account' : 'Pause account'}
        </button>
      </div>
      <Problem text={change.problem ?? pause.problem} />
      <CreditsForm account={account} onDone={props.onChange} />
      <h3>Usage</h3>
      {usage.value && <UsageBody usage={usage.value} from={usage.value.from.slice(0, 10)} />}
      <h3>Keys</h3>
      {keys.value && keys.value.keys.length > 0 ? (
        <KeyTable keys={keys.value.keys} onRevoke={setRevoking} />
      ) : (
        <p class="muted">This account has no keys.</p>
      )}
      {revoking && (
        <RevokeKey
          record={revoking}
          path="operator/keys"
          onDone={() => {
            keys.reload()
            props.onChange()
          }}
          onClose={() => setRevoking(undefined)}
        />
      )}
    </Dialog>
  )
}

/** The credits that are left in this period, set by hand. */
function CreditsForm({ account, onDone }: { account: OperatorAccountView; onDone: () => void }) {
  const [remaining, setRemaining] = useState('')
  const { run, busy, problem } = useAction(async () => {
    await call('POST', `operator/accounts/${account.id}/credits`, { remaining: Number(remaining) })
    setRemaining('')
    onDone()
  })
  return (
    <details>
      <summary>Set the credits that are left</summary>
      <form class="narrow" onSubmit={run}>
        <Field label="Credits left in this period" hint="For both environments, until the period renews.">
          <input
            type="number"
            min="0"
            step="1"
            required
            value={remaining}
            onInput={(event) => setRemaining(event.currentTarget.value)}
          />
        </Field>
        <Problem text={problem} />
        <button type="submit" class="button" disabled={busy}>
          Set credits
        </button>
      </form>
    </details>
  )
}
