import { nextTurn } from './time-slices.ts'

/**
 * Runs work that costs no credits in steps. The steps of one account run one after the other, each in its own turn of
 * the event loop, so that other accounts wait for at most one step of an account, however many connections and
 * subscriptions it has.
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
