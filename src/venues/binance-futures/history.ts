/** The futures product's history, polls and witness. */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import { askWitness, type HistoryWalk, type WitnessWeights, walkKlines } from '../binance/history.ts'
import type { About } from '../binance/mapper.ts'
import { walkAggregateTrades } from '../binance/walk-trades.ts'
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
const PREMIUM_PATH = `${FUTURES_API}/premiumIndex`
const FUNDING_PER_PAGE = 1_000
const OPEN_INTEREST_PER_PAGE = 500
/** Samples requested before and after a time without one. */
const SAMPLES_AROUND = 12
/**
 * Samples requested on a side without any so far, because the nearest is hours away after an outage of the venue. Less
 * than a page.
 */
const SAMPLES_FURTHER = [144, 480]
/** The venue certainly keeps this much of the month of statistics; a request for older ones may be refused. */
const CERTAIN_STATISTICS_MS = 30 * 86_400_000
/** The oldest available time moves while we ask, so requests stay this far inside. */
const AGE_GUARD_MS = 60_000
/** How far our clock may be behind the venue's, and how far ahead a rate is announced. */
const MAX_AHEAD_MS = 24 * 3_600_000
const HOUR_MS = 3_600_000
/** The longest period of a contract; any longer time contains a rate. */
const FUNDING_PERIOD_MS = 8 * HOUR_MS
/** A settled rate is published within this time. */
const FUNDING_SETTLE_MS = 60_000
/**
 * Requested before and after a range, so that the answer has a rate on each side and proves that none in between was
 * left out.
 */
const FUNDING_AROUND_MS = FUNDING_PERIOD_MS + FUNDING_SETTLE_MS
/** Two rates show the period, and half of an answer may be cut off. */
const NEWEST_RATES = 4
/** Before the venue existed. */
const BEFORE_ALL_MS = Date.UTC(2019, 0)
/** The most gaps confirmed per answer. */
const MAX_GAPS_CONFIRMED = 8

export interface FuturesRest extends RestAccess {
  readonly venueTime: VenueTime
}

type Where = Omit<About, 'receivedMs'>

/** Small pages are cheapest per call, 499 rows are cheapest per row. */
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
    const venueNowMs = await walk.venueTime.now(walk.signal)
    const settledMs = Math.min(range.toMs, venueNowMs - FUNDING_SETTLE_MS)
    if (fromMs >= settledMs) return
    const asked = { fromMs: fromMs - FUNDING_AROUND_MS, toMs: settledMs + FUNDING_AROUND_MS }
    const hasNewest = asked.toMs > venueNowMs
    const announcedMs = hasNewest ? await askAnnouncedFunding(walk, about, walk.signal) : undefined
    const { rows, answer } = await askFundingRows(walk, asked, FUNDING_PER_PAGE)
    const lastMs = rows.at(-1)?.fundingTime
    const isFull = rows.length >= FUNDING_PER_PAGE
    const isPast = lastMs !== undefined && lastMs >= settledMs
    // The last rate of a full page is read with the next page, which has the rate after it.
    const isLastLeft = isFull && lastMs !== undefined && lastMs > fromMs
    const readMs = isLastLeft ? lastMs : Math.max(fromMs, (lastMs ?? 0) + 1)
    // Rates of the time after the range may have been cut off; then the announced one is not the next.
    const isNewestUnknown = announcedMs !== undefined && settledMs < venueNowMs - FUNDING_SETTLE_MS
    const next: NextFunding =
      isFull || isPast
        ? { dueMs: readMs }
        : await nextFunding(walk, lastMs, { fromMs: readMs, toMs: settledMs }, isNewestUnknown)
    const isNewest = !isNewestUnknown || isSameHour(lastMs, next.newestMs)
    const nextMs = Math.min(settledMs, Math.max(readMs, next.dueMs))
    if (nextMs > fromMs) await expectNoRateBefore(walk, rows, { fromMs, toMs: nextMs })
    const confirmedMs = Math.min(nextMs, await expectNoRateBetween(walk, rows))
    const observations = mapFundingRows(
      rows,
      { ...about, receivedMs: answer.receivedMs },
      next.periodMs,
      isFull || !isNewest ? undefined : announcedMs,
    ).filter(({ venueTimeMs }) => venueTimeMs >= fromMs && venueTimeMs < confirmedMs)
    yield { observations, covered: rangeOrNull(fromMs, confirmedMs), missing: [] }
    if (!isFull && confirmedMs === nextMs) return
    fromMs = confirmedMs
  }
}

