import { ActiveCounts } from '../kit/active-counts.ts'
import type { OwnCount } from '../store/shared-counts.ts'
import type { CountExchange, Exchanged } from './exchange-counts.ts'

/** How long the counts of a process that died still count. */
const VALID_MS = 3_000

/** What accounts have active in all processes on a store: stream connections and heavy calls. */
export class SharedActive extends ActiveCounts<string> {
  readonly #kind: string
  readonly #exchange: CountExchange
  readonly #owners = new Map<string, OwnerCount>()

  constructor(kind: string, exchange: CountExchange) {
    super()
    this.#kind = kind
    this.#exchange = exchange
  }

  override left(owner: string, limit: number): number {
    const { others } = this.#use(owner)
    const part = this.#exchange.partOf(limit)
    return (part === undefined ? limit - others : part) - this.of(owner)
  }

  override add(owner: string, amount = 1): () => void {
    const end = super.add(owner, amount)
    this.#use(owner)
    return () => {
      end()
      this.#use(owner)
    }
  }

  #use(owner: string): OwnerCount {
    let count = this.#owners.get(owner)
    if (count === undefined) {
      const dropped = () => void this.#owners.delete(owner)
      count = new OwnerCount(`${this.#kind} ${owner}`, { of: () => this.of(owner), dropped })
      this.#owners.set(owner, count)
    }
    this.#exchange.use(count)
    return count
  }
}

class OwnerCount implements Exchanged {
  readonly #name: string
  readonly #of: () => number
  readonly dropped: () => void
  others = 0

  constructor(name: string, { of, dropped }: { of: () => number; dropped: () => void }) {
    this.#name = name
    this.#of = of
    this.dropped = dropped
  }

  get isHeld(): boolean {
    return this.#of() > 0
  }

  own(): readonly OwnCount[] {
    return [{ name: this.#name, windowStartMs: 0, count: this.#of(), validMs: VALID_MS }]
  }

  learn(_: OwnCount, others: number): void {
    this.others = others
  }
}
