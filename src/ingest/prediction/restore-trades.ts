/**
 * Prints that an earlier run has stored, counted once more. A row does not say whether its print was negotiated away
 * from the book, which makes it no price; the venue does, when it tells the print again:
 *
 *   stored, its bar stands ──▶ known, not counted
 *   stored, no bar has it  ──▶ waits ──told again──▶ counted as the venue says
 *                                    ╰──  done   ──▶ counted as a price
 */
import type { TradeRow } from '../../core/rows/trade.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import type { MarketRecorder } from './record-market.ts'

export interface RestoredTrades {
  stored(row: TradeRow, isInBar: boolean): void
  /** The oldest that waits; infinity for none. */
  firstMs(): number
  /** A print that the venue tells: stored and counted where it is new. */
  told(print: TradeObservation): void
  /** The venue tells no more. */
  done(): void
}

/** `hasBlocks`: whether the venue has negotiated prints. Where it has none, nothing is to wait for. */
export function restoreTrades(recorder: MarketRecorder, hasBlocks: boolean): RestoredTrades {
  const waiting = new Map<string, TradeObservation>()
  return {
    stored(row, isInBar) {
      const print = tradeOfRow(row, recorder)
      if (isInBar || !hasBlocks) recorder.known(print, isInBar)
      else waiting.set(print.id, print)
    },
    firstMs: () => Math.min(...[...waiting.values()].map((print) => print.venueTimeMs)),
    told(print) {
      const known = waiting.get(print.id)
      waiting.delete(print.id)
      if (known === undefined) recorder.trade(print)
      else recorder.known(print.isBlock === true ? { ...known, isBlock: true } : known, false)
    },
    done() {
      for (const print of waiting.values()) recorder.known(print, false)
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
