/** The futures product's REST side: past, polls, witness, book, clock. */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import { expectShape, type Walk, walkAggregateTrades, walkKlines } from '../binance/history.ts'
import type { About } from '../binance/mapper.ts'
import { AggregateTradeRows, DepthReply, KlineRows, ServerTimeReply } from '../binance/wire.ts'
import type { Channel } from '../channel.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { expectFit, type Fit, misfit } from '../expect-fit.ts'
import { ceilTo, notProvided, rangeOrNull, splitByAge } from '../history-range.ts'
import type { FundingObservation } from '../observation.ts'
import { type RestClient, type RestResponse, VenueError } from '../rest-client.ts'
import type { HistoryPage, HistoryRange, HistoryRequest, Witness } from '../venue.ts'
import type { VenueTime } from '../venue-time.ts'
import { binanceFuturesDescription } from './describe.ts'
import { mapFundingRows, mapOpenInterestRow } from './mapper.ts'
import { FundingRows, type FundingRowWire, OpenInterestRows, PremiumIndexReply } from './wire.ts'

const API = '/fapi/v1'
const OPEN_INTEREST_PATH = '/futures/data/openInterestHist'
const FUNDING_PATH = `${API}/fundingRate`
const FUNDING_PER_PAGE = 1_000
const OPEN_INTEREST_PER_PAGE = 500
/** Of the month of statistics so much is certain; what is older may be refused. */
const CERTAIN_STATISTICS_MS = 30 * 86_400_000
/** The oldest instant moves while we ask: stay this much inside. */
const AGE_GUARD_MS = 60_000
/** How far our clock may be behind the venue's. */
const MAX_AHEAD_MS = 24 * 3_600_000
/** The longest period of a contract: a longer time has a rate in it. */
const FUNDING_PERIOD_MS = 8 * 3_600_000
/** A settled rate is published within this time. */
const FUNDING_SETTLE_MS = 60_000

export interface FuturesRest {
  readonly pager: RestClient
  readonly deadLetters: DeadLetters
  readonly venueTime: VenueTime
}

type Where = Omit<About, 'receivedMs'>

export async function askServerTime(
  rest: Pick<FuturesRest, 'pager' | 'deadLetters'>,
  signal: AbortSignal,
): Promise<{ venueMs: number; roundTripMs: number }> {
  const path = `${API}/time`
  const answer = await rest.pager.request({ path, weight: 1 }, signal)
  const { serverTime } = expectShape(ServerTimeReply, answer, path, rest.deadLetters)
  return { venueMs: serverTime, roundTripMs: answer.roundTripMs }
}

/** Small pages are cheap per call, 499 rows are cheapest per row. */
export function klinePrice(wantedRows: number): { limit: number; weight: number } {
  return wantedRows <= 99 ? { limit: Math.max(1, wantedRows), weight: 1 } : { limit: 499, weight: 2 }
}

export async function* walkHistory(
  rest: FuturesRest,
  request: HistoryRequest,
  where: Where,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const maxAgeMs = binanceFuturesDescription.history[request.topic]?.maxAgeMs
  if (maxAgeMs === undefined) return yield notProvided(request.range)
  const venueNowMs = await rest.venueTime.now(signal)
  const oldestMs = maxAgeMs === null ? Number.NEGATIVE_INFINITY : venueNowMs - maxAgeMs + AGE_GUARD_MS
  const { lost, kept } = splitByAge(request.range, oldestMs)
  if (lost !== null) yield notProvided(lost)
  if (kept === null) return
  const isUrgent = request.isUrgent === true
  const walk: Walk = { ...rest, signal, range: kept, about: where, isUrgent }
  switch (request.topic) {
    case 'candles':
      if (request.interval === undefined) return
      yield* walkKlines({ ...walk, path: `${API}/klines`, interval: request.interval, price: klinePrice })
      return
    case 'aggregate_trades':
      yield* walkAggregateTrades({ ...walk, path: `${API}/aggTrades`, weight: 20, afterId: request.afterId })
      return
    case 'funding':
      yield* walkFunding(walk)
      return
    case 'open_interest':
      yield* walkOpenInterest(walk, request.interval ?? '5m')
  }
}

