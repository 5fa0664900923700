/**
 * A strike at one certain write of a store: the process dies or the write fails, just before or just after the commit.
 * Between two writes that belong together is where a half of them can get lost, and chance alone seldom hits it.
 */
export interface Strike {
  readonly store: 'accounts' | 'jobs'
  readonly when: 'before' | 'after'
  readonly what: 'kill' | 'fail'
  /** Writes until then. */
  left: number
}

export class Strikes {
  readonly #armed = new Set<Strike>()

  /** The returned function calls it off. */
  arm(strike: Strike): () => void {
    this.#armed.add(strike)
    return () => this.#armed.delete(strike)
  }

  /** The store with its writes under threat. */
  over<S extends object>(
    name: Strike['store'],
    store: S,
    options: { isWrite: (operation: string) => boolean; kill: () => void },
  ): S {
    return new Proxy(store, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member)
        if (typeof value !== 'function' || typeof member !== 'string' || !options.isWrite(member))
          return value
        return (...args: unknown[]) => {
          const strike = this.#next(name)
          if (strike?.when === 'before') return this.#hit(strike, options.kill)
          const result: unknown = value.apply(target, args)
          return strike === undefined ? result : this.#hit(strike, options.kill)
        }
      },
    })
  }

  #next(name: Strike['store']): Strike | undefined {
    for (const strike of this.#armed) {
      if (strike.store !== name || --strike.left > 0) continue
      this.#armed.delete(strike)
      return strike
    }
    return undefined
  }

  #hit({ what }: Strike, kill: () => void): Promise<never> {
    if (what === 'fail') return Promise.reject(new Error('disk I/O error'))
    kill()
    return new Promise(() => {})
  }
}
