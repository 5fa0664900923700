/** The storage port for what the payment provider has sent us. */
export interface BillingLink {
  /** The provider's customer id. */
  customer: string
  accountId: string
  /** When the newest event that was applied was created; older ones are out of date. */
  lastEventAtMs: number
  /** The subscription that determines the plan, and its last status; empty before the first. */
  subscription: string
  status: string
  /** When the customer's checkout named the account. */
  linkedAtMs: number
}

export interface BillingStore {
  findBilling(customer: string): Promise<BillingLink | undefined>
  listBilling(): Promise<BillingLink[]>
  /** False, and nothing is written, where the customer's link has a newer event. */
  linkBilling(link: BillingLink): Promise<boolean>
  /** Providers deliver more than once; an event is noted after it was applied. */
  hasBillingEvent(id: string): Promise<boolean>
  noteBillingEvent(id: string, atMs: number): Promise<void>
}
