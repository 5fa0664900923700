/**
 * The markets that a catalogue knows, by id and by symbol. They are read every second but change only every half
 * minute, so the list of a symbol stays the same array until one of its markets changes.
 */
import type { AssetSymbol } from '../../core/symbol.ts'

export class KnownMarkets<T> {
  readonly #byId = new Map<string, T>()
  readonly #bySymbol = new Map<AssetSymbol, Map<string, T>>()
  readonly #lists = new Map<AssetSymbol, readonly T[]>()

  get(id: string): T | undefined {
    return this.#byId.get(id)
  }

  set(symbol: AssetSymbol, id: string, market: T): void {
    if (this.#byId.get(id) === market) return
    this.#byId.set(id, market)
    this.#of(symbol).set(id, market)
    this.#lists.delete(symbol)
  }

  delete(symbol: AssetSymbol, id: string): void {
    this.#byId.delete(id)
    this.#of(symbol).delete(id)
    this.#lists.delete(symbol)
  }

  count(symbol: AssetSymbol): number {
    return this.#of(symbol).size
  }

  /** In the order in which they became known. */
  of(symbol: AssetSymbol): readonly T[] {
    const known = this.#lists.get(symbol)
    if (known !== undefined) return known
    const list = [...this.#of(symbol).values()]
    this.#lists.set(symbol, list)
    return list
  }

  /** Like `of`, but iterates over the live collection and therefore sees changes made meanwhile. */
  values(symbol: AssetSymbol): Iterable<T> {
    return this.#of(symbol).values()
  }

  #of(symbol: AssetSymbol): Map<string, T> {
    const markets = this.#bySymbol.get(symbol) ?? new Map<string, T>()
    this.#bySymbol.set(symbol, markets)
    return markets
  }
}
