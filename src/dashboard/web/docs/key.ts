import { useMemo, useState } from 'preact/hooks'
import type { EnvironmentName, SessionView } from '../../wire.ts'

/** Who sends the requests of the reference: a pasted key, or the user who is signed in to the dashboard. */
export interface Caller {
  readonly key: string
  readonly session: SessionView | undefined
  /** @param body sent unchanged */
  fetch(method: string, target: string, body?: string): Promise<Response>
}

/** For this tab only, because a key does not belong in permanent storage. */
const STORED = 'tapeline-reference-key'

export function useCaller(session: SessionView | undefined, environment: EnvironmentName) {
  const [key, setKeyState] = useState(() => sessionStorage.getItem(STORED) ?? '')
  const setKey = (next: string) => {
    const text = next.trim()
    sessionStorage.setItem(STORED, text)
    setKeyState(text)
  }
  const caller = useMemo<Caller>(() => {
    const headers = (body: string | undefined) =>
      body === undefined ? {} : { 'Content-Type': 'application/json' }
    return {
      key,
      session,
      fetch: (method, target, body) => {
        const sent = { method, ...(body === undefined ? {} : { body }) }
        if (key !== '' || session === undefined)
          return fetch(target, {
            ...sent,
            credentials: 'omit',
            headers: { ...headers(body), ...(key === '' ? {} : { 'X-API-Key': key }) },
          })
        return fetch(`/dashboard/api/try/${environment}${target}`, {
          ...sent,
          credentials: 'same-origin',
          headers: { ...headers(body), ...(method === 'GET' ? {} : { 'X-CSRF-Token': session.csrf }) },
        })
      },
    }
  }, [key, session, environment])
  return { caller, setKey }
}
