/**
 * Tracks which trades of a market are known, their total value and their total size.
 *
 * If a venue gives trades no id, ours consists of transaction, token and position in the transaction. The stream may
 * send one trade where the list has several, so a transaction stays as the stream sent it, and the list adds only
 * transactions that are not known yet.
 *
 * A stored trade does not show where it came from. The times of lists are whole seconds, so one with milliseconds was
 * streamed. One without them was listed if the list has it at the same time with the same price and size; until then
 * its transaction stays as it is.
 */
import { add, type Decimal, decimal, decimalText, multiply, ZERO } from '../../core/decimal.ts'
import type { TradeObservation } from '../../venues/observation.ts'

export class TradeDeduplicator {
  readonly #hasTransactions: boolean
  readonly #ids = new Set<string>()
  readonly #streamed = new Set<string>()
  /** Stored trades that may have been listed or streamed, by transaction. */
  readonly #unsure = new Map<string, TradeObservation[]>()
  #money: Decimal = ZERO
  #size = 0
  /** The times and sizes of all known trades; empty if the venue has transactions, because it counts no pieces. */
  readonly #sizes: { readonly timeMs: number; readonly size: number }[] = []

  constructor(hasTransactions: boolean) {
    this.#hasTransactions = hasTransactions
  }

  /** The total value of all known trades. */
  get money(): string {
    return decimalText(this.#money)
  }

  /** How many pieces were traded in all known trades. */
  get size(): number {
    return this.#size
  }

  /** The same for the trades up to an instant; 0 if the venue has transactions. */
  sizeTo(endMs: number): number {
    return this.#sizes.reduce((sum, { timeMs, size }) => (timeMs <= endMs ? sum + size : sum), 0)
  }

  has(observation: TradeObservation, isStored = false): boolean {
    const { id } = observation
    if (this.#ids.has(id)) return true
    if (!this.#hasTransactions || isOfStream(observation, isStored)) return false
    const transaction = transactionOf(observation)
    return this.#streamed.has(transaction) || (!isStored && this.#unsure.has(transaction))
  }

  /** Returns false for a trade that is already known. */
  add(observation: TradeObservation, isStored = false): boolean {
    if (observation.isSwept === true) this.#compare(observation)
    if (this.has(observation, isStored)) return false
    const { id, price, size, venueTimeMs } = observation
    if (this.#hasTransactions) {
      const transaction = transactionOf(observation)
      if (isOfStream(observation, isStored)) this.#streamed.add(transaction)
      else if (isStored)
        this.#unsure.set(transaction, [...(this.#unsure.get(transaction) ?? []), observation])
      this.#money = add(this.#money, multiply(decimal(price), decimal(size)))
    } else this.#sizes.push({ timeMs: venueTimeMs, size: Number(size) })
    this.#size += Number(size)
    this.#ids.add(id)
    return true
  }

  /** Decides where the stored trades of a transaction came from. All its trades are listed with the same time. */
  #compare(listed: TradeObservation): void {
    const transaction = transactionOf(listed)
    const stored = this.#unsure.get(transaction)
    if (stored === undefined) return
    const same = stored.find(({ id }) => id === listed.id)
    const isStreamed =
      stored.some(({ venueTimeMs }) => venueTimeMs !== listed.venueTimeMs) ||
      (same !== undefined && !isEqual(same, listed))
    if (isStreamed) this.#streamed.add(transaction)
    if (isStreamed || same !== undefined) this.#unsure.delete(transaction)
  }
}

const isEqual = (a: TradeObservation, b: TradeObservation) =>
  Number(a.price) === Number(b.price) && Number(a.size) === Number(b.size)

const transactionOf = ({ id }: TradeObservation) => id.slice(0, id.lastIndexOf('-'))

/** False for a stored trade that may have been streamed on a whole second. */
function isOfStream({ isSwept, venueTimeMs }: TradeObservation, isStored: boolean): boolean {
  return isSwept !== true && !(isStored && venueTimeMs % 1_000 === 0)
}