const isSameHour = (aMs = Number.NaN, bMs = Number.NaN) => floorTo(aMs, HOUR_MS) === floorTo(bMs, HOUR_MS)

interface NextFunding {
  readonly dueMs: number
  readonly periodMs?: number
  /** The time of the venue's newest rate, if it was requested. */
  readonly newestMs?: number
}

/**
 * The earliest time at which the next rate is due, according to the venue's newest rates, because an answer that is
 * outdated or truncated does not prove that there was none. Rates are settled on the hour. A newest rate that the first
 * answer left out shows that the first answer was for another time. `isAsked`: also if no rate can be due in the range.
 */
async function nextFunding(
  walk: HistoryWalk,
  lastMs: number | undefined,
  { fromMs, toMs }: HistoryRange,
  isAsked: boolean,
): Promise<NextFunding> {
  const isDueLater = ceilTo(fromMs, HOUR_MS) >= toMs
  if (isDueLater && !isAsked) return { dueMs: toMs }
  const newest = await askNewestRates(walk, walk.about, walk.signal, { limit: NEWEST_RATES })
  const last = newest.at(-1)
  if (newest[0] === undefined || last === undefined) return { dueMs: toMs }
  for (const { venueTimeMs, receivedMs } of newest) {
    if (venueTimeMs < fromMs || venueTimeMs >= toMs) continue
    const answer = { receivedMs, text: '' }
    throw misfit(`the rate of ${venueTimeMs} was left out before`, FUNDING_PATH, answer, walk.deadLetters)
  }
  // All of them are newer than the range, so they do not show which rate is its last one.
  if (newest[0].venueTimeMs >= toMs && lastMs !== undefined) await expectNextRate(walk, lastMs, toMs)
  const before = newest.at(-2)
  const periodMs =
    before === undefined ? FUNDING_PERIOD_MS : Math.max(HOUR_MS, last.fundingTimeMs - before.fundingTimeMs)
  const dueMs = isDueLater ? toMs : floorTo(last.fundingTimeMs + periodMs, HOUR_MS)
  return { dueMs, periodMs, newestMs: last.venueTimeMs }
}

/** Expects no rate between a known one and `nextMs`. The known one is requested as well and must come first. */
async function expectNextRate(walk: HistoryWalk, knownMs: number, nextMs: number): Promise<void> {
  // A dividend may be among the rows, and half of them may be cut off.
  const { rows, answer } = await askFundingRows(walk, { fromMs: knownMs, toMs: undefined }, 2 * NEWEST_RATES)
  const foundMs = rows.find(({ fundingTime }) => fundingTime > knownMs)?.fundingTime
  if (rows[0]?.fundingTime !== knownMs || foundMs === undefined || foundMs < nextMs)
    throw misfit(`a rate after ${knownMs} was left out before`, FUNDING_PATH, answer, walk.deadLetters)
}

