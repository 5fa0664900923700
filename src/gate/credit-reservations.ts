import type { Budget } from '../accounts/budget.ts'

/**
 * Credits that a running request will need and others must not count on. What a call does at a node cannot be
 * taken back when the balance turns out to be empty afterwards, so its price is set aside before it runs.
 */
export interface CreditReservations {
  /** What is left in the tightest budget after everything that is held. */
  available(budgets: readonly Budget[]): number
  /** Sets credits aside until the returned function is called. */
  reserve(budgets: readonly Budget[], credits: number): () => void
}

export function createReservations(): CreditReservations {
  const held = new WeakMap<Budget, number>()
  const change = (budgets: readonly Budget[], credits: number) => {
    for (const budget of budgets) held.set(budget, (held.get(budget) ?? 0) + credits)
  }
  return {
    available(budgets) {
      let least = Number.POSITIVE_INFINITY
      for (const budget of budgets) least = Math.min(least, budget.remaining - (held.get(budget) ?? 0))
      return least
    },
    reserve(budgets, credits) {
      change(budgets, credits)
      let taken = true
      return () => {
        if (taken) change(budgets, -credits)
        taken = false
      }
    },
  }
}
