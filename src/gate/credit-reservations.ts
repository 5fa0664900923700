import type { Budget } from '../accounts/budget.ts'

/**
 * Credits reserved for running requests. A call to a node cannot be undone when the balance turns out to be empty
 * afterwards, so its price is reserved before it runs.
 */
export interface CreditReservations {
  /** What is left in the tightest budget after all reservations. */
  available(budgets: readonly Budget[]): number
  /** Until the returned function is called. */
  reserve(budgets: readonly Budget[], credits: number): () => void
}

export function createReservations(): CreditReservations {
  const reserved = new WeakMap<Budget, number>()
  const change = (budgets: readonly Budget[], credits: number) => {
    for (const budget of budgets) reserved.set(budget, (reserved.get(budget) ?? 0) + credits)
  }
  return {
    available(budgets) {
      let least = Number.POSITIVE_INFINITY
      for (const budget of budgets) least = Math.min(least, budget.remaining - (reserved.get(budget) ?? 0))
      return least
    },
    reserve(budgets, credits) {
      change(budgets, credits)
      let isReserved = true
      return () => {
        if (isReserved) change(budgets, -credits)
        isReserved = false
      }
    },
  }
}
