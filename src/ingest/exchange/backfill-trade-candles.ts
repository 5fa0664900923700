/** Builds candles from the venue's own list of aggregate trades, and reports the time that the list does not cover. */
import type { AggregateTradeObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { checkTrade } from '../shared/check-trade.ts'
import { createCandleBuilder, type TradeFact } from './build-candles.ts'
import type { Candle } from './candle.ts'
import type { SymbolParts } from './symbol-parts.ts'

export interface TradeCandles {
  /** Candles that are complete. */
  readonly candles: readonly Candle[]
  /** The end of the answer, rounded down to whole candles. */
  readonly wholeMs: number
  /** Ranges that the venue no longer has. */
  readonly missing: readonly HistoryRange[]
  /** Candles in which a trade number is missing or a trade is invalid; a later answer may be complete. Ascending. */
  readonly broken: readonly HistoryRange[]
}

export function tradeFact(trade: AggregateTradeObservation): TradeFact {
  return {
    timeMs: trade.venueTimeMs,
    price: trade.price,
    size: trade.size,
    side: trade.side,
    fills: trade.lastTradeId - trade.firstTradeId + 1,
  }
}

export async function requestTradeCandles(
  parts: SymbolParts,
  range: HistoryRange,
  lengthMs: number,
  { isUrgent = false, onTrade }: { isUrgent?: boolean; onTrade?: (trade: TradeFact) => void } = {},
): Promise<TradeCandles> {
  const { symbol, venue, signal, writer, counts } = parts
  const builder = createCandleBuilder({ lengthMs })
  const missing: HistoryRange[] = []
  const broken = new Set<number>()
  let settledMs = range.fromMs
  let last: AggregateTradeObservation | undefined

  const startOf = (timeMs: number) => Math.floor(timeMs / lengthMs) * lengthMs
  const breakCandles = (fromMs: number, toMs: number) => {
    for (let at = startOf(fromMs); at <= toMs; at += lengthMs) broken.add(at)
  }

  function add(trade: AggregateTradeObservation): void {
    if (last !== undefined && trade.id <= last.id) return
    if (last !== undefined && trade.id > last.id + 1) breakCandles(last.venueTimeMs, trade.venueTimeMs)
    last = trade
    if (trade.venueTimeMs < range.fromMs || trade.venueTimeMs >= range.toMs) return
    const verdict = checkTrade(trade)
    if (verdict === 'empty') counts.emptyTrades += 1
    else if (verdict === 'bad') breakCandles(trade.venueTimeMs, trade.venueTimeMs)
    else {
      const fact = tradeFact(trade)
      builder.add(fact)
      onTrade?.(fact)
    }
  }

  const request = { topic: 'aggregate_trades', symbol, range, isUrgent } as const
  for await (const page of venue.history(request, { signal })) {
    for (const row of page.observations) if (row.kind === 'aggregate_trade') add(row)
    for (const lost of page.missing) missing.push(lost.range)
    settledMs = Math.max(settledMs, page.covered?.toMs ?? 0, ...page.missing.map((lost) => lost.range.toMs))
    await writer.ready()
  }
  const wholeMs = startOf(settledMs)
  const isLost = (openMs: number) =>
    broken.has(openMs) || missing.some((lost) => lost.fromMs < openMs + lengthMs && lost.toMs > openMs)
  return {
    candles: builder.take(wholeMs).filter((candle) => !isLost(candle.openMs)),
    wholeMs,
    missing,
    broken: [...broken].sort((a, b) => a - b).map((fromMs) => ({ fromMs, toMs: fromMs + lengthMs })),
  }
}