async function* walkFunding(walk: Walk): AsyncGenerator<HistoryPage> {
  const { range, about } = walk
  let fromMs = range.fromMs
  while (fromMs < range.toMs) {
    const settledMs = Math.min(range.toMs, (await walk.venueTime.now(walk.signal)) - FUNDING_SETTLE_MS)
    if (fromMs >= settledMs) return
    const { rows, answer } = await askFundingRows(walk, { fromMs, toMs: settledMs }, FUNDING_PER_PAGE)
    const last = rows.at(-1)
    // None at all in a time that has one: so it was before the listing, or the answer was wrong.
    if (last === undefined && settledMs - fromMs > FUNDING_PERIOD_MS) {
      const next = await askFundingRows(walk, { fromMs, toMs: undefined }, 1)
      const nextMs = next.rows[0]?.fundingTime ?? Number.POSITIVE_INFINITY
      if (nextMs < settledMs)
        throw misfit(`the rate of ${nextMs} was left out before`, FUNDING_PATH, next.answer, walk.deadLetters)
    }
    const isFull = rows.length >= FUNDING_PER_PAGE && last !== undefined
    const nextMs = isFull ? Math.min(last.fundingTime + 1, settledMs) : settledMs
    const observations = mapFundingRows(rows, { ...about, receivedMs: answer.receivedMs })
    yield { observations, covered: rangeOrNull(fromMs, nextMs), missing: [] }
    fromMs = nextMs
    if (!isFull) return
  }
}

/** Without an end of the range, the first rates from its start on. */
async function askFundingRows(
  walk: Walk,
  range: { readonly fromMs: number; readonly toMs: number | undefined },
  limit: number,
): Promise<{ rows: FundingRowWire[]; answer: RestResponse }> {
  const symbol = walk.about.instrument
  const endTime = range.toMs === undefined ? undefined : range.toMs - 1
  const query = { symbol, startTime: range.fromMs, endTime, limit }
  const answer = await walk.pager.request(
    { path: FUNDING_PATH, query, weight: 1, pool: 'funding', isBackground: !walk.isUrgent },
    walk.signal,
  )
  const rows = expectShape(FundingRows, answer, FUNDING_PATH, walk.deadLetters)
  const asked = { fromMs: range.fromMs, toMs: range.toMs ?? Number.POSITIVE_INFINITY }
  expectFit(rows, { ...fundingFit(symbol, asked), maxRows: limit }, answer, walk.deadLetters)
  return { rows, answer }
}

/** A dividend may be settled in the same instant as a rate. */
function fundingFit(symbol: string, range: HistoryRange): Fit<FundingRowWire> {
  return {
    origin: FUNDING_PATH,
    range,
    timeOf: (row) => row.fundingTime,
    order: 'ascending',
    fault: (row, before) =>
      symbolFault(row, symbol) ??
      (row.fundingTime === before?.fundingTime && row.rateType === before.rateType
        ? `the rate of ${row.fundingTime} twice`
        : undefined),
  }
}

const symbolFault = (row: { readonly symbol: string }, symbol: string) =>
  row.symbol === symbol ? undefined : `of ${row.symbol}, asked for ${symbol}`

/** Windows never hold more than a page, so that it does not matter from which end the venue would cut. */
async function* walkOpenInterest(walk: Walk, interval: CandleInterval): AsyncGenerator<HistoryPage> {
  const { range, about } = walk
  const stepMs = INTERVAL_MS[interval]
  let fromMs = range.fromMs
  while (fromMs < range.toMs) {
    const startTime = ceilTo(fromMs, stepMs)
    const venueNowMs = await walk.venueTime.now(walk.signal)
    const certainMs = ceilTo(venueNowMs - CERTAIN_STATISTICS_MS + AGE_GUARD_MS, stepMs)
    const isCertain = startTime >= certainMs
    const pageMs = startTime + OPEN_INTEREST_PER_PAGE * stepMs
    const toMs = Math.min(range.toMs, isCertain ? pageMs : Math.min(pageMs, certainMs))
    if (startTime >= range.toMs)
      return yield { observations: [], covered: rangeOrNull(fromMs, range.toMs), missing: [] }
    if (startTime >= venueNowMs) return
    const query = {
      symbol: about.instrument,
      period: interval,
      limit: OPEN_INTEREST_PER_PAGE,
      startTime,
      endTime: toMs - 1,
    }
    const question = {
      path: OPEN_INTEREST_PATH,
      query,
      weight: 1,
      pool: 'statistics',
      isBackground: !walk.isUrgent,
    }
    const answer = await walk.pager.request(question, walk.signal).catch((error: unknown) => {
      if (isCertain || !isTooOld(error)) throw error
      return undefined
    })
    if (answer === undefined) {
      yield notProvided({ fromMs, toMs })
      fromMs = toMs
      continue
    }
    const rows = expectShape(OpenInterestRows, answer, OPEN_INTEREST_PATH, walk.deadLetters)
    expectFit(
      rows,
      {
        origin: OPEN_INTEREST_PATH,
        range: { fromMs: startTime, toMs },
        timeOf: (row) => Number(row.timestamp),
        order: 'rising',
        maxRows: OPEN_INTEREST_PER_PAGE,
        fault: (row) =>
          symbolFault(row, about.instrument) ??
          (Number(row.timestamp) % stepMs === 0 ? undefined : `a sample off the grid of ${interval}`),
      },
      answer,
      walk.deadLetters,
    )
    const observations = rows.map((row) =>
      mapOpenInterestRow(row, { ...about, receivedMs: answer.receivedMs }),
    )
    // A sample is published some minutes late: near the present only what has come is settled.
    const newestMs = observations.at(-1)?.venueTimeMs
    const isPast = toMs <= venueNowMs - 2 * stepMs
    // The venue samples without a pause.
    if (isPast && isCertain && newestMs === undefined)
      throw misfit('no sample at all', OPEN_INTEREST_PATH, answer, walk.deadLetters)
    const settledMs = isPast ? toMs : newestMs === undefined ? fromMs : Math.min(toMs, newestMs + stepMs)
    yield { observations, covered: rangeOrNull(fromMs, settledMs), missing: [] }
    if (!isPast) return
    fromMs = toMs
  }
}

