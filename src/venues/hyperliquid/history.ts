/** Hyperliquid's REST side: a single path, with the request in the body. */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { WireType } from '../adapter/wire-type.ts'
import type { Channel } from '../channel.ts'
import { isRateAwaited } from '../due-rate.ts'
import type { CandleObservation, FundingObservation } from '../observation.ts'
import { MAX_AGE_MS, MAX_AHEAD_MS } from '../plausible-bounds.ts'
import { expectFit, misfit } from '../rest/expect-fit.ts'
import { ceilTo, floorTo, notProvided, rangeOrNull, splitByAge } from '../rest/history-range.ts'
import { type RestResponse, VenueError } from '../rest/rest-client.ts'
import type { RestAccess } from '../rest/typed-request.ts'
import type { VenueTime } from '../rest/venue-time.ts'
import type { HistoryPage, HistoryRange, HistoryRequest, Witness } from '../venue.ts'
import { type About, mapCandle, mapFunding } from './mapper.ts'
import {
  BookMessage,
  type BookWire,
  CandleRows,
  type CandleWire,
  ExchangeStatus,
  FundingRows,
  type FundingRowWire,
  Meta,
  Trades,
  type TradeWire,
} from './wire.ts'

const HOUR_MS = 3_600_000
const CANDLES_KEPT = 5_000
/** All that the venue keeps, because a request alone costs as much as 1,200 rows. */
const CANDLES_PER_PAGE = CANDLES_KEPT
const FUNDING_PER_PAGE = 500
/** The venue omits candles without a trade at first and may publish them later, even after the candles that follow. */
const CANDLE_SETTLE_MS = 180_000
/** Candles requested again before a time that an answer leaves out. */
const CANDLES_BEFORE = 120
const FUNDING_SETTLE_MS = 60_000
/** The longest time between two rates, from the venue's first weeks, where a second answer confirms each one. */
const FUNDING_PERIOD_MS = 8 * HOUR_MS
const CANDLES = '/info candleSnapshot'
const FUNDING = '/info fundingHistory'

export interface HyperliquidRest extends RestAccess {
  readonly venueTime: VenueTime
}

type Where = Omit<About, 'receivedMs'>

async function askInfo<T>(
  rest: RestAccess,
  body: { readonly type: string } & Record<string, unknown>,
  weight: number,
  type: WireType<T>,
  signal: AbortSignal,
  isBackground = false,
): Promise<{ value: T; answer: RestResponse }> {
  const answer = await rest.client.request({ path: '/info', body, weight, isBackground }, signal)
  const { value } = answer
  if (type.is(value)) return { value, answer }
  // The venue answers null for an unknown coin.
  if (value === null) throw new VenueError(`${body.type}: the venue knows nothing of it`, { isFinal: true })
  const origin = `/info ${body.type}`
  rest.deadLetters.add({ receivedMs: answer.receivedMs, reason: 'wrong_shape', origin, text: answer.text })
  throw new VenueError(`${origin}: an answer of unknown shape`, { isFinal: false })
}

export async function askServerTime(
  rest: RestAccess,
  signal: AbortSignal,
): Promise<{ venueMs: number; roundTripMs: number }> {
  const { value, answer } = await askInfo(rest, { type: 'exchangeStatus' }, 2, ExchangeStatus, signal)
  return { venueMs: value.time, roundTripMs: answer.roundTripMs }
}

export async function* walkHistory(
  rest: HyperliquidRest,
  request: HistoryRequest,
  where: Where,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  if (request.topic === 'candles' && request.interval !== undefined) {
    yield* walkCandles(rest, where, { ...request, interval: request.interval }, signal)
  } else if (request.topic === 'funding') {
    yield* walkFunding(rest, where, request, signal)
  } else {
    yield notProvided(request.range)
  }
}

