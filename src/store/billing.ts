/** The storage port for what the payment provider has sent us. */
export interface BillingLink {
  /** The provider's customer id. */
  customer: string
  accountId: string
  /** Creation time of the newest applied event; older events are out of date. */
  lastEventAtMs: number
  /** The subscription that determines the plan, and its last status; both are empty before the first subscription. */
  subscription: string
  status: string
  /** When the customer's checkout named the account. */
  linkedAtMs: number
}

export interface BillingStore {
  findBilling(customer: string): Promise<BillingLink | undefined>
  listBilling(): Promise<BillingLink[]>
  /** Returns false and writes nothing if the customer's link already has a newer event. */
  linkBilling(link: BillingLink): Promise<boolean>
  /** Providers may deliver an event more than once, so its id is recorded after it was applied. */
  hasBillingEvent(id: string): Promise<boolean>
  noteBillingEvent(id: string, atMs: number): Promise<void>
}
