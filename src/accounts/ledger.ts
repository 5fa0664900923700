import { StoreUnavailableError, WritesRefusedError } from '../core/store-unavailable.ts'
import { type Clock, elapsedMs, runAfter } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { AccountsStore, LedgerEntry, UsageCount } from '../store/accounts.ts'
import { Budget } from './budget.ts'
import type { Charge, Payer } from './charge.ts'
import { ChargeJournal, chargesIn } from './charge-journal.ts'
import { inTime } from './store-patience.ts'
import { WaitingCharges } from './waiting-charges.ts'

/**
 * Spends credits in memory from leased budgets and writes the charges in batches.
 *
 *   charge ──enough leased──▶ spent at once ──▶ journal (≤ SETTLE_DELAY_MS) ──▶ store
 *      └──not enough──▶ wait for the store's answer ──▶ spent, or refused for good
 *
 * A charge is refused only when the store has confirmed that nobody else holds the missing credits. While the store
 * answers reads but refuses writes, each process spends its part of what is left and writes the charges afterwards.
 */
const SETTLE_DELAY_MS = 100
const IDLE_RELEASE_MS = 1_000
const RETRY_WANTED_MS = 40
const RETRY_FAILED_MS = 250
/**
 * How long the journal is held back after the store accepted a small write but refused the journal, as on a full disk.
 */
const REFUSED_PAUSE_MS = 5_000
/** How long `close` retries failed writes. */
const MAX_CLOSE_MS = 2_000
const MAX_UNSETTLED_CHARGES = 200_000
/** The time of a key's last use is written at most this often. */
const KEY_SEEN_STEP_MS = 10_000

export class Ledger {
  readonly #store: AccountsStore
  readonly #clock: Clock
  readonly #log: Logger
  readonly #holder: string
  readonly #waiting: WaitingCharges
  readonly #budgets = new Map<string, Budget>()
  readonly #reads = new Map<Budget, { readonly periodStartMs: number; readonly done: Promise<void> }>()
  readonly #dirty = new Set<Budget>()
  readonly #surrender = new Set<Budget>()
  readonly #journal = new ChargeJournal()
  /** Entries on their way to the store. */
  #settling: readonly LedgerEntry[] = []
  #counts = new Map<string, UsageCount>()
  #keysSeen = new Map<string, number>()
  readonly #keyWritten = new Map<string, number>()
  /** Undefined while no timer is set. */
  #cancelTimer: (() => void) | undefined
  #timerAtMs = 0
  #timerDelayMs = 0
  #running: Promise<void> | undefined
  #again = false
  /** Whether the last round trip to the store failed. */
  #hasFailed = false
  /** Whether the last round trip was refused as a write. Until one is accepted, the journal is not sent. */
  #isRefused = false
  /** Set when the journal was refused although a small write was accepted. */
  #refusal: { readonly error: WritesRefusedError; readonly untilMs: number } | undefined
  /** Start of the first round trip since the last successful one; undefined after a success. */
  #unansweredSinceMs: number | undefined
  #closed = false

  /**
   * @param deps.holder identifies this run of this process among those that lease credits
   * @param deps.processes the last known number of spending processes; given if they may continue while the store
   * refuses writes
   */
  constructor(deps: {
    store: AccountsStore
    holder: string
    clock: Clock
    log: Logger
    processes?: (() => number) | undefined
  }) {
    this.#store = deps.store
    this.#holder = deps.holder
    this.#clock = deps.clock
    this.#log = deps.log
    const { store, clock, processes } = deps
    const spend = this.#spend.bind(this)
    this.#waiting = new WaitingCharges({ store, clock, processes, spend })
  }

