/** Credits are renewed on the account's billing day each month, at midnight UTC. */
export interface BillingPeriod {
  startMs: number
  endMs: number
}

/** The period that contains an instant. A billing day that a short month does not have means its last day. */
export function billingPeriod(nowMs: number, billingDay: number): BillingPeriod {
  const now = new Date(nowMs)
  const year = now.getUTCFullYear()
  const month = now.getUTCMonth()
  const thisMonth = renewal(year, month, billingDay)
  return nowMs >= thisMonth
    ? { startMs: thisMonth, endMs: renewal(year, month + 1, billingDay) }
    : { startMs: renewal(year, month - 1, billingDay), endMs: thisMonth }
}

function renewal(year: number, month: number, billingDay: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(billingDay, lastDay))
}