async function* walkCandles(
  rest: HyperliquidRest,
  where: Where,
  request: HistoryRequest & { readonly interval: CandleInterval },
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  const { interval, range } = request
  const lengthMs = INTERVAL_MS[interval]
  // The open candle is one of those that the venue keeps, and the oldest may be dropped during the request.
  const oldestMs = floorTo(await rest.venueTime.now(signal), lengthMs) - (CANDLES_KEPT - 2) * lengthMs
  const { lost, kept } = splitByAge(range, oldestMs)
  if (lost !== null) yield notProvided(lost)
  let fromMs = kept?.fromMs ?? range.toMs
  while (fromMs < range.toMs) {
    const venueNowMs = await rest.venueTime.now(signal)
    const startTime = ceilTo(fromMs, lengthMs)
    const closedMs = Math.min(range.toMs, floorTo(venueNowMs, lengthMs))
    if (startTime >= closedMs) {
      const rest = rangeOrNull(fromMs, closedMs)
      if (rest !== null) yield { observations: [], covered: rest, missing: [] }
      return
    }
    const toMs = Math.min(closedMs, startTime + CANDLES_PER_PAGE * lengthMs)
    // An answer may be outdated; a later candle in it proves that the one before was closed.
    const asked = { fromMs: startTime, toMs: toMs + lengthMs }
    const { rows, offGrid, answer } = await askCandles(rest, where, { ...request, range: asked }, signal)
    const last = rows.findLast(({ t }) => t < toMs)
    const isProven = rows.at(-1) !== last
    const quietMs = Math.min(toMs, floorTo(venueNowMs - CANDLE_SETTLE_MS, lengthMs))
    const readMs = last === undefined ? fromMs : last.t + (isProven ? lengthMs : 0)
    const awaitedMs = firstMissing(rows, { fromMs: Math.max(startTime, quietMs), toMs: readMs }, lengthMs)
    // The range may end inside a candle.
    const settledMs = Math.min(toMs, Math.max(Math.min(readMs, awaitedMs), quietMs))
    const settled = { fromMs: startTime, toMs: settledMs }
    const again = rangeToConfirm(rows, settled, { oldestMs, venueNowMs, lengthMs })
    if (again !== undefined) {
      const found = await askCandles(rest, where, { ...request, range: again }, signal)
      expectNoneLeftOut({ rows, offGrid }, settled, { ...found, range: again, lengthMs }, rest)
    }
    const { receivedMs } = answer
    const candles = rows
      .filter(({ t }) => t < settledMs)
      .map((row) => mapCandle(row, interval, venueNowMs, { ...where, receivedMs }))
    const refused = offGrid.filter(({ t }) => floorTo(t, lengthMs) < settledMs)
    for (const row of refused)
      rest.deadLetters.add({ receivedMs, reason: 'off_grid', origin: CANDLES, text: JSON.stringify(row) })
    const slots = new Set(refused.map(({ t }) => floorTo(t, lengthMs)))
    for (const { t } of rows) slots.delete(t)
    yield* candlePages(candles, { fromMs, toMs: settledMs }, [...slots], lengthMs)
    if (settledMs < toMs) return
    fromMs = toMs
  }
}

/** The times of refused candles count as not provided; the other candles are kept. */
function* candlePages(
  candles: readonly CandleObservation[],
  range: HistoryRange,
  refusedSlots: readonly number[],
  lengthMs: number,
): Generator<HistoryPage> {
  let { fromMs } = range
  const until = (toMs: number): HistoryPage => ({
    observations: candles.filter(({ openTimeMs }) => openTimeMs >= fromMs && openTimeMs < toMs),
    covered: rangeOrNull(fromMs, toMs),
    missing: [],
  })
  for (const slotMs of refusedSlots) {
    if (slotMs > fromMs) yield until(slotMs)
    fromMs = Math.min(slotMs + lengthMs, range.toMs)
    yield notProvided({ fromMs: slotMs, toMs: fromMs })
  }
  yield until(range.toMs)
}

/** Infinite if every candle of the range is there. */
function firstMissing(rows: readonly CandleWire[], { fromMs, toMs }: HistoryRange, lengthMs: number): number {
  const opens = new Set(rows.map(({ t }) => t))
  for (let openMs = ceilTo(fromMs, lengthMs); openMs < toMs; openMs += lengthMs)
    if (!opens.has(openMs)) return openMs
  return Number.POSITIVE_INFINITY
}

/**
 * Candles without a trade are omitted. If any of a range are missing, one request for all of it confirms them, with
 * candles before them and, if nothing came after them, up to the present. If the first answer was for another time, the
 * second has the candles that it left out. Without any candle, or if it may be cut off like the first, the second proves
 * nothing: one that ends after half of its candles lacks at least as much time as it has.
 */