/** The first rate of the range must follow one before it, or be the contract's first. */
async function expectNoRateBefore(
  walk: HistoryWalk,
  rows: readonly FundingRowWire[],
  { fromMs, toMs }: HistoryRange,
): Promise<void> {
  const firstMs = rows[0]?.fundingTime ?? toMs
  if (firstMs < fromMs || ceilTo(fromMs, HOUR_MS) >= toMs) return
  const wider = { fromMs: fromMs - 5 * FUNDING_AROUND_MS, toMs: undefined }
  let { rows: found, answer } = await askFundingRows(walk, wider, FUNDING_PER_PAGE)
  const isFirst = (found[0]?.fundingTime ?? fromMs) >= fromMs
  const ever = { fromMs: BEFORE_ALL_MS, toMs: undefined }
  if (isFirst) ({ rows: found, answer } = await askFundingRows(walk, ever, NEWEST_RATES))
  const foundMs = found.find(({ fundingTime }) => isFirst || fundingTime >= fromMs)?.fundingTime
  // Before its first rate a contract has none at all.
  if (foundMs === undefined && isFirst && rows.length === 0) return
  if (foundMs === undefined || foundMs < firstMs)
    throw misfit(`a rate from ${fromMs} on was left out before`, FUNDING_PATH, answer, walk.deadLetters)
}

/**
 * Confirms every time between two rates that is longer than one beside it or than any period of a contract. Not every
 * one that is longer than the shortest, because after a change of the period that would be half of the answer. Returns
 * the hour of the rate before the first one that is not confirmed, because the next answer begins before it.
 */
async function expectNoRateBetween(walk: HistoryWalk, rows: readonly FundingRowWire[]): Promise<number> {
  const times = [...new Set(rows.map(({ fundingTime }) => floorTo(fundingTime, HOUR_MS)))]
  const periods = times.slice(1).map((timeMs, index) => timeMs - (times[index] ?? 0))
  const gaps = periods.flatMap((periodMs, index) => {
    const [beforeMs = periodMs, afterMs = periodMs] = [periods[index - 1], periods[index + 1]]
    return periodMs > Math.min(beforeMs, afterMs, FUNDING_PERIOD_MS) ? [index] : []
  })
  for (const index of gaps.slice(0, MAX_GAPS_CONFIRMED)) {
    const known = rows.findLast(({ fundingTime }) => fundingTime < (times[index + 1] ?? 0))
    if (known !== undefined) await expectNextRate(walk, known.fundingTime, times[index + 1] ?? 0)
  }
  return times[gaps[MAX_GAPS_CONFIRMED] ?? -1] ?? Number.POSITIVE_INFINITY
}

/** Without an end of the range, requests the first rates from its start on. An end in the future is not sent. */
async function askFundingRows(
  walk: HistoryWalk,
  range: { readonly fromMs: number; readonly toMs: number | undefined },
  limit: number,
): Promise<{ rows: FundingRowWire[]; answer: RestResponse }> {
  const symbol = walk.about.instrument
  const hasEnd = range.toMs !== undefined && range.toMs <= (await walk.venueTime.now(walk.signal))
  const endTime = hasEnd ? range.toMs - 1 : undefined
  const query = { symbol, startTime: range.fromMs, endTime, limit }
  const request = { path: FUNDING_PATH, query, weight: 1, pool: 'funding', isBackground: !walk.isUrgent }
  const { value: rows, answer } = await requestTyped(walk, request, FundingRows, walk.signal)
  const asked = { fromMs: range.fromMs, toMs: range.toMs ?? Number.POSITIVE_INFINITY }
  expectFit(rows, { ...fundingFit(symbol, asked), maxRows: limit }, answer, walk.deadLetters)
  return { rows, answer }
}

/** A dividend may be settled at the same instant as a rate. */
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

