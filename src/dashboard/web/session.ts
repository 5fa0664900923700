import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { EnvironmentName, SessionView } from '../wire.ts'

export interface SignedInSession {
  session: SessionView
  setSession: (session: SessionView) => void
  environment: EnvironmentName
  setEnvironment: (environment: EnvironmentName) => void
}

export const SessionContext = createContext<SignedInSession | null>(null)

export function useSession(): SignedInSession {
  const value = useContext(SessionContext)
  if (value === null) throw new Error('no session here')
  return value
}