function rangeToConfirm(
  rows: readonly CandleWire[],
  settled: HistoryRange,
  times: { readonly oldestMs: number; readonly venueNowMs: number; readonly lengthMs: number },
): HistoryRange | undefined {
  if (settled.fromMs >= settled.toMs) return undefined
  const { oldestMs, venueNowMs, lengthMs } = times
  const isThere = ({ t }: CandleWire) => t >= settled.fromMs && t < settled.toMs
  if (rows.filter(isThere).length * lengthMs >= settled.toMs - settled.fromMs) return undefined
  const endMs = (rows.at(-1)?.t ?? Number.NEGATIVE_INFINITY) + lengthMs
  return {
    fromMs: Math.max(oldestMs, settled.fromMs - CANDLES_BEFORE * lengthMs),
    toMs: endMs < settled.toMs ? floorTo(venueNowMs, lengthMs) + lengthMs : endMs,
  }
}

/** A candle off the grid is expected again, too: its time is then not provided. */
function expectNoneLeftOut(
  first: GriddedCandles,
  settled: HistoryRange,
  again: GriddedCandles & {
    readonly answer: RestResponse
    readonly range: HistoryRange
    readonly lengthMs: number
  },
  { deadLetters }: RestAccess,
): void {
  const { fromMs, toMs } = again.range
  const endMs = (again.rows.at(-1)?.t ?? fromMs - again.lengthMs) + again.lengthMs
  const isCut = endMs < settled.toMs && toMs - endMs >= endMs - fromMs
  if (isCut || again.rows.length === 0)
    throw misfit(`no candle before or after ${settled.fromMs}`, CANDLES, again.answer, deadLetters)
  const differing = (here: readonly CandleWire[], there: readonly CandleWire[]) => {
    const known = new Set(there.map(({ t }) => t))
    return here.find(({ t }) => t >= settled.fromMs && t < settled.toMs && !known.has(t))
  }
  const found = differing(again.rows, first.rows) ?? differing(again.offGrid, first.offGrid)
  if (found !== undefined)
    throw misfit(`the candle of ${found.t} was left out before`, CANDLES, again.answer, deadLetters)
  const gone = differing(first.offGrid, again.offGrid)
  if (gone !== undefined)
    throw misfit(`the candle of ${gone.t} is not there`, CANDLES, again.answer, deadLetters)
}

interface GriddedCandles {
  /** Those that begin on the grid of their interval. */
  readonly rows: CandleWire[]
  readonly offGrid: CandleWire[]
}

async function askCandles(
  rest: HyperliquidRest,
  where: Where,
  request: HistoryRequest & { readonly interval: CandleInterval },
  signal: AbortSignal,
): Promise<GriddedCandles & { answer: RestResponse }> {
  const { interval, range } = request
  const lengthMs = INTERVAL_MS[interval]
  const req = { coin: where.instrument, interval, startTime: range.fromMs, endTime: range.toMs - 1 }
  const maxRows = Math.ceil((range.toMs - range.fromMs) / lengthMs)
  const { value, answer } = await askInfo(
    rest,
    { type: 'candleSnapshot', req },
    20 + Math.ceil(maxRows / 60),
    CandleRows,
    signal,
    request.isUrgent !== true,
  )
  const isOnGrid = ({ t }: CandleWire) => t % lengthMs === 0
  const { onGrid: rows = [], offGrid = [] } = Object.groupBy(value, (row) =>
    isOnGrid(row) ? 'onGrid' : 'offGrid',
  )
  // If most are off the grid, the answer is of another time or interval.
  const isOther = offGrid.length > rows.length
  const fault = (row: CandleWire) => {
    if (row.s !== where.instrument) return `of ${row.s}, asked for ${where.instrument}`
    if (row.i !== interval) return `a candle of ${row.i}, asked for ${interval}`
    const isFit = isOnGrid(row) ? row.T === row.t + lengthMs - 1 : !isOther
    return isFit ? undefined : `a candle from ${row.t} to ${row.T}, asked for ${interval}`
  }
  const fit = {
    origin: CANDLES,
    range,
    timeOf: (row: CandleWire) => row.t,
    order: 'rising',
    // Those on the grid are at most `maxRows`, because they rise within the range.
    maxRows: 2 * maxRows,
    fault,
  } as const
  expectFit(value, fit, answer, rest.deadLetters)
  return { rows, offGrid, answer }
}

