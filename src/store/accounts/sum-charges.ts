/** Sums the entries of a batch by usage row and by budget, so that fewer rows have to be written. */
import { DAY_MS } from '../../core/time.ts'
import type { BudgetSpec, LedgerEntry, UsagePlace } from '../accounts.ts'

/** Charges of one key for one endpoint on one day. */
interface UsageSum {
  /** The first of the summed entries. */
  readonly entry: LedgerEntry
  requests: number
  credits: number
  rows: number
}
type BudgetSum = BudgetSpec & { credits: number }

export interface ChargeSums {
  add(entry: LedgerEntry): void
  readonly usage: ReadonlyMap<string, UsageSum>
  readonly budgets: ReadonlyMap<string, BudgetSum>
}

export function chargeSums(): ChargeSums {
  const usage = new Map<string, UsageSum>()
  const budgets = new Map<string, BudgetSum>()
  return {
    usage,
    budgets,
    add(entry) {
      const { atMs, accountId, environment, keyId, endpoint, credits, rows, charges } = entry
      const requests = charges.length
      const name = `${Math.floor(atMs / DAY_MS)} ${keyId} ${accountId} ${environment} ${endpoint}`
      const known = usage.get(name)
      if (known === undefined) usage.set(name, { entry, requests, credits, rows })
      else {
        known.requests += requests
        known.credits += credits
        known.rows += rows
      }
      for (const budget of entry.budgets) {
        const key = `${budget.id} ${budget.periodStartMs}`
        const sum = budgets.get(key) ?? { ...budget, credits: 0 }
        sum.credits += credits
        budgets.set(key, sum)
      }
    },
  }
}

export function usageDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10)
}

/** The stored form: one line per charge, with its id and credits. */
export function chargesText({ charges }: LedgerEntry): string {
  return charges.map(({ id, credits }) => `${id} ${credits}`).join('\n')
}

/**
 * The exclusive end of the rows: the given place, or the end of the last day. Every row of a day sorts before the day
 * followed by a space.
 */
export function usageEnd(toMs: number, before: UsagePlace | undefined): string[] {
  if (before === undefined) return [`${usageDay(toMs)} `, '', '', '']
  return [before.day, before.environment, before.endpoint, before.keyId]
}
