/** A map that forgets what was not used for the longest time, bounded by count and optionally by weight. */
export class Lru<K, V> {
  #entries = new Map<K, { value: V; weight: number }>()
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
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: K, value: V): void {
    this.delete(key)
    const weight = this.#weigh(value)
    if (weight > this.#maxWeight) return
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    while (this.#entries.size > this.#maxEntries || this.#weight > this.#maxWeight) {
      const oldest = this.#entries.keys().next()
      if (oldest.done) return
      this.delete(oldest.value)
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
    this.#weight = 0
  }
}
