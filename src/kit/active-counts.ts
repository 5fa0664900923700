/** How much each owner has active: calls, connections, credits. An owner with nothing active takes no memory. */
export class ActiveCounts<Owner> {
  readonly #counts = new Map<Owner, number>()

  of(owner: Owner): number {
    return this.#counts.get(owner) ?? 0
  }

  /** How many more the owner may have. */
  left(owner: Owner, limit: number): number {
    return limit - this.of(owner)
  }

  /** Counts until the returned function is called; calling it again does nothing. */
  add(owner: Owner, amount = 1): () => void {
    this.#change(owner, amount)
    let isCounted = true
    return () => {
      if (isCounted) this.#change(owner, -amount)
      isCounted = false
    }
  }

  #change(owner: Owner, by: number): void {
    const count = this.of(owner) + by
    if (count > 0) this.#counts.set(owner, count)
    else this.#counts.delete(owner)
  }
}
