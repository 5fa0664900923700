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

const sizeOf = ({ side, size }: Fill) => `${side} ${Number(size)}`
const pricedSizeOf = (fill: Fill) => `${sizeOf(fill)} ${Number(fill.price)}`
/**
 * In what two fills must be the same, from the strictest to the loosest. The stream has the price of one level, the list
 * may have the mean.
 */
const LIKENESSES: readonly ((fill: Fill) => string)[] = [
  (fill) => `${pricedSizeOf(fill)} ${fill.id}`,
  pricedSizeOf,
  sizeOf,
]

const isSameList = (a: readonly Fill[], b: readonly Fill[]): boolean =>
  a === b ||
  (a.length === b.length &&
    a.every((fill, place) => {
      const other = b[place]
      const { id, price, size, side } = fill
      return other?.id === id && other.price === price && other.size === size && other.side === side
    }))

/** The listed fills of a transaction that are none of the known ones; none if a known one is not in the list. */
function lostFills(listed: readonly Fill[], known: readonly Fill[]): Set<Fill> {
  const lost = new Set(listed)
  let unlisted = known
  for (const likenessOf of LIKENESSES) {
    const alike = Map.groupBy(lost, likenessOf)
    for (const fills of alike.values()) fills.reverse()
    unlisted = unlisted.filter((fill) => {
      const found = alike.get(likenessOf(fill))?.pop()
      return found === undefined || !lost.delete(found)
    })
  }
  return unlisted.length > 0 ? new Set() : lost
}

/** What a list has of a transaction that is not known. */
interface ComparedList {
  readonly transaction: string
  readonly fills: readonly Fill[]
  /** How many fills were known. */
  known: number
  readonly lostIds: Set<string>
  /** All positions before this one are taken. */
  freePlace: number
}

export class TradeDeduplicator {
  readonly #hasTransactions: boolean
  readonly #ids = new Set<string>()
  readonly #fills = new Map<string, Fill[]>()
  /** Kept from one trade of a list to the next, because a transaction may have hundreds. */
  #compared: ComparedList | undefined
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
    const transaction = transactionOf(listed)
    const known = this.#fills.get(transaction)
    if (known === undefined) return listed
    const compared = this.#compare(transaction, listed.fills ?? [listed], known)
    if (!compared.lostIds.delete(listed.id)) return undefined
    // It is known from now on.
    compared.known += 1
    return { ...listed, id: this.#freeId(listed.id, compared) }
  }

  #compare(transaction: string, fills: readonly Fill[], known: readonly Fill[]): ComparedList {
    const before = this.#compared
    const isBefore = before?.transaction === transaction && before.known === known.length
    if (isBefore && isSameList(before.fills, fills)) return before
    const lostIds = new Set([...lostFills(fills, known)].map(({ id }) => id))
    this.#compared = { transaction, fills, known: known.length, lostIds, freePlace: 0 }
    return this.#compared
  }

  /** The stream counts positions as they arrive, so the position of a lost trade may be taken by another one. */
  #freeId(id: string, compared: ComparedList): string {
    if (!this.#ids.has(id)) return id
    const head = compared.transaction
    while (this.#ids.has(`${head}-${compared.freePlace}`)) compared.freePlace += 1
    return `${head}-${compared.freePlace}`
  }
}

/** A transaction may trade both tokens of a market; each has its own positions. */
const transactionOf = ({ id }: Pick<Fill, 'id'>) => id.slice(0, id.lastIndexOf('-'))
