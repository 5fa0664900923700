import { useState } from 'preact/hooks'
import { call, callSession } from '../api.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { Button, PasswordField, Problem, TextField, useAction } from '../ui/parts.tsx'
import { LinkProblem } from './link-problem.tsx'

type SignInForm = 'sign-in' | 'sign-up' | 'welcome'
/** Places that a user leaves by signing in. */
const SIGNED_OUT_PLACES = ['', 'sign-in', 'sign-up', 'welcome', 'reset']

/** Sign-in, sign-up, and the operator's one-time link. */
export function SignIn({ path }: { path: string }) {
  const { session, setSession } = useSession()
  const [place = '', token = ''] = path.split('/')
  const form: SignInForm =
    place === 'welcome' ? 'welcome' : place === 'sign-up' && session.sign_up ? 'sign-up' : 'sign-in'
  const isSignedOutPlace = SIGNED_OUT_PLACES.includes(place)
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const link = useInvitation(form === 'welcome' ? token : undefined)
  const isDead = link.value?.valid === false
  const { run, busy, problem } = useAction(async () => {
    const body = form === 'welcome' ? { token, email, password } : { email, password }
    setSession(await callSession('POST', form, body))
    // After a session has ended, the user continues in the same place.
    if (form !== 'sign-in') location.hash = '#/keys'
    else if (isSignedOutPlace) location.hash = '#/explorer'
  })
  const texts = TEXTS[form]
  return (
    <div class="gate">
      <form class="card" onSubmit={run}>
        <img src="/favicon.svg" alt="" width="44" height="44" />
        <h1>{texts.title}</h1>
        <p class="muted">
          {isSignedOutPlace ? texts.lead : `You are signed out. Sign in to go on to “${place}”.`}
        </p>
        {isDead && <Problem text="This link was used already or replaced by a newer one." />}
        <LinkProblem link={link} />
        <TextField
          label="E-mail"
          type="email"
          name="email"
          required
          autocomplete="username"
          value={email}
          onText={setEmail}
        />
        <PasswordField
          label="Password"
          isNew={form !== 'sign-in'}
          {...(form === 'sign-in' ? {} : { hint: 'At least 10 characters.' })}
          value={password}
          onText={setPassword}
        />
        <Problem text={problem} />
        <Button type="submit" look="primary" disabled={busy || isDead}>
          {busy ? 'One moment…' : texts.action}
        </Button>
        <p class="muted switch">
          {form === 'sign-in' && session.sign_up && (
            <>
              No account yet? <a href="#/sign-up">Sign up</a>
            </>
          )}
          {form !== 'sign-in' && (
            <>
              Have an account? <a href="#/sign-in">Sign in</a>
            </>
          )}
        </p>
      </form>
      <p class="muted foot">
        Market history and Kaspa node access. <a href="/plans">Plans</a> ·{' '}
        {session.status_page && (
          <>
            <a href="/status">Status</a> ·{' '}
          </>
        )}
        <a href="/docs">API reference</a>
      </p>
    </div>
  )
}

const TEXTS: Record<SignInForm, { title: string; lead: string; action: string }> = {
  'sign-in': {
    title: 'Sign in to Tapeline',
    lead: 'Keys, usage, webhooks and the data itself.',
    action: 'Sign in',
  },
  'sign-up': {
    title: 'Create your account',
    lead: 'Your first key is a minute away.',
    action: 'Sign up',
  },
  welcome: {
    title: 'Welcome, operator',
    lead: 'This link works once. Choose how you sign in from now on.',
    action: 'Create the operator',
  },
}

function useInvitation(token: string | undefined) {
  return useLoad(
    async () => (token === undefined ? undefined : call<{ valid: boolean }>('POST', 'invitation', { token })),
    [token],
  )
}
