/**
 * Counts the trades that an earlier run stored. A row does not show whether its trade was negotiated away from the book
 * and therefore sets no price; the venue shows it when it sends the trade again:
 *
 *   stored, its candle is known       ──▶ known, not counted
 *   stored, its candle shows that it
 *   has no price                      ──▶ waits ──sent again──▶ counted as the venue marks it
 *                                            ╰──done──▶ counted without a price
 *   stored, no candle contains it     ──▶ waits ──sent again──▶ counted as the venue marks it
 *                                            ├──done, not sent again──▶ counted as a price
 *                                            ╰──done, too new to be sent──▶ the recorder counts it when it is sent
 *   received while it is restored     ──▶ left to the recorder, which has its mark
 */
import type { TradeRow } from '../../core/rows/schemas.ts'
import type { ExactRow } from '../../store/scan-rows.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { MarketRecorder } from './record-market.ts'

export type RestoredTrades = ReturnType<typeof restoreTrades>

/** `hasBlocks`: whether the venue has negotiated trades. If it has none, no trade waits. */
export function restoreTrades(recorder: MarketRecorder, hasBlocks: boolean) {
  const waiting = new Map<string, TradeObservation>()
  return {
    stored(row: ExactRow<TradeRow>, isInCandle: boolean) {
      const trade = tradeOfRow(row, recorder)
      if (isInCandle || !hasBlocks) recorder.known(trade, isInCandle)
      else if (!recorder.hasPut(trade.id)) waiting.set(trade.id, trade)
    },
    /** Takes a stored trade that was negotiated away from the book, unless the venue sends it without that mark. */
    block(row: ExactRow<TradeRow>) {
      const trade = tradeOfRow(row, recorder)
      if (!recorder.hasPut(trade.id)) waiting.set(trade.id, { ...trade, isBlock: true })
    },
    /** Time of the oldest waiting trade; infinite if none waits. */
    firstMs: () =>
      waiting.values().reduce((first, trade) => Math.min(first, trade.venueTimeMs), Number.POSITIVE_INFINITY),
    /** Takes a trade from the venue, which is stored and counted if it is new. */
    received(trade: TradeObservation) {
      const known = waiting.get(trade.id)
      waiting.delete(trade.id)
      if (known === undefined) recorder.trade(trade)
      else {
        const { isBlock: _, ...unmarked } = known
        recorder.known(trade.isBlock === true ? { ...known, isBlock: true } : unmarked, false)
      }
    },
    /** Called when the venue has sent everything before an instant. */
    done(sentToMs: number) {
      for (const trade of waiting.values())
        if (trade.venueTimeMs < sentToMs) recorder.known(trade, false)
        else recorder.unmarked(trade)
      waiting.clear()
    },
  }
}

function tradeOfRow(row: ExactRow<TradeRow>, { market }: MarketRecorder): TradeObservation {
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
    price: row.price,
    size: row.size,
    side: row.side === 'sell' ? 'sell' : 'buy',
  }
}
