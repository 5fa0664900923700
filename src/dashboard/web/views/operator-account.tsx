import { useState } from 'preact/hooks'
import type { KeyView, OperatorAccountView, PlanView, ResetLinkView, UsageView } from '../../wire.ts'
import { call } from '../api.ts'
import { count, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Badge, Button, Problem, Select, Stat, TextField, useAction } from '../ui/parts.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { AccountCalls } from './account-calls.tsx'
import { InviteForm, planNamed } from './invite.tsx'
import { KeyTable, RevokeKey } from './keys.tsx'
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
  const [isPausing, setPausing] = useState(false)
  const paused = account.paused_reason !== null
  const act = (what: string, body: unknown) => async () => {
    await call('POST', `${path}/${what}`, body)
    props.onChange()
  }
  const change = useAction(act('plan', { plan }))
  const resume = useAction(act('resume', {}))
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
        <Button disabled={change.busy || plan === account.plan} onClick={change.run}>
          Change plan
        </Button>
        <Button
          look={paused ? 'primary' : 'danger'}
          disabled={resume.busy}
          onClick={paused ? resume.run : () => setPausing(true)}
        >
          {paused ? 'Resume account' : 'Pause account'}
        </Button>
      </div>
      <Problem text={change.problem ?? resume.problem} />
      <CreditsForm account={account} onDone={props.onChange} />
      <InviteForm accountId={account.id} onDone={props.onChange} />
      <PasswordLinks emails={account.users} />
      <AccountCalls accountId={account.id} />
      <h3>Usage</h3>
      {usage.value && <UsageBody usage={usage.value} from={usage.value.from.slice(0, 10)} />}
      <h3>Keys</h3>
      {keys.value && keys.value.keys.length > 0 ? (
        <KeyTable keys={keys.value.keys} onRevoke={setRevoking} />
      ) : (
        <p class="muted">This account has no keys.</p>
      )}
      {isPausing && (
        <Confirm
          title={`Pause ${account.email}?`}
          text="All keys of this account are refused with 403 within a second, its streams end and its webhooks stop, until the account is resumed."
          action="Pause account"
          onYes={act('pause', {})}
          onClose={() => setPausing(false)}
        />
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

/** A link for a user who forgot the password. */
function PasswordLinks({ emails }: { emails: string[] }) {
  const [asked, setAsked] = useState<string>()
  const [link, setLink] = useState<ResetLinkView>()
  if (emails.length === 0) return null
  return (
    <details>
      <summary>Somebody forgot the password</summary>
      {emails.map((email) => (
        <p key={email} class="row between">
          <span class="break">{email}</span>
          <Button look="small" onClick={() => setAsked(email)}>
            Make a link for a new password
          </Button>
        </p>
      ))}
      {asked !== undefined && (
        <Confirm
          title={`New password for ${asked}?`}
          text="You get a link that works once, within a day. Whoever opens it can sign in as this user: hand it over to nobody else. The old password works until then."
          action="Make the link"
          harmless
          onYes={async () =>
            setLink(await call<ResetLinkView>('POST', 'operator/users/reset', { email: asked }))
          }
          onClose={() => setAsked(undefined)}
        />
      )}
      {link && (
        <ShownOnce
          title="Link for a new password"
          lead={`For ${link.email}, until ${dateTime(link.expires_at)}. It is shown this once and works once.`}
          secret={`${location.origin}/#/reset/${link.token}`}
          name="link"
          onClose={() => setLink(undefined)}
        />
      )}
    </details>
  )
}

/** Sets the remaining credits of this period. */
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
        <TextField
          label="Credits left in this period"
          hint="For both environments, until the period renews."
          type="number"
          min="0"
          step="1"
          required
          value={remaining}
          onText={setRemaining}
        />
        <Problem text={problem} />
        <Button type="submit" disabled={busy}>
          Set credits
        </Button>
      </form>
    </details>
  )
}

export function AccountState({ account }: { account: OperatorAccountView }) {
  if (account.paused_reason === null) return <Badge tone="good">active</Badge>
  return <Badge tone="bad">{account.paused_reason === 'operator' ? 'paused' : 'past due'}</Badge>
}
