import type { Loaded } from '../load.ts'
import { Button, Problem } from '../ui/parts.tsx'

/** A one-time link of which the service has said nothing yet: it may well work. */
export function LinkProblem({ link }: { link: Loaded<unknown> }) {
  if (link.error === undefined) return null
  return (
    <>
      <Problem text={`This link could not be checked. ${link.error}`} />
      <Button onClick={link.reload}>Try again</Button>
    </>
  )
}
