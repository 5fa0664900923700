import { useEffect, useMemo, useState } from 'preact/hooks'
import type { EnvironmentName, SessionView } from '../wire.ts'
import { callSession, viewAhead, whenSignedOut } from './api.ts'
import { candlesPath, FIRST_CHART, fundingPath } from './explorer/paths.ts'
import { SessionContext } from './session.ts'
import { loadExplorer, Shell } from './shell.tsx'
import { SignIn } from './views/sign-in.tsx'

const readPath = () => location.hash.replace(/^#\/?/, '')

/**
 * The first chart waits for nothing that can go on beside it: the session is asked for before the first
 * render, the bars as soon as there is one, and the explorer's code loads meanwhile.
 */
export function startEarly(): Promise<SessionView> {
  const isChart = ['', 'explorer', 'explorer/candles'].includes(readPath())
  if (isChart) void loadExplorer()
  const session = callSession('GET', 'session')
  session.then(
    (loaded) => {
      if (!isChart || loaded.user === null) return
      const environment = firstEnvironment(loaded)
      const funding = fundingPath(FIRST_CHART)
      viewAhead(environment, candlesPath(FIRST_CHART))
      if (funding !== undefined) viewAhead(environment, funding)
    },
    () => {},
  )
  return session
}

function firstEnvironment({ environments }: SessionView): EnvironmentName {
  return environments.includes('test') ? 'test' : (environments[0] ?? 'test')
}

export function usePath(): string {
  const [path, setPath] = useState(readPath)
  useEffect(() => {
    const onChange = () => setPath(readPath())
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return path
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
          setEnvironment((now) => (loaded.environments.includes(now) ? now : firstEnvironment(loaded)))
        },
        (error: Error) => setProblem(error.message),
      )
    whenSignedOut(() => void take(callSession('GET', 'session')))
    void take(first)
  }, [first])

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
