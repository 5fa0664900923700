import type { AccountRecord } from '../accounts/accounts.ts'
import type { PlanBook } from '../accounts/plans.ts'
import { ConfigError } from '../config/config.ts'

const MAX_NAMED = 3

/** Refuses to start if the plan of an account is missing, because every request of that account would fail. */
export function checkPlansInUse(accounts: readonly AccountRecord[], plans: PlanBook): void {
  const [first, ...others] = accounts.filter(({ plan }) => plans.find(plan) === undefined)
  if (first === undefined) return
  const same = [first, ...others.filter(({ plan }) => plan === first.plan)]
  const named = same.slice(0, MAX_NAMED).map(({ id, email }) => `${id} (${email})`)
  const more = same.length - named.length
  const list = more === 0 ? named.join(', ') : `${named.join(', ')} and ${more} more`
  throw new ConfigError(
    `No plan is called "${first.plan}" (TAPELINE_PLANS), but ${same.length === 1 ? 'an account has' : `${same.length} accounts have`} it: ${list}. Put it back into the plans file, or choose another plan with tapeline accounts set-plan.`,
  )
}
