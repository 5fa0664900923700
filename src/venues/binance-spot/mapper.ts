import type { SymbolMap } from '../adapter/symbol-map.ts'
import { createStreamReader } from '../binance/stream-reader.ts'
import type { FrameProtocol } from '../live/frame.ts'

export function createSpotReader(symbols: Pick<SymbolMap, 'fromVenue'>): FrameProtocol {
  return createStreamReader({ source: 'cexa', symbolOf: symbols.fromVenue })
}