  /**
   * The shared state of a budget. Opening it again takes over a changed plan or billing day, unless `spec` may be older
   * than what is known.
   */
  open(
    spec: { id: string; accountId: string; initialLimit: number; billingDay: number },
    { isCurrent } = { isCurrent: true },
  ): Budget {
    const known = this.#budgets.get(spec.id)
    if (known !== undefined) {
      if (!isCurrent) return known
      known.initialLimit = spec.initialLimit
      known.billingDay = spec.billingDay
      return known
    }
    const budget = new Budget({ ...spec, nowMs: this.#clock.now() })
    this.#budgets.set(spec.id, budget)
    return budget
  }

  /** Reads balances from the store where this process holds no lease and so cannot know them. */
  async refresh(budgets: readonly Budget[], nowMs: number): Promise<void> {
    for (const budget of budgets) {
      budget.roll(nowMs)
      if (budget.leased || nowMs - budget.lastReadMs < SETTLE_DELAY_MS) continue
      await this.#read(budget, nowMs)
    }
  }

  /** Concurrent callers share one read, because an account without credits may ask as often as its rate allows. */
  #read(budget: Budget, nowMs: number): Promise<void> {
    const known = this.#reads.get(budget)
    const { startMs } = budget.period
    if (known?.periodStartMs === startMs) return known.done
    const read = {
      periodStartMs: startMs,
      done: inTime(this.#clock, this.#store.budget({ id: budget.id, periodStartMs: startMs }))
        .then((state) => {
          if (budget.period.startMs === startMs) budget.read(state, nowMs)
        })
        .finally(() => {
          if (this.#reads.get(budget) === read) this.#reads.delete(budget)
        }),
    }
    this.#reads.set(budget, read)
    return read.done
  }

  /** Whether `refresh` would have nothing to do; this spares the hot path a promise. */
  isFresh(budgets: readonly Budget[], nowMs: number): boolean {
    return budgets.every(
      (budget) =>
        nowMs < budget.period.endMs &&
        nowMs >= budget.period.startMs &&
        (budget.leased || nowMs - budget.lastReadMs < SETTLE_DELAY_MS),
    )
  }

  /** Why no charge is accepted now; an operation that cannot be undone must not begin then. */
  get overload(): StoreUnavailableError | undefined {
    if (this.#journal.size < MAX_UNSETTLED_CHARGES) return undefined
    return new StoreUnavailableError('Too many charges are not yet written.')
  }

  /** True when paid, false when the balance cannot pay; rejects when the store cannot be reached. */
  charge(payer: Payer, charge: Charge): boolean | Promise<boolean> {
    const nowMs = this.#clock.now()
    const { overload } = this
    if (overload !== undefined) return Promise.reject(overload)
    if (!this.#waiting.hasBefore(payer) && this.#spend(payer, charge, nowMs)) return true
    const paid = this.#waiting.add(payer, charge)
    this.#kick()
    return paid
  }

  /**
   * For operations that cannot be undone: the charge is written when the store accepts charges again, whatever the
   * balance is then. The caller has checked the balance before.
   */
  owe(payer: Payer, charge: Charge): void {
    this.#enter(payer, charge, this.#clock.now())
  }

  /** Counts a request that costs no credits. */
  count(
    payer: Pick<Payer, 'accountId' | 'environment' | 'keyId'>,
    endpoint: string,
    outcome: 'free' | 'failed' | 'rate_limited',
  ): void {
    // The account is part of the name, because all dashboard users share one key id.
    const name = `${payer.accountId}/${payer.environment} ${payer.keyId} ${endpoint}`
    let count = this.#counts.get(name)
    if (count === undefined) {
      const { accountId, environment, keyId } = payer
      const atMs = this.#clock.now()
      count = { atMs, accountId, environment, keyId, endpoint, requests: 0, failed: 0, rateLimited: 0 }
      this.#counts.set(name, count)
      this.#schedule(SETTLE_DELAY_MS)
    }
    if (outcome === 'free') count.requests++
    else if (outcome === 'failed') count.failed++
    else count.rateLimited++
    this.#see(payer.keyId)
  }

  /** The accounts were changed, so their leases are given up and requested again. */
  reload(accountIds: readonly string[]): void {
    const changed = new Set(accountIds)
    for (const budget of this.#budgets.values()) {
      if (!changed.has(budget.accountId)) continue
      budget.lastReadMs = 0
      this.#reads.delete(budget)
      if (budget.leased) {
        this.#dirty.add(budget)
        this.#surrender.add(budget)
      }
    }
    if (this.#surrender.size > 0) this.#kick()
  }

  /** Another process waits for credits, so this one settles what it spent and shares what is left. */
  yieldLeases(): void {
    for (const budget of this.#budgets.values()) {
      if (!budget.leased) continue
      this.#dirty.add(budget)
      this.#surrender.add(budget)
    }
    if (this.#dirty.size > 0) this.#kick()
  }

  /**
   * The number of unwritten charges, and for how long none could be written. That is more than the age of the oldest:
   * if nothing is leased, a store that refuses writes prevents any charge from being made at all.
   */
  backlog(): { charges: number; delayMs: number } {
    const [settling] = this.#settling
    const madeMs = settling?.atMs ?? this.#journal.oldestMs
    const oldestMs = madeMs === undefined ? 0 : this.#clock.now() - madeMs
    const sinceMs = this.#unansweredSinceMs
    const unansweredMs = sinceMs === undefined ? 0 : elapsedMs(this.#clock) - sinceMs
    return {
      charges: chargesIn(this.#settling) + this.#journal.size,
      delayMs: Math.max(0, oldestMs, unansweredMs),
    }
  }

  /** Writes everything that is not written yet; after `limitMs` it leaves behind what the store does not accept. */
  async flush(limitMs = Number.POSITIVE_INFINITY): Promise<void> {
    const endsAt = elapsedMs(this.#clock) + limitMs
    while (this.#running !== undefined || this.#hasUnwritten()) {
      this.#refusal = undefined
      this.#kick()
      await this.#running
      if (!this.#hasFailed) continue
      if (elapsedMs(this.#clock) >= endsAt) return
      // Without a pause, a store that refuses immediately would keep the event loop busy.
      await this.#clock.sleep(RETRY_FAILED_MS)
    }
  }

  /** Rejects when charges could not be written. */
  async close(): Promise<void> {
    await this.flush(MAX_CLOSE_MS)
    this.#closed = true
    this.#refusal = undefined
    this.#cancelTimer?.()
    for (const budget of this.#budgets.values()) if (budget.leased) this.#dirty.add(budget)
    this.#kick()
    await this.#running
    this.#waiting.close()
    if (this.#hasUnwritten()) throw new Error(`${this.#journal.size} charges could not be written`)
  }

  #hasUnwritten(): boolean {
    return this.#journal.size > 0 || this.#counts.size > 0
  }

  #spend(payer: Payer, charge: Charge, nowMs: number): boolean {
    for (const budget of payer.budgets) {
      budget.roll(nowMs)
      if (!budget.canSpend(charge.credits, nowMs)) return false
    }
    this.#enter(payer, charge, nowMs)
    return true
  }

  #enter(payer: Payer, charge: Charge, nowMs: number): void {
    const budgets = payer.budgets.map((budget) => {
      this.#dirty.add(budget)
      return budget.spend(charge.credits, nowMs)
    })
    this.#journal.add(payer, charge, nowMs, budgets)
    charge.onSpent?.()
    this.#see(payer.keyId)
    this.#schedule(SETTLE_DELAY_MS)
  }

  #see(keyId: string): void {
    const nowMs = this.#clock.now()
    if (nowMs - (this.#keyWritten.get(keyId) ?? 0) < KEY_SEEN_STEP_MS) return
    this.#keyWritten.set(keyId, nowMs)
    this.#keysSeen.set(keyId, nowMs)
  }

  #schedule(delayMs: number): void {
    if (this.#closed) return
    // Called for every charge: a timer already set for the same or a shorter delay fires earlier anyway.
    if (this.#cancelTimer !== undefined && this.#timerDelayMs <= delayMs) return
    const atMs = elapsedMs(this.#clock) + delayMs
    if (this.#cancelTimer !== undefined && this.#timerAtMs <= atMs) return
    this.#cancelTimer?.()
    this.#timerAtMs = atMs
    this.#timerDelayMs = delayMs
    this.#cancelTimer = runAfter(this.#clock, delayMs, () => {
      this.#cancelTimer = undefined
      this.#kick()
    })
  }

  /** Only one round trip runs at a time; a call during one starts the next right after it. */
  #kick(): void {
    if (this.#running !== undefined) {
      this.#again = true
      return
    }
    // A run without work would end before `#running` is set, and would then look like one that never ends.
    if (!this.#hasWork()) return
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    do {
      this.#again = false
      if (this.#hasWork()) await this.#roundTrip()
    } while (this.#again)
    this.#running = undefined
    this.#afterRoundTrip()
  }

  #hasWork(): boolean {
    return this.#hasUnwritten() || this.#waiting.size > 0 || this.#dirty.size > 0 || this.#keysSeen.size > 0
  }

  async #roundTrip(): Promise<void> {
    this.#unansweredSinceMs ??= elapsedMs(this.#clock)
    const wasRefused = this.#isRefused
    if (wasRefused) {
      const refusal = this.#refusal
      if (refusal !== undefined && elapsedMs(this.#clock) < refusal.untilMs)
        return this.#failed(refusal.error, [])
      if (this.#dirty.size > 0 && !(await this.#tryToWrite())) return
    }
    const nowMs = this.#clock.now()
    const entries = this.#journal.take()
    this.#settling = entries
    const counts = this.#counts
    const keysSeen = [...this.#keysSeen].map(([keyId, atMs]) => ({ keyId, atMs }))
    this.#counts = new Map()
    this.#keysSeen = new Map()
    const needs = this.#waiting.needs()
    const asked = [...new Set([...this.#dirty, ...needs.keys()])]
    const leases = asked.map((budget) => {
      budget.roll(nowMs)
      const idle = nowMs - budget.lastSpentMs >= IDLE_RELEASE_MS && !needs.has(budget)
      return budget.request(needs.get(budget) ?? 0, {
        release: this.#closed || idle,
        surrender: this.#surrender.has(budget),
      })
    })
    this.#dirty.clear()
    this.#surrender.clear()
    try {
      const grants = await this.#store.settle({
        holder: this.#holder,
        entries,
        counts: [...counts.values()],
        keysSeen,
        leases,
      })
      for (const [index, grant] of grants.entries()) asked[index]?.granted(grant, nowMs)
      this.#hasFailed = false
      this.#isRefused = false
      this.#refusal = undefined
      this.#unansweredSinceMs = undefined
      this.#settling = []
      this.#waiting.serve()
    } catch (error) {
      this.#settling = []
      // Entry ids are unique, so writing them again after an unclear failure charges nobody twice.
      this.#journal.putBack(entries)
      // Counts have no ids: if they may have been written, they are dropped rather than counted twice.
      const mayBeDone = error instanceof StoreUnavailableError && error.mayBeDone
      if (!mayBeDone)
        for (const [name, count] of counts) this.#counts.set(name, mergeCounts(count, this.#counts.get(name)))
      for (const { keyId, atMs } of keysSeen) if (!this.#keysSeen.has(keyId)) this.#keysSeen.set(keyId, atMs)
      if (wasRefused && error instanceof WritesRefusedError)
        this.#refusal = { error, untilMs: elapsedMs(this.#clock) + REFUSED_PAUSE_MS }
      await this.#failed(error, asked)
    }
  }

  /**
   * Tests whether the store accepts writes again, by requesting leases for the dirty budgets. What it grants is not
   * used, because the charges in the journal are not yet counted in it. Meanwhile the journal's entries grow but stay
   * few.
   */
  async #tryToWrite(): Promise<boolean> {
    const asked = [...this.#dirty]
    const leases = asked.map((budget) => {
      budget.roll(this.#clock.now())
      return budget.request(0, { release: false, surrender: false })
    })
    try {
      await this.#store.settle({ holder: this.#holder, entries: [], counts: [], keysSeen: [], leases })
      for (const budget of asked) budget.failed()
      return true
    } catch (error) {
      await this.#failed(error, asked)
      return false
    }
  }

  async #failed(error: unknown, asked: readonly Budget[]): Promise<void> {
    // Logged once and not with every retry.
    if (!this.#hasFailed) this.#log.error({ err: error }, 'charges could not be written')
    this.#hasFailed = true
    this.#isRefused = error instanceof WritesRefusedError
    for (const budget of asked) {
      budget.failed()
      this.#dirty.add(budget)
    }
    await this.#waiting.fail(error instanceof Error ? error : new Error(String(error)))
    this.#schedule(RETRY_FAILED_MS)
  }

  #afterRoundTrip(): void {
    if (this.#closed) return
    if (this.#waiting.size > 0) this.#schedule(RETRY_WANTED_MS)
    else if (this.#journal.size > 0) this.#schedule(SETTLE_DELAY_MS)
    for (const budget of this.#budgets.values()) {
      if (!budget.leased) continue
      this.#dirty.add(budget)
      this.#schedule(IDLE_RELEASE_MS)
    }
  }
}

function mergeCounts(a: UsageCount, b: UsageCount | undefined): UsageCount {
  if (b === undefined) return a
  return {
    ...a,
    requests: a.requests + b.requests,
    failed: a.failed + b.failed,
    rateLimited: a.rateLimited + b.rateLimited,
  }
}
