import { useEffect, useMemo, useState } from 'preact/hooks'
import type { EnvironmentName, SessionView } from '../wire.ts'
import { callSession, whenSignedOut } from './api.ts'
import { SessionContext } from './session.ts'
import { Shell } from './shell.tsx'
import { SignIn } from './views/sign-in.tsx'

export function usePath(): string {
  const read = () => location.hash.replace(/^#\/?/, '')
  const [path, setPath] = useState(read)
  useEffect(() => {
    const onChange = () => setPath(read())
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return path
}

export function App() {
  const [session, setSession] = useState<SessionView>()
  const [environment, setEnvironment] = useState<EnvironmentName>('test')
  const [problem, setProblem] = useState<string>()
  const path = usePath()

  useEffect(() => {
    const load = () =>
      callSession('GET', 'session').then(
        (loaded) => {
          setSession(loaded)
          setEnvironment((now) => (loaded.environments.includes(now) ? now : (loaded.environments[0] ?? now)))
        },
        (error: Error) => setProblem(error.message),
      )
    whenSignedOut(load)
    load()
  }, [])

  const context = useMemo(
    () => (session === undefined ? null : { session, setSession, environment, setEnvironment }),
    [session, environment],
  )
  if (problem !== undefined) return <p class="boot">{problem}</p>
  if (context === null) return <p class="boot" aria-busy="true" />
  return (
    <SessionContext.Provider value={context}>
      {session?.user === null ? <SignIn path={path} /> : <Shell path={path} />}
    </SessionContext.Provider>
  )
}
