/**
 * Trades that an earlier run stored, counted again. A row does not show whether its trade was negotiated away from the
 * book, and so is no price; the venue does, when it sends the trade again:
 *
 *   stored, its candle is known ──▶ known, not counted
 *   stored, no candle has it  ──▶ waits ──sent again──▶ counted as the venue marks it
 *                                    ╰──  done   ──▶ counted as a price
 */
import type { TradeRow } from '../../core/rows/schemas.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { MarketRecorder } from './record-market.ts'

export type RestoredTrades = ReturnType<typeof restoreTrades>

/** `hasBlocks`: whether the venue has negotiated trades. Where it has none, no trade waits. */
export function restoreTrades(recorder: MarketRecorder, hasBlocks: boolean) {
  const waiting = new Map<string, TradeObservation>()
  return {
    stored(row: TradeRow, isInCandle: boolean) {
      const trade = tradeOfRow(row, recorder)
      if (isInCandle || !hasBlocks) recorder.known(trade, isInCandle)
      else waiting.set(trade.id, trade)
    },
    /** Time of the oldest trade that waits; infinity if none does. */
    firstMs: () => Math.min(...[...waiting.values()].map((trade) => trade.venueTimeMs)),
    /** A trade from the venue: stored and counted where it is new. */
    received(trade: TradeObservation) {
      const known = waiting.get(trade.id)
      waiting.delete(trade.id)
      if (known === undefined) recorder.trade(trade)
      else recorder.known(trade.isBlock === true ? { ...known, isBlock: true } : known, false)
    },
    /** The venue has sent everything. */
    done() {
      for (const trade of waiting.values()) recorder.known(trade, false)
      waiting.clear()
    },
  }
}

function tradeOfRow(row: TradeRow, { market }: MarketRecorder): TradeObservation {
  const timeMs = Date.parse(row.timestamp)
  return {
    kind: 'trade',
    source: market.source,
    symbol: market.symbol,
    instrument: row.token_id ?? market.marketId,
    venueTimeMs: timeMs,
    receivedMs: timeMs,
    key: row.trade_id,
    id: row.trade_id,
    price: String(row.price),
    size: String(row.size),
    side: row.side === 'sell' ? 'sell' : 'buy',
  }
}
