/**
 * Charges that are not written yet. Charges of one key for one endpoint form one entry of the ledger, which grows until
 * it is taken for writing. From then on it does not change, so that after an unclear failure it can be written again
 * under the same id.
 */
import { DAY_MS } from '../core/time.ts'
import type { BudgetSpec, LedgerEntry } from '../store/accounts.ts'
import type { Charge, Payer } from './charge.ts'

/** Keeps a row of the ledger small. */
const MAX_CHARGES_PER_ENTRY = 500

interface GrowingEntry extends LedgerEntry {
  charges: { readonly id: string; readonly credits: number }[]
}

export class ChargeJournal {
  /** Oldest first. */
  #entries: LedgerEntry[] = []
  readonly #growing = new Map<string, GrowingEntry>()
  #charges = 0

  /** The number of charges, not of entries. */
  get size(): number {
    return this.#charges
  }

  get oldestMs(): number | undefined {
    return this.#entries[0]?.atMs
  }

  add(payer: Payer, charge: Charge, atMs: number, budgets: readonly BudgetSpec[]): void {
    const { id, endpoint, credits, rows, mayRepeat = false } = charge
    const { accountId, environment, keyId } = payer
    this.#charges++
    const name = mayRepeat ? undefined : nameOf(payer, endpoint, atMs, budgets)
    const known = name === undefined ? undefined : this.#growing.get(name)
    if (known !== undefined && known.charges.length < MAX_CHARGES_PER_ENTRY) {
      known.credits += credits
      known.rows += rows
      known.charges.push({ id, credits })
      return
    }
    const entry: GrowingEntry = {
      ...{ id, atMs, accountId, environment, keyId, endpoint, credits, rows, budgets },
      charges: [{ id, credits }],
    }
    this.#entries.push(entry)
    if (name !== undefined) this.#growing.set(name, entry)
  }

  /** Removes and returns all entries, to be written. */
  take(): readonly LedgerEntry[] {
    const entries = this.#entries
    this.#entries = []
    this.#growing.clear()
    this.#charges = 0
    return entries
  }

  /** For entries whose write failed, although the store may have written them. */
  putBack(entries: readonly LedgerEntry[]): void {
    this.#entries = [...entries, ...this.#entries]
    this.#charges += chargesIn(entries)
  }
}

export function chargesIn(entries: readonly LedgerEntry[]): number {
  return entries.reduce((sum, { charges }) => sum + charges.length, 0)
}

/** Charges with the same name have the same key, endpoint, day and budget periods. */
function nameOf(payer: Payer, endpoint: string, atMs: number, budgets: readonly BudgetSpec[]): string {
  const { accountId, environment, keyId } = payer
  let name = `${Math.floor(atMs / DAY_MS)} ${keyId} ${accountId} ${environment} ${endpoint}`
  for (const { id, periodStartMs } of budgets) name += ` ${id} ${periodStartMs}`
  return name
}
