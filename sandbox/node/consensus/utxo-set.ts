/**
 * The unspent outputs, indexed by script. Every change goes through a log, so that a chain block can be undone and
 * applied again, and through a watch, which yields the net difference of a whole virtual update.
 */
import type { UtxoEntry } from './model.ts'

export interface UtxoChange {
  key: string
  entry: UtxoEntry
  created: boolean
}

export interface UtxoDifference {
  added: { key: string; entry: UtxoEntry }[]
  removed: { key: string; entry: UtxoEntry }[]
}

const NONE: ReadonlyMap<string, UtxoEntry> = new Map()

export class UtxoSet {
  readonly #entries = new Map<string, UtxoEntry>()
  readonly #byScript = new Map<string, Map<string, UtxoEntry>>()
  #watch: Map<string, UtxoEntry | undefined> | undefined
  #total = 0n

  get size(): number {
    return this.#entries.size
  }

  /** All sompi in existence. */
  get total(): bigint {
    return this.#total
  }

  get(key: string): UtxoEntry | undefined {
    return this.#entries.get(key)
  }

  ofScript(scriptPublicKey: string): ReadonlyMap<string, UtxoEntry> {
    return this.#byScript.get(scriptPublicKey) ?? NONE
  }

  entries(): IterableIterator<[string, UtxoEntry]> {
    return this.#entries.entries()
  }

  apply({ key, entry, created }: UtxoChange): void {
    this.#watchKey(key)
    if (created) this.#add(key, entry)
    else this.#delete(key, entry)
  }

  redo(log: readonly UtxoChange[]): void {
    for (const change of log) this.apply(change)
  }

  undo(log: readonly UtxoChange[]): void {
    for (let i = log.length - 1; i >= 0; i--) {
      const change = log[i]
      if (change !== undefined) this.apply({ ...change, created: !change.created })
    }
  }

  /** Starts watching; the returned function ends it and returns what changed in between. */
  watch(): () => UtxoDifference {
    const before = new Map<string, UtxoEntry | undefined>()
    this.#watch = before
    return () => {
      this.#watch = undefined
      const difference: UtxoDifference = { added: [], removed: [] }
      for (const [key, old] of before) {
        const now = this.#entries.get(key)
        if (old !== undefined && now !== undefined && old.blockDaaScore === now.blockDaaScore) continue
        if (old !== undefined) difference.removed.push({ key, entry: old })
        if (now !== undefined) difference.added.push({ key, entry: now })
      }
      return difference
    }
  }

  #watchKey(key: string): void {
    if (this.#watch !== undefined && !this.#watch.has(key)) this.#watch.set(key, this.#entries.get(key))
  }

  #add(key: string, entry: UtxoEntry): void {
    this.#entries.set(key, entry)
    this.#total += entry.amount
    const owned = this.#byScript.get(entry.scriptPublicKey)
    if (owned === undefined) this.#byScript.set(entry.scriptPublicKey, new Map([[key, entry]]))
    else owned.set(key, entry)
  }

  #delete(key: string, entry: UtxoEntry): void {
    this.#entries.delete(key)
    this.#total -= entry.amount
    const owned = this.#byScript.get(entry.scriptPublicKey)
    owned?.delete(key)
    if (owned?.size === 0) this.#byScript.delete(entry.scriptPublicKey)
  }
}
