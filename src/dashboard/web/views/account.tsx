import { useState } from 'preact/hooks'
import { call, callSession } from '../api.ts'
import { count, dateTime, planName, plural } from '../format.ts'
import { useSession } from '../session.ts'
import { Button, Card, PageFrame, PasswordField, Problem, Stat, useAction } from '../ui/parts.tsx'

export function AccountPage() {
  const { session, setSession } = useSession()
  const { account, plan, user } = session
  const signOut = useAction(async () => {
    setSession(await callSession('POST', 'sign-out', {}))
    location.hash = '#/sign-in'
  })
  return (
    <PageFrame
      title="Account"
      lead={user?.email ?? ''}
      actions={<Button onClick={signOut.run}>Sign out</Button>}
    >
      <Card title="Plan">
        <div class="stats">
          <Stat
            label="Plan"
            value={plan === null ? (account?.plan ?? '') : planName(plan)}
            note={`since ${dateTime(account?.created_at ?? null)}`}
          />
          <Stat label="Credits per month" value={count(plan?.credits_per_month ?? 0)} />
          <Stat label="Requests per second" value={count(plan?.requests_per_second ?? 0)} />
          <Stat
            label="Candles"
            value={`${plan?.finest_candle} and coarser`}
            note={plan?.candle_days == null ? 'all of them' : `the last ${plural(plan.candle_days, 'day')}`}
          />
          <Stat label="Webhooks" value={count(plan?.webhooks ?? 0)} />
        </div>
        <p class="muted">
          Account id <code>{account?.id}</code> · <a href="/plans">All plans and prices</a>
        </p>
      </Card>
      <PasswordCard />
    </PageFrame>
  )
}

function PasswordCard() {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [done, setDone] = useState(false)
  const { run, busy, problem } = useAction(async () => {
    await call('POST', 'password', { current, next })
    setDone(true)
    setCurrent('')
    setNext('')
  })
  return (
    <Card title="Password">
      <form class="narrow" onSubmit={run}>
        <PasswordField label="Current password" isNew={false} value={current} onText={setCurrent} />
        <PasswordField
          label="New password"
          hint="At least 10 characters. Other sessions are signed out."
          isNew
          value={next}
          onText={setNext}
        />
        <Problem text={problem} />
        {done && <p role="status">The password was changed.</p>}
        <Button type="submit" look="primary" disabled={busy}>
          Change password
        </Button>
      </form>
    </Card>
  )
}
