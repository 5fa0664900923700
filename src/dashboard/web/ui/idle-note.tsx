import type { ComponentChildren } from 'preact'
import { useSession } from '../session.ts'
import { Empty } from './parts.tsx'

type Part = 'market' | 'chain'

/** Why this environment records nothing or has no node, and which settings change that; null if it does record. */
export function useIdle(part: Part): string | null {
  const { session, environment } = useSession()
  return session.idle[environment][part]
}

export function IdleNote({ part }: { part: Part }) {
  const text = useIdle(part)
  return text === null ? null : (
    <p class="idle" role="status" data-testid={`idle-${part}`}>
      {text}
    </p>
  )
}

/** Replaces an empty list with the reason, or with what the list waits for. */
export function IdleOr({ part, children }: { part: Part; children: ComponentChildren }) {
  const text = useIdle(part)
  return <Empty>{text === null ? children : <p data-testid={`idle-${part}`}>{text}</p>}</Empty>
}