/** "parameter 'startTime' is invalid". */
function isTooOld(error: unknown): boolean {
  return error instanceof VenueError && error.isFinal && error.message.includes('-1130')
}

/** The two newest settled rates; two, because their distance is the period. */
export async function askNewestFunding(
  rest: FuturesRest,
  where: Where,
  signal: AbortSignal,
): Promise<FundingObservation[]> {
  const query = { symbol: where.instrument, limit: 2 }
  const answer = await rest.pager.request({ path: FUNDING_PATH, query, weight: 1, pool: 'funding' }, signal)
  const rows = expectShape(FundingRows, answer, FUNDING_PATH, rest.deadLetters)
  const everMs = { fromMs: 0, toMs: answer.receivedMs + MAX_AHEAD_MS }
  expectFit(rows, { ...fundingFit(where.instrument, everMs), maxRows: 2 }, answer, rest.deadLetters)
  return mapFundingRows(rows, { ...where, receivedMs: answer.receivedMs })
}

export async function askWitness(
  rest: FuturesRest,
  channel: Channel,
  where: Where,
  signal: AbortSignal,
): Promise<Witness | undefined> {
  const symbol = where.instrument
  switch (channel.topic) {
    case 'aggregate_trades': {
      const path = `${API}/aggTrades`
      const answer = await rest.pager.request({ path, query: { symbol, limit: 1 }, weight: 20 }, signal)
      const newest = expectShape(AggregateTradeRows, answer, path, rest.deadLetters).at(-1)
      return { newestMs: newest?.T ?? null, newestId: newest?.a ?? null }
    }
    case 'candles': {
      const path = `${API}/klines`
      const query = { symbol, interval: channel.interval, limit: 1 }
      const answer = await rest.pager.request({ path, query, weight: 1 }, signal)
      const newest = expectShape(KlineRows, answer, path, rest.deadLetters).at(-1)
      return { newestMs: newest?.[0] ?? null, newestId: newest?.[8] ?? null }
    }
    case 'best_bid_ask': {
      const path = `${API}/depth`
      const answer = await rest.pager.request({ path, query: { symbol, limit: 5 }, weight: 2 }, signal)
      const { T, lastUpdateId } = expectShape(DepthReply, answer, path, rest.deadLetters)
      return { newestMs: T ?? null, newestId: lastUpdateId }
    }
    case 'funding':
      return {
        newestMs: (await askNewestFunding(rest, where, signal)).at(-1)?.venueTimeMs ?? null,
        newestId: null,
      }
    default:
      return undefined
  }
}

export async function askMarkLine(
  rest: FuturesRest,
  instrument: string,
  signal: AbortSignal,
): Promise<string> {
  const path = `${API}/premiumIndex`
  const answer = await rest.pager.request({ path, query: { symbol: instrument }, weight: 1 }, signal)
  const reply = expectShape(PremiumIndexReply, answer, path, rest.deadLetters)
  return `${reply.symbol} mark ${reply.markPrice}`
}
