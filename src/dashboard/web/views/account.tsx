import { useState } from 'preact/hooks'
import { call, callSession } from '../api.ts'
import { count, dateTime, planName, plural } from '../format.ts'
import { useSession } from '../session.ts'
import { Card, Field, PageFrame, Problem, Stat, useAction } from '../ui/parts.tsx'

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
      actions={
        <button type="button" class="button" onClick={signOut.run}>
          Sign out
        </button>
      }
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
          Account id <code>{account?.id}</code>
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
        <Field label="Current password">
          <input
            type="password"
            required
            autocomplete="current-password"
            value={current}
            onInput={(event) => setCurrent(event.currentTarget.value)}
          />
        </Field>
        <Field label="New password" hint="At least 10 characters. Other sessions are signed out.">
          <input
            type="password"
            required
            minLength={10}
            autocomplete="new-password"
            value={next}
            onInput={(event) => setNext(event.currentTarget.value)}
          />
        </Field>
        <Problem text={problem} />
        {done && <p role="status">The password was changed.</p>}
        <button type="submit" class="button primary" disabled={busy}>
          Change password
        </button>
      </form>
    </Card>
  )
}