async function* walkFunding(
  rest: HyperliquidRest,
  where: Where,
  { range, isUrgent }: HistoryRequest,
  signal: AbortSignal,
): AsyncGenerator<HistoryPage> {
  let fromMs = range.fromMs
  while (fromMs < range.toMs) {
    const venueNowMs = await rest.venueTime.now(signal)
    const settledMs = Math.min(range.toMs, venueNowMs - FUNDING_SETTLE_MS)
    if (fromMs >= settledMs) return
    const rows = await askFunding(rest, where, { fromMs, toMs: settledMs }, signal, isUrgent !== true)
    const last = rows.at(-1)
    const isFull = rows.length >= FUNDING_PER_PAGE && last !== undefined
    const leftOutMs = rateLeftOut(rows, { fromMs, toMs: isFull ? last.venueTimeMs : settledMs })
    if (leftOutMs !== undefined) {
      // The rate was before the listing, or the answer is truncated or for another time; a second answer that includes
      // the period before it shows which.
      const nowMs = await rest.venueTime.now(signal)
      const wider = { fromMs: leftOutMs - FUNDING_PERIOD_MS, toMs: nowMs }
      const again = await askFunding(rest, where, wider, signal, isUrgent !== true)
      const known = new Set(rows.map(({ venueTimeMs }) => venueTimeMs))
      const endMs = isFull ? last.venueTimeMs : settledMs
      const isOfRange = (timeMs: number) => timeMs >= leftOutMs && timeMs < endMs
      const found = again.find(({ venueTimeMs }) => isOfRange(venueTimeMs) && !known.has(venueTimeMs))
      if (found !== undefined || isCutInHalf(again, nowMs)) {
        const answer = { receivedMs: nowMs, text: JSON.stringify(found ?? []) }
        throw misfit('a rate was left out before', FUNDING, answer, rest.deadLetters)
      }
    }
    const nextMs = isFull
      ? Math.min(last.venueTimeMs + 1, settledMs)
      : awaitedOr({ fromMs, toMs: settledMs }, rows, venueNowMs)
    yield { observations: rows, covered: rangeOrNull(fromMs, nextMs), missing: [] }
    if (!isFull) return
    fromMs = nextMs
  }
}

/** An answer up to the present that ends after half of its rates, or has none, lacks as many hours as it has rates. */
function isCutInHalf(rows: readonly FundingObservation[], nowMs: number): boolean {
  const hoursLeft = Math.floor((nowMs - (rows.at(-1)?.venueTimeMs ?? 0)) / HOUR_MS)
  return rows.length < FUNDING_PER_PAGE && hoursLeft >= rows.length
}

/** The newest hour if its rate may still come, otherwise the end of the range. */
function awaitedOr(
  { fromMs, toMs }: HistoryRange,
  rows: readonly FundingObservation[],
  venueNowMs: number,
): number {
  const hourMs = floorTo(toMs - 1, HOUR_MS)
  const isThere = (rows.at(-1)?.fundingTimeMs ?? fromMs - 1) >= hourMs
  return isThere || !isRateAwaited(hourMs, venueNowMs) ? toMs : Math.max(fromMs, hourMs)
}

/** The time from which the rate of an hour is missing: at the start of the range, between two rates, or at its end. */
function rateLeftOut(rows: readonly FundingObservation[], range: HistoryRange): number | undefined {
  if (ceilTo(range.fromMs, HOUR_MS) < (rows[0]?.fundingTimeMs ?? range.toMs)) return range.fromMs
  const before = rows.find(({ fundingTimeMs }, index) => {
    const nextMs = rows[index + 1]?.fundingTimeMs
    return nextMs !== undefined && nextMs - fundingTimeMs > HOUR_MS
  })
  if (before !== undefined) return before.venueTimeMs + 1
  const restMs = (rows.at(-1)?.venueTimeMs ?? range.toMs) + 1
  return ceilTo(restMs, HOUR_MS) < range.toMs ? restMs : undefined
}

