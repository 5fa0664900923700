/**
 * The markets of one subscription, in the order in which they were added, and what was last sent of each. Hundreds are
 * looked at in every tick and few have anything to send, so the times until which they are quiet are in one array.
 */
import type { BookChanges } from '../world/book-changes.ts'
import type { Life } from '../world/life.ts'
import type { StrikeMarket } from '../world/strikes.ts'

export interface SentMarket {
  readonly market: StrikeMarket
  readonly life: Life
  /** The slot sent last. */
  slot: number | undefined
  /** Of a book that was sent; made when it is first needed. */
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

  /** Serves each market that is not quiet; `serve` returns until when it is. */
  serveDue(toMs: number, serve: (sent: SentMarket) => number): void {
    const quietUntilMs = this.#quietUntilMs
    for (let i = 0; i < quietUntilMs.length; i++)
      if (toMs >= (quietUntilMs[i] as number)) quietUntilMs[i] = serve(this.#list[i] as SentMarket)
  }

  /** Whoever was quiet is asked once more, which changes nothing. */
  #listAgain(): void {
    this.#list = [...this.#byTicker.values()]
    this.#quietUntilMs = new Float64Array(this.#list.length)
  }
}
