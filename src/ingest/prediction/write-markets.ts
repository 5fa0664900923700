/** Writes the catalogue in batches; of several entries of a market only the newest is written. */
import type { MarketInput } from '../../core/rows/market.ts'
import { RowError } from '../../core/rows/row-error.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'

export type MarketWriter = ReturnType<typeof createMarketWriter>

export function createMarketWriter(options: { store: Pick<EnvironmentStore, 'write'>; log: Logger }) {
  const { store, log } = options
  let waiting = new Map<string, MarketInput>()

  /** An entry that cannot be written must not hold up the others, so while the store fails it is tried last. */
  async function oneByOne(entries: readonly MarketInput[]): Promise<void> {
    for (const [index, market] of entries.entries()) {
      try {
        await store.write({ markets: [market] })
      } catch (error) {
        log.error({ market: market.marketId, err: error }, 'a market could not be written')
        if (!(error instanceof RowError)) return putBack([...entries.slice(index + 1), market])
      }
    }
  }

  function putBack(entries: readonly MarketInput[]): void {
    for (const market of entries) if (!waiting.has(market.marketId)) waiting.set(market.marketId, market)
  }

  return {
    put: (market: MarketInput) => void waiting.set(market.marketId, market),
    /**
     * Writes all waiting entries. If the store fails, they wait for the next call; entries that it refuses are dropped.
     */
    async flush() {
      if (waiting.size === 0) return
      const entries = [...waiting.values()]
      waiting = new Map()
      try {
        await store.write({ markets: entries })
      } catch {
        await oneByOne(entries)
      }
    },
  }
}
