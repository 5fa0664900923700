/**
 * Which trades of a market are known, and their total value.
 *
 * Where a venue gives trades no id, ours is made of transaction, token and position in the transaction; and the stream
 * may send one trade where the list has several. So a transaction stays as the stream sent it, and the list
 * adds only transactions that are not known yet.
 */
import { add, type Decimal, decimal, decimalText, multiply, ZERO } from '../../core/decimal.ts'
import type { TradeObservation } from '../../venues/observation.ts'

export class TradeDeduplicator {
  readonly #hasTransactions: boolean
  readonly #ids = new Set<string>()
  readonly #streamed = new Set<string>()
  #money: Decimal = ZERO

  constructor(hasTransactions: boolean) {
    this.#hasTransactions = hasTransactions
  }

  /** What was paid for all of them. */
  get money(): string {
    return decimalText(this.#money)
  }

  has(observation: TradeObservation, isStored = false): boolean {
    const { id } = observation
    if (this.#ids.has(id)) return true
    return (
      this.#hasTransactions &&
      !isOfStream(observation, isStored) &&
      this.#streamed.has(transactionOf(observation))
    )
  }

  /** False for a trade that is known. */
  add(observation: TradeObservation, isStored = false): boolean {
    if (this.has(observation, isStored)) return false
    const { id, price, size } = observation
    if (this.#hasTransactions) {
      if (isOfStream(observation, isStored)) this.#streamed.add(transactionOf(observation))
      this.#money = add(this.#money, multiply(decimal(price), decimal(size)))
    }
    this.#ids.add(id)
    return true
  }
}

const transactionOf = ({ id }: TradeObservation) => id.slice(0, id.lastIndexOf('-'))

/** A stored trade does not show where it came from; but lists have whole seconds only. */
function isOfStream({ isSwept, venueTimeMs }: TradeObservation, isStored: boolean): boolean {
  return isSwept !== true && !(isStored && venueTimeMs % 1_000 === 0)
}
