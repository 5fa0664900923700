import { useEffect, useMemo, useState } from 'preact/hooks'
import type { EnvironmentName, SessionView } from '../wire.ts'
import { callSession, callStart, whenSessionChanges } from './api.ts'
import { readPlace } from './explorer/place.ts'
import { readPath, usePath } from './navigate.ts'
import { SessionContext, useSession } from './session.ts'
import { loadExplorer, Shell } from './shell.tsx'
import { Button } from './ui/parts.tsx'
import { ResetPassword } from './views/reset-password.tsx'
import { SignIn } from './views/sign-in.tsx'

/** Starts everything in parallel that the first chart needs: the explorer's code loads while the first call runs. */
export function startEarly(): Promise<SessionView> {
  const [place] = readPath().split(/[/?]/)
  if (place === '' || place === 'explorer') void loadExplorer()
  return callStart()
}

/** The environment named in the address, otherwise the one shown before, otherwise the first one available. */
function environmentIn(
  { environments }: SessionView,
  path: string,
  shown?: EnvironmentName,
): EnvironmentName {
  const wanted = [readPlace(path).environment, shown, 'test' as const]
  return wanted.find((name) => name !== undefined && environments.includes(name)) ?? environments[0] ?? 'test'
}

export function App({ first }: { first: Promise<SessionView> }) {
  const [session, setSession] = useState<SessionView>()
  const [environment, setEnvironment] = useState<EnvironmentName>('test')
  const [problem, setProblem] = useState<string>()
  const path = usePath()

  useEffect(() => {
    const take = (answer: Promise<SessionView>) =>
      answer.then(
        (loaded) => {
          setSession(loaded)
          setEnvironment((shown) => environmentIn(loaded, readPath(), shown))
        },
        (error: Error) => setProblem(error.message),
      )
    whenSessionChanges(() => void take(callSession('GET', 'session')))
    void take(first)
  }, [first])

  const account = session?.account?.id
  // Not every time the session is read, because the user may have chosen another environment than the address names.
  useEffect(() => {
    if (session !== undefined) setEnvironment((shown) => environmentIn(session, path, shown))
  }, [account, path])

  const context = useMemo(
    () => (session === undefined ? null : { session, setSession, environment, setEnvironment }),
    [session, environment],
  )
  if (problem !== undefined && context === null) {
    return (
      <div class="boot" role="alert">
        <p>{problem}</p>
        <Button onClick={() => location.reload()}>Try again</Button>
      </div>
    )
  }
  if (context === null) return <p class="boot" aria-busy="true" />
  return (
    <SessionContext.Provider value={context}>
      <Body path={path} />
    </SessionContext.Provider>
  )
}

/** A link for a new password works whether or not a user is signed in. */
function Body({ path }: { path: string }) {
  const { session } = useSession()
  const [place, token = ''] = path.split('/')
  if (place === 'reset') return <ResetPassword token={token} />
  return session.user === null ? <SignIn path={path} /> : <Shell key={session.account?.id} path={path} />
}
