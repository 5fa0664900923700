/**
 * A map bounded by count and optionally by weight, which evicts what was not used for a long time. It uses the clock
 * algorithm (a read only marks an entry, and a marked entry is spared once), so that a read costs no more than in a
 * plain map.
 */
export class Lru<K, V> {
  #entries = new Map<K, { value: V; weight: number; used: boolean }>()
  /** Circles over the entries and points at the next candidate for eviction. */
  #hand = this.#entries.entries()
  #weight = 0
  readonly #maxEntries: number
  readonly #maxWeight: number
  readonly #weigh: (value: V) => number

  constructor(limits: { maxEntries: number; maxWeight?: number; weigh?: (value: V) => number }) {
    this.#maxEntries = limits.maxEntries
    this.#maxWeight = limits.maxWeight ?? Number.POSITIVE_INFINITY
    this.#weigh = limits.weigh ?? (() => 1)
  }

  get size(): number {
    return this.#entries.size
  }

  get weight(): number {
    return this.#weight
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.used = true
    return entry.value
  }

  set(key: K, value: V): void {
    this.delete(key)
    const weight = this.#weigh(value)
    if (weight > this.#maxWeight) return
    this.#makeRoom(weight)
    this.#entries.set(key, { value, weight, used: false })
    this.#weight += weight
  }

  #makeRoom(weight: number): void {
    while (this.#entries.size >= this.#maxEntries || this.#weight + weight > this.#maxWeight) {
      const next = this.#hand.next()
      if (next.done) {
        if (this.#entries.size === 0) return
        this.#hand = this.#entries.entries()
        continue
      }
      const [key, entry] = next.value
      if (entry.used) entry.used = false
      else this.delete(key)
    }
  }

  delete(key: K): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }

  clear(): void {
    this.#entries.clear()
    this.#hand = this.#entries.entries()
    this.#weight = 0
  }
}
