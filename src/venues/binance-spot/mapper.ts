/** Rows that only the spot product serves → observations; the rest is shared with the futures. */
import { type About, mapTrade } from '../binance/mapper.ts'
import { createStreamReader } from '../binance/stream-reader.ts'
import type { FrameProtocol } from '../frame.ts'
import type { TradeObservation } from '../observation.ts'
import type { SymbolMap } from '../symbol-map.ts'

export interface TradeRowWire {
  readonly id: number
  readonly price: string
  readonly qty: string
  readonly time: number
  readonly isBuyerMaker: boolean
}

export function mapTradeRow(row: TradeRowWire, about: About): TradeObservation {
  return mapTrade({ t: row.id, p: row.price, q: row.qty, T: row.time, m: row.isBuyerMaker }, about)
}

export function createSpotReader(symbols: Pick<SymbolMap, 'fromVenue'>): FrameProtocol {
  return createStreamReader({ source: 'cexa', symbolOf: symbols.fromVenue })
}
