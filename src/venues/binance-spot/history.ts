/** The spot product's history and trading status. */
import { type HistoryWalk, walkKlines } from '../binance/history.ts'
import { walkAggregateTrades } from '../binance/walk-trades.ts'
import { notProvided } from '../rest/history-range.ts'
import { type RestAccess, requestTyped } from '../rest/typed-request.ts'
import type { VenueTime } from '../rest/venue-time.ts'
import type { HistoryPage, HistoryRequest } from '../venue.ts'
import { ExchangeInfoReply } from './wire.ts'

export const SPOT_API = '/api/v3'

export interface SpotRest extends RestAccess {
  readonly venueTime: VenueTime
}

export function walkHistory(
  rest: SpotRest,
  request: HistoryRequest,
  instrument: string,
  signal: AbortSignal,
): AsyncIterable<HistoryPage> {
  const about = { source: 'cexa', symbol: request.symbol, instrument } as const
  const isUrgent = request.isUrgent === true
  const walk: HistoryWalk = { ...rest, signal, range: request.range, about, isUrgent }
  if (request.topic === 'candles' && request.interval !== undefined) {
    const price = () => ({ limit: 1_000, weight: 2 })
    return walkKlines({ ...walk, path: `${SPOT_API}/klines`, interval: request.interval, price })
  }
  if (request.topic === 'aggregate_trades') {
    return walkAggregateTrades({
      ...walk,
      path: `${SPOT_API}/aggTrades`,
      weight: 4,
      afterId: request.afterId,
    })
  }
  return onePage(notProvided(request.range))
}

async function* onePage(page: HistoryPage): AsyncGenerator<HistoryPage> {
  yield page
}

/** The trading status of each instrument. */
export async function askStatuses(
  rest: RestAccess,
  instruments: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const query = { symbols: JSON.stringify(instruments) }
  const request = { path: `${SPOT_API}/exchangeInfo`, query, weight: 20 }
  const { value } = await requestTyped(rest, request, ExchangeInfoReply, signal)
  return new Map(value.symbols.map(({ symbol, status }) => [symbol, status]))
}
