/** What the event log really contained, read without faults and before the log drops it. */
import type { ChainStores } from '../../../src/store/chain.ts'
import type { StoredEvent } from '../../../src/store/events.ts'

export class LogTruth {
  readonly events: StoredEvent[] = []
  readonly #reader: ChainStores

  constructor(reader: ChainStores) {
    this.#reader = reader
  }

  get newestSeq(): number {
    return this.events.at(-1)?.seq ?? 0
  }

  /** Must be called before the log drops anything, and before anything is compared. */
  async readOn(): Promise<void> {
    for (;;) {
      const page = await this.#reader.events.after({ afterSeq: this.newestSeq, limit: 1_000 })
      this.events.push(...page.events)
      if (!page.more) return
    }
  }

  bySeq(seq: number): StoredEvent | undefined {
    const found = this.events[this.#placeOf(seq)]
    return found?.seq === seq ? found : undefined
  }

  /** Events after one number, up to and including another. */
  between(afterSeq: number, upToSeq: number): StoredEvent[] {
    return this.events.slice(this.#placeOf(afterSeq + 1), this.#placeOf(upToSeq + 1))
  }

  /** The index of the first event with this number or a higher one. */
  #placeOf(seq: number): number {
    let [low, high] = [0, this.events.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.events[middle] as StoredEvent).seq < seq) low = middle + 1
      else high = middle
    }
    return low
  }
}
