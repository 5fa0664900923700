import type { ComponentChildren } from 'preact'
import { useSession } from '../session.ts'
import { Empty } from './parts.tsx'

type Part = 'market' | 'chain'

/** Why this environment has nothing to record, or no node, and which settings change that; null where it has. */
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

/** In place of a list that has nothing: why, or else what it waits for. */
export function IdleOr({ part, children }: { part: Part; children: ComponentChildren }) {
  const text = useIdle(part)
  return <Empty>{text === null ? children : <p data-testid={`idle-${part}`}>{text}</p>}</Empty>
}