/** A window never has more samples than a page, so it does not matter from which end the venue would truncate. */
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
    const times = rows.map(({ timestamp }) => Number(timestamp))
    const firstMs = times[0]
    if (!isCertain && firstMs !== startTime) {
      const lost = { fromMs, toMs: firstMs ?? toMs }
      await expectNoneKept(walk, interval, { fromMs: startTime, toMs: lost.toMs })
      yield notProvided(lost)
      fromMs = lost.toMs
      if (firstMs === undefined) continue
    }
    // Samples are published some minutes late, so near the present only those that have arrived are settled.
    const newestMs = times.at(-1)
    const isPast = toMs <= venueNowMs - 2 * stepMs
    const isEmpty = isPast && newestMs === undefined
    const gaps = gapsBetween(isCertain ? [startTime - stepMs, ...times] : times, stepMs)
    if (isEmpty) gaps.push({ fromMs: startTime, toMs })
    const kept = { fromMs: isCertain ? certainMs : startTime, toMs: venueNowMs }
    for (const gap of gaps.slice(0, MAX_GAPS_CONFIRMED)) await expectNoSample(walk, interval, gap, kept)
    // Samples that are missing at the end of the answer may have been cut off and are requested again.
    const readMs = newestMs === undefined ? fromMs : Math.min(toMs, newestMs + stepMs)
    // The next answer begins with the sample before the first gap that is not confirmed.
    const unconfirmed = gaps[MAX_GAPS_CONFIRMED]
    const confirmedMs = unconfirmed === undefined ? readMs : unconfirmed.fromMs - stepMs
    const settledMs = isEmpty ? toMs : confirmedMs
    const observations = rows
      .filter(({ timestamp }) => Number(timestamp) < settledMs)
      .map((row) => mapOpenInterestRow(row, { ...about, receivedMs: answer.receivedMs }))
    yield { observations, covered: rangeOrNull(fromMs, settledMs), missing: [] }
    if (!isPast && unconfirmed === undefined) return
    fromMs = settledMs
  }
}