async function askFunding(
  rest: HyperliquidRest,
  where: Where,
  range: HistoryRange,
  signal: AbortSignal,
  isBackground = false,
): Promise<FundingObservation[]> {
  const body = {
    type: 'fundingHistory',
    coin: where.instrument,
    startTime: range.fromMs,
    endTime: range.toMs - 1,
  }
  const rowsExpected = Math.min(FUNDING_PER_PAGE, Math.ceil((range.toMs - range.fromMs) / HOUR_MS))
  const weight = 20 + Math.ceil(rowsExpected / 20)
  const { value, answer } = await askInfo(rest, body, weight, FundingRows, signal, isBackground)
  const fault = (row: FundingRowWire) =>
    row.coin === where.instrument ? undefined : `of ${row.coin}, asked for ${where.instrument}`
  const fit = {
    origin: FUNDING,
    range,
    timeOf: (row: FundingRowWire) => row.time,
    order: 'rising',
    maxRows: FUNDING_PER_PAGE,
    fault,
  } as const
  expectFit(value, fit, answer, rest.deadLetters)
  return value.map((row) => mapFunding(row, { ...where, receivedMs: answer.receivedMs }))
}

/** The rates of the last three hours. */
export async function askNewestFunding(
  rest: HyperliquidRest,
  where: Where,
  signal: AbortSignal,
): Promise<FundingObservation[]> {
  const nowMs = await rest.venueTime.now(signal)
  return askFunding(rest, where, { fromMs: nowMs - 3 * HOUR_MS, toMs: nowMs + 1 }, signal)
}

/** Expects rows of this coin and of a recent time, because an old one would prove that the market is quiet. */
function witnessFit(type: string, coin: string, { receivedMs }: RestResponse) {
  return {
    origin: `/info ${type}`,
    range: { fromMs: receivedMs - MAX_AGE_MS, toMs: receivedMs + MAX_AHEAD_MS },
    order: 'any' as const,
    fault: (row: { readonly coin: string }) =>
      row.coin === coin ? undefined : `of ${row.coin}, asked for ${coin}`,
  }
}

export async function askWitness(
  rest: HyperliquidRest,
  channel: Channel,
  where: Where,
  signal: AbortSignal,
): Promise<Witness | undefined> {
  switch (channel.topic) {
    case 'trades': {
      const body = { type: 'recentTrades', coin: where.instrument }
      const { value, answer } = await askInfo(rest, body, 20, Trades, signal)
      const fit = { ...witnessFit(body.type, where.instrument, answer), timeOf: (row: TradeWire) => row.time }
      expectFit(value, fit, answer, rest.deadLetters)
      const newestMs = value.reduce((newest, { time }) => Math.max(newest, time), 0)
      return { newestMs: value.length === 0 ? null : newestMs, newestId: null }
    }
    case 'candles': {
      const { interval } = channel
      if (interval === undefined) return undefined
      const nowMs = await rest.venueTime.now(signal)
      const lengthMs = INTERVAL_MS[interval]
      const range = { fromMs: floorTo(nowMs, lengthMs) - 2 * lengthMs, toMs: nowMs + 1 }
      const request = { topic: channel.topic, symbol: channel.symbol, interval, range, isUrgent: true }
      const { rows } = await askCandles(rest, where, request, signal)
      return { newestMs: rows.at(-1)?.t ?? null, newestId: rows.at(-1)?.n ?? null }
    }
    case 'book': {
      const body = { type: 'l2Book', coin: where.instrument, nSigFigs: null, mantissa: null }
      const { value, answer } = await askInfo(rest, body, 2, BookMessage, signal)
      const fit = { ...witnessFit(body.type, where.instrument, answer), timeOf: (row: BookWire) => row.time }
      expectFit([value], fit, answer, rest.deadLetters)
      return { newestMs: value.time, newestId: null }
    }
    case 'open_interest':
      // Contexts are sent every second, changed or not, so a venue that is up should have sent one.
      return { newestMs: (await askServerTime(rest, signal)).venueMs, newestId: null }
    case 'funding':
      return {
        newestMs: (await askNewestFunding(rest, where, signal)).at(-1)?.venueTimeMs ?? null,
        newestId: null,
      }
    default:
      return undefined
  }
}

/** The coins that can be traded now. */
export async function askCoins(rest: RestAccess, signal: AbortSignal): Promise<Set<string>> {
  const { value } = await askInfo(rest, { type: 'meta' }, 20, Meta, signal)
  return new Set(value.universe.filter((coin) => coin.isDelisted !== true).map((coin) => coin.name))
}
