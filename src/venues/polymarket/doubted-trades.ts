/**
 * Decides when an empty list of trades is believed although the market's record shows a volume. The list is doubted at
 * first; if it stays empty for half an hour, the volume itself is wrong, and finality must not wait for it forever.
 */
import { DOUBTED_FOR_MS, type DoubtedTime, doubtedAgain } from '../doubted-time.ts'

/** Beyond this number, the market that has been doubted longest is forgotten. */
const MAX_MARKETS = 1_000

export class DoubtedTrades {
  readonly #markets = new Map<string, DoubtedTime>()

  /** Called with every empty list of a traded market. */
  isBelieved(marketId: string, nowMs: number): boolean {
    const doubted = doubtedAgain(this.#markets.get(marketId), nowMs)
    this.#markets.delete(marketId)
    this.#markets.set(marketId, doubted)
    if (this.#markets.size > MAX_MARKETS) {
      const [oldest = ''] = this.#markets.keys()
      this.#markets.delete(oldest)
    }
    return doubted.doubtedMs >= DOUBTED_FOR_MS
  }

  /** The venue lists trades of the market. */
  settled(marketId: string): void {
    this.#markets.delete(marketId)
  }
}
