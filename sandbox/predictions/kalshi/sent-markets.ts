/**
 * The markets of one subscription, in the order in which they were added, and what was last sent for each. Every tick
 * checks hundreds of them and few have anything to send, so the times until which they are quiet are in one array.
 */
import type { BookChanges } from '../world/book-changes.ts'
import type { Life } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'

export interface SentMarket {
  readonly market: StrikeMarket
  readonly life: Life
  /** The last slot sent. */
  slot: number | undefined
  /** For a book that was sent; created on first use. */
  changes?: BookChanges
}

export class SentMarkets {
  readonly #byTicker = new Map<string, SentMarket>()
  #list: SentMarket[] = []
  /** Nothing happens in a market before its time. */
  #quietUntilMs = new Float64Array(0)

  get size(): number {
    return this.#byTicker.size
  }

  has(ticker: string): boolean {
    return this.#byTicker.has(ticker)
  }

  get(ticker: string): SentMarket | undefined {
    return this.#byTicker.get(ticker)
  }

  tickers(): string[] {
    return [...this.#byTicker.keys()]
  }

  add(sent: SentMarket): void {
    this.#byTicker.set(sent.market.ticker, sent)
    this.#listAgain()
  }

  delete(ticker: string): void {
    if (this.#byTicker.delete(ticker)) this.#listAgain()
  }

  /** Serves each market that is not quiet; `serve` returns the time until which it is. */
  serveDue(toMs: number, serve: (sent: SentMarket) => number): void {
    const quietUntilMs = this.#quietUntilMs
    for (let i = 0; i < quietUntilMs.length; i++)
      if (toMs >= (quietUntilMs[i] as number)) quietUntilMs[i] = serve(this.#list[i] as SentMarket)
  }

  /** Resets the quiet times; serving a quiet market once more changes nothing. */
  #listAgain(): void {
    this.#list = [...this.#byTicker.values()]
    this.#quietUntilMs = new Float64Array(this.#list.length)
  }
}
