/** The toy's messages → observations. */
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { CandleObservation, TradeObservation } from '../../../src/venues/observation.ts'
import type { TradeWire } from './wire.ts'

const MINUTE_MS = 60_000

export function mapTrade(wire: TradeWire, symbol: AssetSymbol, receivedMs: number): TradeObservation {
  const key = String(wire.n)
  return {
    ...{ kind: 'trade', source: 'cexa', symbol, instrument: wire.coin, venueTimeMs: wire.t, receivedMs },
    ...{ key, id: key, price: wire.px, size: '1', side: 'buy' },
  }
}

export const mapCandle = (wire: { t: number; px: string }, receivedMs: number): CandleObservation => ({
  ...{ kind: 'candle', source: 'cexa', symbol: 'BTC', instrument: 'XBT', interval: '1m', receivedMs },
  ...{ venueTimeMs: wire.t + MINUTE_MS, key: null, openTimeMs: wire.t, closeTimeMs: wire.t + MINUTE_MS - 1 },
  ...{ closed: true, open: wire.px, high: wire.px, low: wire.px, close: wire.px, volume: '2', tradeCount: 1 },
  ...{ quoteVolume: null, takerBuyVolume: null, takerBuyQuoteVolume: null },
})
