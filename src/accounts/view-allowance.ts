import type { Plan } from '../core/plan.ts'
import type { Clock } from '../kit/clock.ts'
import type { AccountsStore } from '../store/accounts.ts'

/**
 * What an account may view in the dashboard free of charge each day (UTC): a thirtieth of its plan's monthly credits,
 * at API prices. All users, sessions and environments of the account share it, and it is stored, so neither a restart
 * nor another browser resets it. Views beyond it are charged like requests.
 */
const DAYS_OF_A_MONTH = 30

export interface ViewAllowance {
  readonly limit: number
  readonly remaining: number
}

export type ViewAllowances = ReturnType<typeof createViewAllowances>

export function createViewAllowances(deps: {
  store: Pick<AccountsStore, 'viewsOf' | 'takeView'>
  clock: Clock
}) {
  const { store, clock } = deps
  const today = () => new Date(clock.now()).toISOString().slice(0, 10)
  const limitOf = (plan: Plan) => Math.floor(plan.creditsPerMonth / DAYS_OF_A_MONTH)
  const stateOf = (limit: number, used: number) => ({ limit, remaining: Math.max(0, limit - used) })
  return {
    async read(accountId: string, plan: Plan): Promise<ViewAllowance> {
      return stateOf(limitOf(plan), await store.viewsOf(accountId, today()))
    },
    /** Takes the whole price, or nothing if less is left. */
    async take(accountId: string, plan: Plan, credits: number) {
      const limit = limitOf(plan)
      const { taken, used } = await store.takeView({ accountId, day: today(), credits, limit })
      return { taken, ...stateOf(limit, used) }
    },
  }
}
