/** The spot product's REST side: past, witness, book, clock. */
import { expectShape, type Walk, walkAggregateTrades, walkKlines } from '../binance/history.ts'
import { mapDepthReply } from '../binance/mapper.ts'
import { AggregateTradeRows, DepthReply, KlineRows, ServerTimeReply } from '../binance/wire.ts'
import type { Channel } from '../channel.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { notProvided } from '../history-range.ts'
import type { BookSnapshotObservation } from '../observation.ts'
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
  if (request.topic === 'klines' && request.interval !== undefined) {
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
    case 'trades':
    case 'aggregate_trades': {
      const path = `${API}/aggTrades`
      const answer = await rest.pager.request(
        { path, query: { symbol: instrument, limit: 1 }, weight: 4 },
        signal,
      )
      const newest = expectShape(AggregateTradeRows, answer, path, rest.deadLetters).at(-1)
      if (newest === undefined) return { newestMs: null, newestId: null }
      return { newestMs: newest.T, newestId: channel.topic === 'trades' ? newest.l : newest.a }
    }
    case 'klines': {
      const path = `${API}/klines`
      const query = { symbol: instrument, interval: channel.interval, limit: 1 }
      const answer = await rest.pager.request({ path, query, weight: 2 }, signal)
      const newest = expectShape(KlineRows, answer, path, rest.deadLetters).at(-1)
      return { newestMs: newest?.[0] ?? null, newestId: newest?.[8] ?? null }
    }
    case 'best_bid_ask':
    case 'book_diff': {
      const book = await askBook(rest, channel.symbol, instrument, 5, signal)
      return { newestMs: null, newestId: book.lastUpdateId }
    }
    default:
      return undefined
  }
}

/** Depth → weight, as the venue bills it. */
const DEPTH_WEIGHTS = [
  [100, 5],
  [500, 25],
  [1_000, 50],
  [5_000, 250],
] as const

export async function askBook(
  rest: SpotRest,
  symbol: Channel['symbol'],
  instrument: string,
  depth: number,
  signal: AbortSignal,
): Promise<BookSnapshotObservation> {
  const path = `${API}/depth`
  const limit = Math.min(depth, 5_000)
  const weight = DEPTH_WEIGHTS.find(([upTo]) => limit <= upTo)?.[1] ?? 250
  const answer = await rest.pager.request({ path, query: { symbol: instrument, limit }, weight }, signal)
  const reply = expectShape(DepthReply, answer, path, rest.deadLetters)
  return mapDepthReply(reply, { source: 'cexa', symbol, instrument, receivedMs: answer.receivedMs })
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
