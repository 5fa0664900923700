/**
 * Which trades of a market are known, and their total value.
 *
 * Where a venue gives trades no id, ours is made of transaction, token and position in the transaction; and the stream
 * may send one trade where the list has several. So a transaction stays as the stream sent it, and the list
 * adds only transactions that are not known yet.
 */
import { add, type Decimal, decimal, decimalText, multiply, ZERO } from '../../core/decimal.ts'
import type { TradeObservation } from '../../venues/observation.ts'

export interface TradeDeduplicator {
  /** False for a trade that is known. */
  add(observation: TradeObservation, isStored?: boolean): boolean
  /** What was paid for all of them. */
  readonly money: string
}

export function createTradeDeduplicator(hasTransactions: boolean): TradeDeduplicator {
  const ids = new Set<string>()
  const streamed = new Set<string>()
  let money: Decimal = ZERO

  /** A stored trade does not show where it came from; but lists have whole seconds only. */
  const isOfStream = ({ isSwept, venueTimeMs }: TradeObservation, isStored: boolean) =>
    isSwept !== true && !(isStored && venueTimeMs % 1_000 === 0)

  return {
    add(observation, isStored = false) {
      const { id, price, size } = observation
      if (ids.has(id)) return false
      if (hasTransactions) {
        const transaction = id.slice(0, id.lastIndexOf('-'))
        if (isOfStream(observation, isStored)) streamed.add(transaction)
        else if (streamed.has(transaction)) return false
        money = add(money, multiply(decimal(price), decimal(size)))
      }
      ids.add(id)
      return true
    },
    get money() {
      return decimalText(money)
    },
  }
}
