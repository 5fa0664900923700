/** The futures product's history, polls and witness. */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import {
  askWitness,
  type HistoryWalk,
  type WitnessWeights,
  walkAggregateTrades,
  walkKlines,
} from '../binance/history.ts'
import type { About } from '../binance/mapper.ts'
import type { Channel } from '../channel.ts'
import type { FundingObservation } from '../observation.ts'
import { expectFit, type Fit, misfit } from '../rest/expect-fit.ts'
import { ceilTo, floorTo, notProvided, rangeOrNull, splitByAge } from '../rest/history-range.ts'
import { type RestResponse, VenueError } from '../rest/rest-client.ts'
import { type RestAccess, requestTyped } from '../rest/typed-request.ts'
import type { VenueTime } from '../rest/venue-time.ts'
import type { HistoryPage, HistoryRange, HistoryRequest, Witness } from '../venue.ts'
import { binanceFuturesDescription } from './describe.ts'
import { mapFundingRows, mapOpenInterestRow } from './mapper.ts'
import {
  FundingRows,
  type FundingRowWire,
  OpenInterestRows,
  type OpenInterestRowWire,
  PremiumIndexReply,
} from './wire.ts'

export const FUTURES_API = '/fapi/v1'
const WEIGHTS: WitnessWeights = { trades: 20, candles: 1, book: 2 }
const OPEN_INTEREST_PATH = '/futures/data/openInterestHist'
const FUNDING_PATH = `${FUTURES_API}/fundingRate`
const FUNDING_PER_PAGE = 1_000
const OPEN_INTEREST_PER_PAGE = 500
/** Requested before and after a time without a sample. */
const SAMPLES_AROUND = 12
/** Of the month of statistics so much is certain; what is older may be refused. */
const CERTAIN_STATISTICS_MS = 30 * 86_400_000
/** The oldest instant moves while we ask: stay this much inside. */
const AGE_GUARD_MS = 60_000
/** How far our clock may be behind the venue's. */
const MAX_AHEAD_MS = 24 * 3_600_000
const HOUR_MS = 3_600_000
/** The longest period of a contract: a longer time has a rate in it. */
const FUNDING_PERIOD_MS = 8 * HOUR_MS
/** A settled rate is published within this time. */
const FUNDING_SETTLE_MS = 60_000

export interface FuturesRest extends RestAccess {
  readonly venueTime: VenueTime
}

type Where = Omit<About, 'receivedMs'>

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
  const walk: HistoryWalk = { ...rest, signal, range: kept, about: where, isUrgent }
  switch (request.topic) {
    case 'candles':
      if (request.interval === undefined) return
      yield* walkKlines({
        ...walk,
        path: `${FUTURES_API}/klines`,
        interval: request.interval,
        price: klinePrice,
      })
      return
    case 'aggregate_trades':
      yield* walkAggregateTrades({
        ...walk,
        path: `${FUTURES_API}/aggTrades`,
        weight: 20,
        afterId: request.afterId,
      })
      return
    case 'funding':
      yield* walkFunding(walk)
      return
    case 'open_interest':
      yield* walkOpenInterest(walk, request.interval ?? '5m')
  }
}

async function* walkFunding(walk: HistoryWalk): AsyncGenerator<HistoryPage> {
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
    const readMs = last === undefined ? fromMs : last.fundingTime + 1
    const next = isFull ? { dueMs: readMs } : await nextFunding(walk, readMs, settledMs)
    const nextMs = Math.min(settledMs, Math.max(readMs, next.dueMs))
    const observations = mapFundingRows(rows, { ...about, receivedMs: answer.receivedMs }, next.periodMs)
    yield { observations, covered: rangeOrNull(fromMs, nextMs), missing: [] }
    fromMs = nextMs
    if (!isFull) return
  }
}

/**
 * When the next rate is due, at the earliest, as far as the venue's newest rates show it: an answer that is older than a
 * rate, or that was cut, does not prove that there was none. Rates are settled on the hour. One of them that an answer left
 * out shows that the answer was for another time.
 */
async function nextFunding(
  walk: HistoryWalk,
  fromMs: number,
  toMs: number,
): Promise<{ dueMs: number; periodMs?: number }> {
  if (ceilTo(fromMs, HOUR_MS) >= toMs) return { dueMs: toMs }
  const [first, second] = await askNewestFunding(walk, walk.about, walk.signal)
  if (first === undefined) return { dueMs: toMs }
  for (const { venueTimeMs, receivedMs } of second === undefined ? [first] : [first, second]) {
    if (venueTimeMs < fromMs || venueTimeMs >= toMs) continue
    const answer = { receivedMs, text: '' }
    throw misfit(`the rate of ${venueTimeMs} was left out before`, FUNDING_PATH, answer, walk.deadLetters)
  }
  const periodMs =
    second === undefined ? FUNDING_PERIOD_MS : Math.max(HOUR_MS, second.fundingTimeMs - first.fundingTimeMs)
  return { dueMs: floorTo((second ?? first).fundingTimeMs + periodMs, HOUR_MS), periodMs }
}

