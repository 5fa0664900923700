import type { Plan } from '../core/plan.ts'
import type { Clock } from '../kit/clock.ts'
import type { AccountsStore } from '../store/accounts.ts'

/**
 * What an account may view in the dashboard free of charge each day (UTC): a thirtieth of its plan's monthly
 * credits, at the prices of the API. All users, sessions and environments of the account share it, and it is
 * stored: neither a restart nor another browser resets it. Beyond it views are charged like requests.
 */
const DAYS_OF_A_MONTH = 30

export interface ViewAllowance {
  readonly limit: number
  readonly remaining: number
}

export interface ViewAllowances {
  read(accountId: string, plan: Plan): Promise<ViewAllowance>
  /** Takes the whole price, or nothing where less is left. */
  take(accountId: string, plan: Plan, credits: number): Promise<ViewAllowance & { taken: boolean }>
}

export function createViewAllowances(deps: {
  store: Pick<AccountsStore, 'viewsOf' | 'takeView'>
  clock: Clock
}): ViewAllowances {
  const { store, clock } = deps
  const today = () => new Date(clock.now()).toISOString().slice(0, 10)
  const limitOf = (plan: Plan) => Math.floor(plan.creditsPerMonth / DAYS_OF_A_MONTH)
  const stateOf = (limit: number, used: number) => ({ limit, remaining: Math.max(0, limit - used) })
  return {
    async read(accountId, plan) {
      return stateOf(limitOf(plan), await store.viewsOf(accountId, today()))
    },
    async take(accountId, plan, credits) {
      const limit = limitOf(plan)
      const { taken, used } = await store.takeView({ accountId, day: today(), credits, limit })
      return { taken, ...stateOf(limit, used) }
    },
  }
}
