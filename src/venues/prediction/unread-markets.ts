/** Reports every list with markets that could not be read, and once when all can be read again. */
import type { MarketType } from '../../core/rows/market.ts'
import type { DataObservation } from '../observation.ts'

export function createUnreadMarkets() {
  /** Symbols whose last list could not be read in full. */
  const unread = new Set<string>()
  return (
    about: Pick<DataObservation, 'source' | 'symbol' | 'instrument' | 'receivedMs'>,
    marketTypes: readonly MarketType[],
  ): DataObservation[] => {
    const wasUnread = unread.delete(about.symbol)
    if (marketTypes.length > 0) unread.add(about.symbol)
    if (marketTypes.length === 0 && !wasUnread) return []
    return [{ kind: 'unread_markets', ...about, venueTimeMs: about.receivedMs, key: null, marketTypes }]
  }
}
