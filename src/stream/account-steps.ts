import { nextTurn } from '../kit/time-slices.ts'

/**
 * Work that costs no credits, in steps. Those of one account run one after the other, each in a turn of the loop of its
 * own: however many connections and subscriptions an account has, others wait behind one step of it.
 */
export class AccountSteps {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(accountId: string, step: () => Promise<T>): Promise<T> {
    const before = this.#last.get(accountId) ?? Promise.resolve()
    const result = before.then(nextTurn).then(step)
    const ended: Promise<void> = result.then(noop, noop).then(() => {
      if (this.#last.get(accountId) === ended) this.#last.delete(accountId)
    })
    this.#last.set(accountId, ended)
    return result
  }
}

function noop(): void {}
