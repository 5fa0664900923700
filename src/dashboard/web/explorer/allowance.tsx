import { useEffect, useState } from 'preact/hooks'
import { allowance, payForViews, whenAllowanceChanges } from '../api.ts'
import { count } from '../format.ts'
import { Button } from '../ui/parts.tsx'

/** The day's free views. After they are used up, nothing is charged until the user agrees. */
export function Allowance() {
  const [state, setState] = useState(allowance)
  useEffect(() => whenAllowanceChanges(() => setState(allowance())), [])
  if (state === null) return null
  const left = `${count(state.remaining)} of ${count(state.limit)} credits`
  if (!state.isUsedUp) {
    return (
      <p class="muted allowance">
        {state.isPaying ? 'Views cost credits now' : 'Looking is free'}: {left} of today’s allowance are left.
      </p>
    )
  }
  return (
    <p class="allowance" role="status">
      Today’s free views are used up ({left} are left; a new day begins at 00:00 UTC). Further views cost what
      a request costs. <Button onClick={payForViews}>Go on and pay</Button>
    </p>
  )
}
