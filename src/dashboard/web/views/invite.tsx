import { useState } from 'preact/hooks'
import type { CreatedAccountView, PlanView, ResetLinkView } from '../../wire.ts'
import { call } from '../api.ts'
import { dateTime, planName } from '../format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Button, ChoiceButtons, Field, Problem, Select, TextField, useAction } from '../ui/parts.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'

/** Creates an account for a customer, who chooses the password with the link. */
export function NewAccount(props: { plans: PlanView[]; onDone: () => void; onClose: () => void }) {
  const [email, setEmail] = useState('')
  const [plan, setPlan] = useState(props.plans[0]?.name ?? '')
  const [link, setLink] = useState<ResetLinkView>()
  const { run, busy, problem } = useAction(async () => {
    const made = await call<CreatedAccountView>('POST', 'operator/accounts', { email, plan })
    setLink(made.link)
    props.onDone()
  })
  if (link !== undefined) return <InvitationLink link={link} onClose={props.onClose} />
  return (
    <Dialog title="New account" onClose={props.onClose}>
      <form onSubmit={run}>
        <TextField label="E-mail" type="email" required maxLength={254} value={email} onText={setEmail} />
        <Field label="Plan">
          <Select
            label="Plan"
            value={plan}
            options={props.plans.map(({ name }) => name)}
            nameOf={(name) => planNamed(props.plans, name)}
            onChange={setPlan}
          />
        </Field>
        <p class="muted">You get a link for the customer, who chooses a password with it.</p>
        <Problem text={problem} />
        <footer>
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={busy}>
            Create account
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

const ROLES = ['customer', 'operator'] as const

/** Invites another person to sign in to an account. */
export function InviteForm({ accountId, onDone }: { accountId: string; onDone: () => void }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<(typeof ROLES)[number]>('customer')
  const [link, setLink] = useState<ResetLinkView>()
  const { run, busy, problem } = useAction(async () => {
    setLink(await call<ResetLinkView>('POST', `operator/accounts/${accountId}/invite`, { email, role }))
    setEmail('')
    onDone()
  })
  return (
    <details>
      <summary>Invite a person to this account</summary>
      <form class="narrow" onSubmit={run}>
        <TextField
          label="E-mail of the person"
          hint="Who was invited before and has not come gets a new link; the old one ends."
          type="email"
          required
          maxLength={254}
          value={email}
          onText={setEmail}
        />
        <ChoiceButtons label="Role" value={role} options={ROLES} onChange={setRole} />
        {role === 'operator' && (
          <p class="muted">An operator manages all accounts of this service, not only this one.</p>
        )}
        <Problem text={problem} />
        <Button type="submit" disabled={busy}>
          Make the invitation
        </Button>
      </form>
      {link && <InvitationLink link={link} onClose={() => setLink(undefined)} />}
    </details>
  )
}

function InvitationLink({ link, onClose }: { link: ResetLinkView; onClose: () => void }) {
  return (
    <ShownOnce
      title="Invitation"
      lead={`For ${link.email}, until ${dateTime(link.expires_at)} UTC. It is shown this once and works once: whoever opens it chooses the password.`}
      secret={`${location.origin}/#/reset/${link.token}`}
      name="link"
      onClose={onClose}
    />
  )
}

export function planNamed(plans: readonly PlanView[] | undefined, name: string): string {
  const plan = plans?.find((one) => one.name === name)
  return plan === undefined ? name : planName(plan)
}
