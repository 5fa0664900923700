import { createStreamReader } from '../binance/stream-reader.ts'
import type { FrameProtocol } from '../frame.ts'
import type { SymbolMap } from '../symbol-map.ts'

export function createSpotReader(symbols: Pick<SymbolMap, 'fromVenue'>): FrameProtocol {
  return createStreamReader({ source: 'cexa', symbolOf: symbols.fromVenue })
}
