import type { BillingStore } from '../store/billing.ts'

/** Statuses of a subscription whose payment the provider waits for. */
export const OVERDUE: readonly string[] = ['past_due', 'unpaid']

export async function isOverdue(
  store: Pick<BillingStore, 'listBilling'>,
  accountId: string,
): Promise<boolean> {
  const links = await store.listBilling()
  return links.some((link) => link.accountId === accountId && OVERDUE.includes(link.status))
}
