import type { Loaded } from '../load.ts'
import { Button, Problem } from '../ui/parts.tsx'

/** Shown if a one-time link could not be checked; the link may still work. */
export function LinkProblem({ link }: { link: Loaded<unknown> }) {
  if (link.error === undefined) return null
  return (
    <>
      <Problem text={`This link could not be checked. ${link.error}`} />
      <Button onClick={link.reload}>Try again</Button>
    </>
  )
}