/** The ranges where more than one step lies between two samples. */
function gapsBetween(times: readonly number[], stepMs: number): HistoryRange[] {
  return times.slice(1).flatMap((toMs, index) => {
    const fromMs = (times[index] ?? toMs) + stepMs
    return fromMs < toMs ? [{ fromMs, toMs }] : []
  })
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
 * The venue samples without a pause, so an answer that lacks samples proves nothing by itself. An answer for a longer
 * time, with samples before and after the range and none in it, does. `kept` is what the venue certainly has.
 */
async function expectNoSample(
  walk: HistoryWalk,
  interval: CandleInterval,
  range: HistoryRange,
  kept: HistoryRange,
): Promise<void> {
  const stepMs = INTERVAL_MS[interval]
  const read = async (fromMs: number, toMs: number) => {
    const { rows, answer } = await askOpenInterest(walk, interval, { fromMs, toMs })
    const times = rows.map(({ timestamp }) => Number(timestamp))
    const missed = () => misfit('no sample at all', OPEN_INTEREST_PATH, answer, walk.deadLetters)
    if (times.some((at) => at >= range.fromMs && at < range.toMs)) throw missed()
    const beforeMs = times.findLast((at) => at < range.fromMs)
    return { fromMs, toMs, beforeMs, afterMs: times.find((at) => at >= range.toMs), missed }
  }
  const aroundMs = SAMPLES_AROUND * stepMs
  let found = await read(Math.max(kept.fromMs, range.fromMs - aroundMs), range.toMs + aroundMs)
  // Each side is extended in turn, keeping what was found on the other, so that the last answer has both.
  for (const steps of SAMPLES_FURTHER) {
    if (found.beforeMs !== undefined || found.fromMs <= kept.fromMs) break
    const toMs = found.afterMs === undefined ? found.toMs : found.afterMs + stepMs
    found = await read(Math.max(kept.fromMs, range.fromMs - steps * stepMs), toMs)
  }
  for (const steps of SAMPLES_FURTHER) {
    if (found.beforeMs === undefined || found.afterMs !== undefined || found.toMs >= kept.toMs) break
    found = await read(found.beforeMs, Math.min(kept.toMs, range.toMs + steps * stepMs))
  }
  if (found.beforeMs === undefined || found.afterMs === undefined) throw found.missed()
}

/**
 * Confirms that samples which may be older than the venue keeps are gone: an answer that reaches further has none of
 * them.
 */
async function expectNoneKept(
  walk: HistoryWalk,
  interval: CandleInterval,
  range: HistoryRange,
): Promise<void> {
  const wider = { fromMs: range.fromMs, toMs: range.toMs + SAMPLES_AROUND * INTERVAL_MS[interval] }
  const { rows, answer } = await askOpenInterest(walk, interval, wider)
  if (rows.some(({ timestamp }) => Number(timestamp) < range.toMs))
    throw misfit('samples were left out before', OPEN_INTEREST_PATH, answer, walk.deadLetters)
}

/** The venue's error "parameter 'startTime' is invalid". */
function isTooOld(error: unknown): boolean {
  return error instanceof VenueError && error.isFinal && error.message.includes('-1130')
}

/**
 * When the venue will settle the next rate. Requested before the rates themselves: then they include every earlier one,
 * except in the first minute of an hour, in which a rate may be settled and not published. Undefined if the answer does
 * not show it.
 */
async function askAnnouncedFunding(
  rest: RestAccess,
  where: Where,
  signal: AbortSignal,
): Promise<number | undefined> {
  const request = { path: PREMIUM_PATH, query: { symbol: where.instrument }, weight: 1 }
  const { value, answer } = await requestTyped(rest, request, PremiumIndexReply, signal)
  const fault = symbolFault(value, where.instrument)
  if (fault !== undefined) throw misfit(fault, PREMIUM_PATH, answer, rest.deadLetters)
  const { time, nextFundingTime } = value
  const isPublished = time % HOUR_MS >= FUNDING_SETTLE_MS
  const isPlausible = nextFundingTime > time && nextFundingTime - time <= MAX_AHEAD_MS
  return isPublished && isPlausible ? floorTo(nextFundingTime, HOUR_MS) : undefined
}

/** The newest settled rates, with the time of the next one as the venue announces it. */
export async function askNewestFunding(
  rest: FuturesRest,
  where: Where,
  signal: AbortSignal,
): Promise<FundingObservation[]> {
  const announcedMs = await askAnnouncedFunding(rest, where, signal)
  return askNewestRates(rest, where, signal, { announcedMs })
}

/** Two by default, because the time between them is the period. */
async function askNewestRates(
  rest: RestAccess,
  where: Where,
  signal: AbortSignal,
  { limit = 2, announcedMs }: { readonly limit?: number; readonly announcedMs?: number | undefined } = {},
): Promise<FundingObservation[]> {
  const query = { symbol: where.instrument, limit }
  const request = { path: FUNDING_PATH, query, weight: 1, pool: 'funding' }
  const { value: rows, answer } = await requestTyped(rest, request, FundingRows, signal)
  const everMs = { fromMs: 0, toMs: answer.receivedMs + MAX_AHEAD_MS }
  expectFit(rows, { ...fundingFit(where.instrument, everMs), maxRows: limit }, answer, rest.deadLetters)
  return mapFundingRows(rows, { ...where, receivedMs: answer.receivedMs }, undefined, announcedMs)
}

export async function askFuturesWitness(
  rest: FuturesRest,
  channel: Channel,
  where: Where,
  signal: AbortSignal,
): Promise<Witness | undefined> {
  if (channel.topic !== 'funding')
    return askWitness(rest, FUTURES_API, WEIGHTS, channel, where.instrument, signal)
  const rates = await askNewestRates(rest, where, signal)
  return { newestMs: rates.at(-1)?.venueTimeMs ?? null, newestId: null }
}

export async function askMarkLine(
  rest: FuturesRest,
  instrument: string,
  signal: AbortSignal,
): Promise<string> {
  const request = { path: PREMIUM_PATH, query: { symbol: instrument }, weight: 1 }
  const { value } = await requestTyped(rest, request, PremiumIndexReply, signal)
  return `${value.symbol} mark ${value.markPrice}`
}
