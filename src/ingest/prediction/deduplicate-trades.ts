/**
 * Tracks which trades of a market are known, their total value and their total size.
 *
 * If a venue gives trades no id, ours consists of transaction, token and position in the transaction. The stream may
 * send one trade where the list has several, and it may lose one of several. So the list's trades of a token in a
 * transaction are compared with the known ones as a whole:
 *
 *   each known one is in the list  ──▶ the others in the list were lost, and are added at free positions
 *   a known one is not in the list ──▶ it stands for several of the list: the transaction stays as it is
 */
import { add, type Decimal, decimal, decimalText, multiply, ZERO } from '../../core/decimal.ts'
import type { Fill, TradeObservation } from '../../venues/observation.ts'

/** From the strictest to the loosest. The stream has the price of one level, the list may have the mean. */
const LIKENESSES: readonly ((a: Fill, b: Fill) => boolean)[] = [
  (a, b) => a.id === b.id && Number(a.price) === Number(b.price) && hasSameSize(a, b),
  (a, b) => Number(a.price) === Number(b.price) && hasSameSize(a, b),
  (a, b) => hasSameSize(a, b),
]

const hasSameSize = (a: Fill, b: Fill) => a.side === b.side && Number(a.size) === Number(b.size)

export class TradeDeduplicator {
  readonly #hasTransactions: boolean
  readonly #ids = new Set<string>()
  readonly #fills = new Map<string, Fill[]>()
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

  /** Whether a trade, or any other one of its transaction if it is listed, is known. */
  has(observation: TradeObservation): boolean {
    if (this.#ids.has(observation.id)) return true
    const isListed = this.#hasTransactions && observation.isSwept === true
    return isListed && this.#fills.has(transactionOf(observation))
  }

  /** Returns the trade under its final id, or undefined if it is known already. */
  add(observation: TradeObservation): TradeObservation | undefined {
    const added =
      this.#hasTransactions && observation.isSwept === true ? this.#lost(observation) : observation
    if (added === undefined || this.#ids.has(added.id)) return undefined
    const { id, price, size, side, venueTimeMs } = added
    if (this.#hasTransactions) {
      const transaction = transactionOf(added)
      const fill = { id, price, size, side }
      const known = this.#fills.get(transaction)
      if (known === undefined) this.#fills.set(transaction, [fill])
      else known.push(fill)
      this.#money = add(this.#money, multiply(decimal(price), decimal(size)))
    } else this.#sizes.push({ timeMs: venueTimeMs, size: Number(size) })
    this.#size += Number(size)
    this.#ids.add(id)
    return added
  }

  /** A listed trade that is none of the known ones, at a free position; undefined if it may be one of them. */
  #lost(listed: TradeObservation): TradeObservation | undefined {
    const known = this.#fills.get(transactionOf(listed))
    if (known === undefined) return listed
    const fills = [...(listed.fills ?? [listed])]
    const unlisted = [...known]
    for (const isLike of LIKENESSES)
      for (const fill of unlisted.slice()) {
        const place = fills.findIndex((each) => isLike(each, fill))
        if (place < 0) continue
        fills.splice(place, 1)
        unlisted.splice(unlisted.indexOf(fill), 1)
      }
    if (unlisted.length > 0 || !fills.some(({ id }) => id === listed.id)) return undefined
    return { ...listed, id: this.#freeId(listed.id) }
  }

  /** The stream counts positions as they arrive, so the position of a lost trade may be taken by another one. */
  #freeId(id: string): string {
    if (!this.#ids.has(id)) return id
    const head = id.slice(0, id.lastIndexOf('-'))
    let place = 0
    while (this.#ids.has(`${head}-${place}`)) place += 1
    return `${head}-${place}`
  }
}

/** A transaction may trade both tokens of a market; each has its own positions. */
const transactionOf = ({ id }: Pick<Fill, 'id'>) => id.slice(0, id.lastIndexOf('-'))