/** Without an end of the range, the first rates from its start on. */
async function askFundingRows(
  walk: HistoryWalk,
  range: { readonly fromMs: number; readonly toMs: number | undefined },
  limit: number,
): Promise<{ rows: FundingRowWire[]; answer: RestResponse }> {
  const symbol = walk.about.instrument
  const endTime = range.toMs === undefined ? undefined : range.toMs - 1
  const query = { symbol, startTime: range.fromMs, endTime, limit }
  const request = { path: FUNDING_PATH, query, weight: 1, pool: 'funding', isBackground: !walk.isUrgent }
  const { value: rows, answer } = await requestTyped(walk, request, FundingRows, walk.signal)
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
async function* walkOpenInterest(walk: HistoryWalk, interval: CandleInterval): AsyncGenerator<HistoryPage> {
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
    const asked = askOpenInterest(walk, interval, { fromMs: startTime, toMs })
    const page = await asked.catch((error: unknown) => {
      if (isCertain || !isTooOld(error)) throw error
      return undefined
    })
    if (page === undefined) {
      yield notProvided({ fromMs, toMs })
      fromMs = toMs
      continue
    }
    const { rows, answer } = page
    const observations = rows.map((row) =>
      mapOpenInterestRow(row, { ...about, receivedMs: answer.receivedMs }),
    )
    // A sample is published some minutes late: near the present only what has come is settled.
    const newestMs = observations.at(-1)?.venueTimeMs
    const isPast = toMs <= venueNowMs - 2 * stepMs
    const isEmpty = isPast && isCertain && newestMs === undefined
    if (isEmpty) await expectNoSample(walk, interval, { fromMs: startTime, toMs }, certainMs)
    const readMs = newestMs === undefined ? fromMs : Math.min(toMs, newestMs + stepMs)
    // What the answer lacks at its end may have been cut off, and is requested again.
    const settledMs = isEmpty || (isPast && !isCertain) ? toMs : readMs
    yield { observations, covered: rangeOrNull(fromMs, settledMs), missing: [] }
    if (!isPast) return
    fromMs = settledMs
  }
}

async function askOpenInterest(
  walk: HistoryWalk,
  interval: CandleInterval,
  range: HistoryRange,
): Promise<{ rows: OpenInterestRowWire[]; answer: RestResponse }> {
  const symbol = walk.about.instrument
  const query = {
    symbol,
    period: interval,
    limit: OPEN_INTEREST_PER_PAGE,
    startTime: range.fromMs,
    endTime: range.toMs - 1,
  }
  const isBackground = !walk.isUrgent
  const question = { path: OPEN_INTEREST_PATH, query, weight: 1, pool: 'statistics', isBackground }
  const { value: rows, answer } = await requestTyped(walk, question, OpenInterestRows, walk.signal)
  const fit: Fit<OpenInterestRowWire> = {
    origin: OPEN_INTEREST_PATH,
    range,
    timeOf: (row) => Number(row.timestamp),
    order: 'rising',
    maxRows: OPEN_INTEREST_PER_PAGE,
    fault: (row) =>
      symbolFault(row, symbol) ??
      (Number(row.timestamp) % INTERVAL_MS[interval] === 0
        ? undefined
        : `a sample off the grid of ${interval}`),
  }
  expectFit(rows, fit, answer, walk.deadLetters)
  return { rows, answer }
}

/**
 * The venue samples without a pause, so an empty answer alone proves nothing. One for a longer time, with samples before
 * and after the range and none in it, does.
 */
async function expectNoSample(
  walk: HistoryWalk,
  interval: CandleInterval,
  range: HistoryRange,
  oldestMs: number,
): Promise<void> {
  const aroundMs = SAMPLES_AROUND * INTERVAL_MS[interval]
  const wider = { fromMs: Math.max(oldestMs, range.fromMs - aroundMs), toMs: range.toMs + aroundMs }
  const { rows, answer } = await askOpenInterest(walk, interval, wider)
  const times = rows.map(({ timestamp }) => Number(timestamp))
  const isAround = times.some((at) => at < range.fromMs) && times.some((at) => at >= range.toMs)
  if (!isAround || times.some((at) => at >= range.fromMs && at < range.toMs))
    throw misfit('no sample at all', OPEN_INTEREST_PATH, answer, walk.deadLetters)
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
  const request = { path: FUNDING_PATH, query, weight: 1, pool: 'funding' }
  const { value: rows, answer } = await requestTyped(rest, request, FundingRows, signal)
  const everMs = { fromMs: 0, toMs: answer.receivedMs + MAX_AHEAD_MS }
  expectFit(rows, { ...fundingFit(where.instrument, everMs), maxRows: 2 }, answer, rest.deadLetters)
  return mapFundingRows(rows, { ...where, receivedMs: answer.receivedMs })
}

export async function askFuturesWitness(
  rest: FuturesRest,
  channel: Channel,
  where: Where,
  signal: AbortSignal,
): Promise<Witness | undefined> {
  if (channel.topic !== 'funding')
    return askWitness(rest, FUTURES_API, WEIGHTS, channel, where.instrument, signal)
  const rates = await askNewestFunding(rest, where, signal)
  return { newestMs: rates.at(-1)?.venueTimeMs ?? null, newestId: null }
}

export async function askMarkLine(
  rest: FuturesRest,
  instrument: string,
  signal: AbortSignal,
): Promise<string> {
  const request = { path: `${FUTURES_API}/premiumIndex`, query: { symbol: instrument }, weight: 1 }
  const { value } = await requestTyped(rest, request, PremiumIndexReply, signal)
  return `${value.symbol} mark ${value.markPrice}`
}
