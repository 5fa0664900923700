import type { BillingStore } from '../store/billing.ts'

/** Statuses of a subscription for which the provider is waiting for a payment. */
export const OVERDUE: readonly string[] = ['past_due', 'unpaid']

export async function isOverdue(
  store: Pick<BillingStore, 'listBilling'>,
  accountId: string,
): Promise<boolean> {
  const links = await store.listBilling()
  return links.some((link) => link.accountId === accountId && OVERDUE.includes(link.status))
}
