/** The spot product's REST side: past, witness, book, clock. */
import { expectShape, type Walk, walkAggregateTrades, walkKlines } from '../binance/history.ts'
import { AggregateTradeRows, DepthReply, KlineRows, ServerTimeReply } from '../binance/wire.ts'
import type { Channel } from '../channel.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { notProvided } from '../history-range.ts'
import type { RestClient } from '../rest-client.ts'
import type { HistoryPage, HistoryRequest, Witness } from '../venue.ts'
import type { VenueTime } from '../venue-time.ts'
import { ExchangeInfoReply } from './wire.ts'

const API = '/api/v3'

export interface SpotRest {
  readonly pager: RestClient
  readonly deadLetters: DeadLetters
  readonly venueTime: VenueTime
}

export async function askServerTime(
  rest: Pick<SpotRest, 'pager' | 'deadLetters'>,
  signal: AbortSignal,
): Promise<{ venueMs: number; roundTripMs: number }> {
  const path = `${API}/time`
  const answer = await rest.pager.request({ path, weight: 1 }, signal)
  const { serverTime } = expectShape(ServerTimeReply, answer, path, rest.deadLetters)
  return { venueMs: serverTime, roundTripMs: answer.roundTripMs }
}

export function walkHistory(
  rest: SpotRest,
  request: HistoryRequest,
  instrument: string,
  signal: AbortSignal,
): AsyncIterable<HistoryPage> {
  const about = { source: 'cexa', symbol: request.symbol, instrument } as const
  const isUrgent = request.isUrgent === true
  const walk: Walk = { ...rest, signal, range: request.range, about, isUrgent }
  if (request.topic === 'candles' && request.interval !== undefined) {
    const price = () => ({ limit: 1_000, weight: 2 })
    return walkKlines({ ...walk, path: `${API}/klines`, interval: request.interval, price })
  }
  if (request.topic === 'aggregate_trades') {
    return walkAggregateTrades({ ...walk, path: `${API}/aggTrades`, weight: 4, afterId: request.afterId })
  }
  return onePage(notProvided(request.range))
}

async function* onePage(page: HistoryPage): AsyncGenerator<HistoryPage> {
  yield page
}

export async function askWitness(
  rest: SpotRest,
  channel: Channel,
  instrument: string,
  signal: AbortSignal,
): Promise<Witness | undefined> {
  switch (channel.topic) {
    case 'aggregate_trades': {
      const path = `${API}/aggTrades`
      const answer = await rest.pager.request(
        { path, query: { symbol: instrument, limit: 1 }, weight: 4 },
        signal,
      )
      const newest = expectShape(AggregateTradeRows, answer, path, rest.deadLetters).at(-1)
      return { newestMs: newest?.T ?? null, newestId: newest?.a ?? null }
    }
    case 'candles': {
      const path = `${API}/klines`
      const query = { symbol: instrument, interval: channel.interval, limit: 1 }
      const answer = await rest.pager.request({ path, query, weight: 2 }, signal)
      const newest = expectShape(KlineRows, answer, path, rest.deadLetters).at(-1)
      return { newestMs: newest?.[0] ?? null, newestId: newest?.[8] ?? null }
    }
    case 'best_bid_ask': {
      const path = `${API}/depth`
      const answer = await rest.pager.request(
        { path, query: { symbol: instrument, limit: 5 }, weight: 5 },
        signal,
      )
      const { lastUpdateId } = expectShape(DepthReply, answer, path, rest.deadLetters)
      return { newestMs: null, newestId: lastUpdateId }
    }
    default:
      return undefined
  }
}

/** Instruments and whether they trade. */
export async function askStatuses(
  rest: Pick<SpotRest, 'pager' | 'deadLetters'>,
  instruments: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const path = `${API}/exchangeInfo`
  const query = { symbols: JSON.stringify(instruments) }
  const answer = await rest.pager.request({ path, query, weight: 20 }, signal)
  const reply = expectShape(ExchangeInfoReply, answer, path, rest.deadLetters)
  return new Map(reply.symbols.map(({ symbol, status }) => [symbol, status]))
}
