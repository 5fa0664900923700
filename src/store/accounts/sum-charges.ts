/** Sums of a batch of entries: its rows of usage and its budgets are fewer. */
import { DAY_MS } from '../../core/time.ts'
import type { BudgetSpec, LedgerEntry, UsagePlace } from '../accounts.ts'

/** Charges of one key for one endpoint on one day. */
interface UsageSum {
  /** The first of them. */
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

/** As it is stored: a charge is a line, its id and its credits. */
export function chargesText({ charges }: LedgerEntry): string {
  return charges.map(({ id, credits }) => `${id} ${credits}`).join('\n')
}

/** Where rows end, exclusive: at that one, or behind the last day, whose every row is below its name and a space. */
export function usageEnd(toMs: number, before: UsagePlace | undefined): string[] {
  if (before === undefined) return [`${usageDay(toMs)} `, '', '', '']
  return [before.day, before.environment, before.endpoint, before.keyId]
}
