/**
 * Charges for which too little is leased wait here until the store has answered. They are served in the order of their
 * arrival, from whatever is leased by then.
 */
import { StoreUnavailableError, WritesRefusedError } from '../core/store-unavailable.ts'
import { type Clock, elapsedMs, runAfter } from '../kit/clock.ts'
import type { AccountsStore } from '../store/accounts.ts'
import type { Budget } from './budget.ts'
import type { Charge, Payer } from './charge.ts'
import { STORE_PATIENCE_MS } from './store-patience.ts'

/** Longer than the lease of a process that died. */
const MAX_WAIT_MS = 4_000

interface Waiter {
  payer: Payer
  charge: Charge
  sinceMs: number
  resolve: (paid: boolean) => void
  reject: (error: Error) => void
  /** Set once the charge was answered, so that it is not paid any more. */
  isOver: boolean
}

export class WaitingCharges {
  readonly #store: Pick<AccountsStore, 'budget'>
  readonly #clock: Clock
  readonly #processes: (() => number) | undefined
  readonly #spend: (payer: Payer, charge: Charge, nowMs: number) => boolean
  #waiters: Waiter[] = []

  /**
   * @param deps.processes the last known number of spending processes; given if they may continue while the store
   * refuses writes
   * @param deps.spend pays from what is leased, if that is enough
   */
  constructor(deps: {
    store: Pick<AccountsStore, 'budget'>
    clock: Clock
    processes?: (() => number) | undefined
    spend: (payer: Payer, charge: Charge, nowMs: number) => boolean
  }) {
    this.#store = deps.store
    this.#clock = deps.clock
    this.#processes = deps.processes
    this.#spend = deps.spend
  }

  get size(): number {
    return this.#waiters.length
  }

  /** True when paid, false when the balance cannot pay; rejects when the store does not answer in time. */
  add(payer: Payer, charge: Charge): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const end = () => {
      cancel()
      waiter.isOver = true
    }
    const waiter: Waiter = {
      ...{ payer, charge, sinceMs: elapsedMs(this.#clock), isOver: false },
      resolve(paid) {
        end()
        resolve(paid)
      },
      reject(error) {
        end()
        reject(error)
      },
    }
    // Round trips may take longer than any caller should wait.
    const cancel = runAfter(this.#clock, STORE_PATIENCE_MS, () => {
      this.#waiters = this.#waiters.filter((each) => each !== waiter)
      waiter.reject(tooSlow())
    })
    this.#waiters.push(waiter)
    return promise
  }

  /** Charges on the same budget are served first come, first served. */
  hasBefore(payer: Payer): boolean {
    if (this.#waiters.length === 0) return false
    return this.#waiters.some((waiter) => waiter.payer.budgets[0] === payer.budgets[0])
  }

  /** What the first waiting charge of each budget needs. */
  needs(): Map<Budget, number> {
    const needs = new Map<Budget, number>()
    for (const { payer, charge } of this.#waiters) {
      for (const budget of payer.budgets) if (!needs.has(budget)) needs.set(budget, charge.credits)
    }
    return needs
  }

  /** Called when the store has leased what it could. */
  serve(): void {
    const nowMs = this.#clock.now()
    const waiting = this.#waiters
    this.#waiters = []
    for (const waiter of waiting) {
      const { payer, charge } = waiter
      if (this.#spend(payer, charge, nowMs)) waiter.resolve(true)
      else if (isFinal(payer, charge)) waiter.resolve(false)
      else if (elapsedMs(this.#clock) - waiter.sinceMs <= MAX_WAIT_MS) this.#waiters.push(waiter)
      // The balance could pay, but leases expire before the store answers, or others do not give theirs back.
      else waiter.reject(tooSlow())
    }
  }

  /** Called when the store has leased nothing: charges that cannot be paid without it are rejected. */
  async fail(failure: Error): Promise<void> {
    // Charges that arrive in the meantime are served by the next round trip.
    const waiting = this.#waiters.splice(0)
    if (failure instanceof WritesRefusedError)
      await this.#takeParts(new Set(waiting.flatMap(({ payer }) => payer.budgets)))
    for (const waiter of waiting) {
      if (waiter.isOver) continue
      if (this.#spend(waiter.payer, waiter.charge, this.#clock.now())) waiter.resolve(true)
      else waiter.reject(failure)
    }
  }

  /** Rejects all waiting charges. */
  close(): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error('the ledger is closed'))
  }

  /** While the store answers reads but refuses writes, each process spends its part of what is left. */
  async #takeParts(budgets: Iterable<Budget>): Promise<void> {
    const processes = this.#processes?.()
    if (processes === undefined) return
    const sentAtMs = this.#clock.now()
    for (const budget of budgets) {
      const { startMs } = budget.period
      const state = await this.#store.budget({ id: budget.id, periodStartMs: startMs }).catch(() => null)
      if (state !== null && budget.period.startMs === startMs) budget.takePart(state, { processes, sentAtMs })
    }
  }
}

/** Whether some budget could not pay even if every other process gave back what it holds. */
function isFinal(payer: Payer, charge: Charge): boolean {
  return payer.budgets.some((budget) => budget.remaining < charge.credits)
}

const tooSlow = () => new StoreUnavailableError('The store takes too long to lease credits.')
