import { type BillingPeriod, billingPeriod } from '../core/billing-period.ts'
import type { BudgetSpec, CreditLeaseGrant, CreditLeaseRequest } from '../store/accounts.ts'

/**
 * The store ends a lease after 3 s. This side stops using it earlier, so that a blocked event loop cannot exceed it.
 */
const LEASE_VALID_MS = 2_000

/**
 * One budget as this process sees it: what the store last reported (`limit`, `used`), what was spent since then
 * (`unsettled`), and the lease, the part that may be spent without asking.
 *
 *   no lease ──grant──▶ leased ──spend──▶ leased … ──renewed with every settlement──▶ leased
 *      ▲                   │
 *      └── surrendered (another process waits, the account was changed), idle, or not renewed in time
 */
export class Budget {
  readonly id: string
  readonly accountId: string
  #period: BillingPeriod
  #limit = 0
  #used = 0
  #unsettled = 0
  #lease = 0
  #validUntilMs = 0
  #spentInFlight = 0
  #inFlight = false
  #settling = 0
  initialLimit: number
  billingDay: number
  wantedByOthers = false
  lastSpentMs = 0
  lastReadMs = 0

  constructor(spec: {
    id: string
    accountId: string
    initialLimit: number
    billingDay: number
    nowMs: number
  }) {
    this.id = spec.id
    this.accountId = spec.accountId
    this.initialLimit = spec.initialLimit
    this.billingDay = spec.billingDay
    this.#period = billingPeriod(spec.nowMs, spec.billingDay)
  }

  get period(): BillingPeriod {
    return this.#period
  }

  get leased(): boolean {
    return this.#lease > 0
  }

  get limit(): number {
    return this.#limit
  }

  get used(): number {
    return this.#used + this.#unsettled
  }

  get remaining(): number {
    return Math.max(0, this.#limit - this.used)
  }

  /** A new period starts with nothing spent; requests in flight still belong to the old period. */
  roll(nowMs: number): void {
    if (nowMs < this.#period.endMs && nowMs >= this.#period.startMs) return
    this.#period = billingPeriod(nowMs, this.billingDay)
    this.#limit = this.initialLimit
    this.#used = 0
    this.#unsettled = 0
    this.#lease = 0
  }

  canSpend(credits: number, nowMs: number): boolean {
    return this.#lease >= credits && nowMs < this.#validUntilMs
  }

  spend(credits: number, nowMs: number): BudgetSpec {
    this.#lease = Math.max(0, this.#lease - credits)
    this.#unsettled += credits
    if (this.#inFlight) this.#spentInFlight += credits
    this.lastSpentMs = nowMs
    return { id: this.id, periodStartMs: this.#period.startMs, initialLimit: this.initialLimit }
  }

  /** Begins a round trip to the store. `surrender` gives up the whole lease before asking again. */
  request(need: number, options: { release: boolean; surrender: boolean }): CreditLeaseRequest {
    const giveUp = options.release || options.surrender || this.wantedByOthers
    if (giveUp) this.#lease = 0
    this.#inFlight = true
    this.#spentInFlight = 0
    this.#settling = this.#unsettled
    return {
      id: this.id,
      periodStartMs: this.#period.startMs,
      initialLimit: this.initialLimit,
      keep: this.#lease,
      need,
      release: options.release,
    }
  }

  granted(grant: CreditLeaseGrant, sentAtMs: number): void {
    this.#inFlight = false
    if (grant.periodStartMs !== this.#period.startMs) return
    this.#limit = grant.limit
    this.#used = grant.used
    this.#unsettled -= this.#settling
    this.#lease = grant.granted - this.#spentInFlight
    this.#validUntilMs = sentAtMs + LEASE_VALID_MS
    this.wantedByOthers = grant.wantedByOthers
    this.lastReadMs = sentAtMs
  }

  /**
   * For a store that refuses writes and so grants no leases: until it does again, each process may spend its part of
   * what the store reports as left.
   */
  takePart(
    state: { limit: number; used: number } | undefined,
    { processes, sentAtMs }: { processes: number; sentAtMs: number },
  ): void {
    this.#limit = state?.limit ?? this.initialLimit
    this.#used = state?.used ?? 0
    const part = Math.floor(Math.max(0, this.#limit - this.#used) / processes)
    this.#lease = Math.max(0, part - this.#unsettled)
    this.#validUntilMs = sentAtMs + LEASE_VALID_MS
    this.lastReadMs = sentAtMs
  }

  /** The round trip failed, so the unsettled credits stay unsettled. */
  failed(): void {
    this.#inFlight = false
    this.#settling = 0
  }

  /**
   * Takes over the balance from the store, which alone knows it while nothing is leased. During a settlement the store
   * may already count credits that are also in `unsettled`, so the settlement's answer is awaited instead. A read that
   * began before a settlement and arrives after it is outdated and ignored.
   */
  read(state: { limit: number; used: number } | undefined, nowMs: number): void {
    if (this.#inFlight || this.leased || nowMs < this.lastReadMs) return
    this.#limit = state?.limit ?? this.initialLimit
    this.#used = state?.used ?? 0
    this.lastReadMs = nowMs
  }
}
