import { useState } from 'preact/hooks'
import type { KeyView, OperatorAccountView, PlanView, UsageView } from '../../wire.ts'
import { call } from '../api.ts'
import { count, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Problem, Select, Stat, useAction } from '../ui/parts.tsx'
import { KeyTable } from './keys.tsx'
import { AccountState } from './operator.tsx'

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
  const requests = usage.value?.rows.reduce((sum, row) => sum + row.requests, 0) ?? 0
  return (
    <Dialog title={account.email} onClose={props.onClose} wide>
      <div class="stats">
        <Stat
          label="State"
          value={<AccountState account={account} />}
          note={`since ${dateTime(account.created_at)}`}
        />
        {account.balances.map((balance) => (
          <Stat
            key={balance.environment}
            label={`Credits (${balance.environment})`}
            value={count(balance.used)}
            note={`of ${count(balance.limit)}`}
          />
        ))}
        <Stat label="Requests" value={count(requests)} note="30 days" />
        <Stat label="Billing" value={account.billing_customer ?? 'not linked'} />
      </div>
      <div class="row">
        <Select label="Plan" value={plan} options={props.plans.map(({ name }) => name)} onChange={setPlan} />
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
      <h3>Keys</h3>
      {keys.value && keys.value.keys.length > 0 ? (
        <KeyTable keys={keys.value.keys} onRevoke={setRevoking} />
      ) : (
        <p class="muted">This account has no keys.</p>
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          text="Calls with this key are refused within a second. This cannot be undone."
          action="Revoke key"
          onYes={async () => {
            await call('POST', `operator/keys/${revoking.id}/revoke`, {})
            keys.reload()
            props.onChange()
          }}
          onClose={() => setRevoking(undefined)}
        />
      )}
    </Dialog>
  )
}
