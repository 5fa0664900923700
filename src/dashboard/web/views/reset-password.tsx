import { useState } from 'preact/hooks'
import type { LinkView } from '../../wire.ts'
import { call, callSession } from '../api.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { Button, PasswordField, Problem, useAction } from '../ui/parts.tsx'
import { LinkProblem } from './link-problem.tsx'

/** The operator's one-time link: the user chooses the first or a new password and is signed in. */
export function ResetPassword({ token }: { token: string }) {
  const { setSession } = useSession()
  const checked = useLoad(() => call<LinkView>('POST', 'reset-link', { token }), [token])
  const link = checked.value
  const [password, setPassword] = useState('')
  const { run, busy, problem } = useAction(async () => {
    const session = await callSession('POST', 'reset', { token, password })
    location.hash = '#/explorer'
    setSession(session)
  })
  return (
    <div class="gate">
      <form class="card" onSubmit={run}>
        <img src="/favicon.svg" alt="" width="44" height="44" />
        <h1>{link?.first ? 'Welcome to Tapeline' : 'Choose a new password'}</h1>
        <p class="muted">
          {link?.email == null
            ? 'This link works once.'
            : link.first
              ? `Choose the password that ${link.email} signs in with.`
              : `For ${link.email}. Everybody who is signed in with the old one is signed out.`}
        </p>
        {link?.valid === false && (
          <Problem text="This link was used, replaced by a newer one or is too old. Ask the operator for another." />
        )}
        <LinkProblem link={checked} />
        <input type="hidden" name="username" autocomplete="username" value={link?.email ?? ''} />
        <PasswordField
          label={link?.first ? 'Password' : 'New password'}
          hint="At least 10 characters."
          isNew
          value={password}
          onText={setPassword}
        />
        <Problem text={problem} />
        <Button type="submit" look="primary" disabled={busy || link?.valid !== true}>
          {busy ? 'One moment…' : 'Set password'}
        </Button>
        {!link?.first && (
          <p class="muted switch">
            Remember it after all? <a href="#/sign-in">Sign in</a>
          </p>
        )}
      </form>
    </div>
  )
}
