/** What the event log really held, read beside the service and without faults; the log itself forgets. */
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

  /** To be called before the log forgets anything, and before what was read is compared. */
  async readOn(): Promise<void> {
    for (;;) {
      const page = await this.#reader.events.after({ afterSeq: this.newestSeq, limit: 1_000 })
      this.events.push(...page.events)
      if (!page.more) return
    }
  }

  bySeq(seq: number): StoredEvent | undefined {
    let [low, high] = [0, this.events.length - 1]
    while (low <= high) {
      const middle = (low + high) >> 1
      const found = this.events[middle] as StoredEvent
      if (found.seq === seq) return found
      if (found.seq < seq) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }
}
