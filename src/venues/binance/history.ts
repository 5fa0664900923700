/**
 * The walk through klines, and the witnesses; both products serve them in the same way with different request weights.
 */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { Channel } from '../channel.ts'
import { MAX_AGE_MS } from '../plausible-bounds.ts'
import { expectFit, type Fit, misfit } from '../rest/expect-fit.ts'
import { ceilTo, floorTo, notProvided, rangeOrNull } from '../rest/history-range.ts'
import type { RestResponse } from '../rest/rest-client.ts'
import { type RestAccess, requestTyped } from '../rest/typed-request.ts'
import type { VenueTime } from '../rest/venue-time.ts'
import type { HistoryPage, HistoryRange, Witness } from '../venue.ts'
import { type About, mapKlineRow } from './mapper.ts'
import { AggregateTradeRows, DepthReply, KlineRows, type KlineRowWire, ServerTimeReply } from './wire.ts'

/** How far the newest row may be ahead of our clock. */
const MAX_AHEAD_MS = 60_000
/** A candle without a trade may be published this long after its end, and later than the candles after it. */
const CANDLE_SETTLE_MS = 180_000
/**
 * The most gaps, and the most candles off the grid, confirmed per answer, which is read up to the next one; an outage of
 * the venue makes one or two.
 */
const MAX_GAPS_CONFIRMED = 8

export interface HistoryWalk extends RestAccess {
  readonly venueTime: VenueTime
  readonly signal: AbortSignal
  readonly range: HistoryRange
  readonly about: Omit<About, 'receivedMs'>
  readonly isUrgent: boolean
}

export interface KlineWalk extends HistoryWalk {
  readonly path: string
  readonly interval: CandleInterval
  /** Rows to request and their weight, given how many are wanted. */
  readonly price: (wantedRows: number) => { limit: number; weight: number }
}

/**
 * A row does not show whether it was still forming, and an answer may be outdated (from a cache, or a replica that is
 * behind) or truncated. Only a later candle in the same answer proves that a candle was closed, so one more than is
 * wanted is requested, and nothing beyond the last one counts as read, nor beyond a missing one that may still come.
 */
export async function* walkKlines(walk: KlineWalk): AsyncGenerator<HistoryPage> {
  const { range, interval } = walk
  const lengthMs = INTERVAL_MS[interval]
  let fromMs = range.fromMs
  while (fromMs < range.toMs) {
    const startTime = ceilTo(fromMs, lengthMs)
    const venueNowMs = await walk.venueTime.now(walk.signal)
    const newestMs = floorTo(venueNowMs, lengthMs)
    const closedToMs = Math.min(range.toMs, newestMs)
    if (startTime >= closedToMs) {
      // Less than a candle is left: nothing begins there, or what begins there is still forming.
      const rest = rangeOrNull(fromMs, closedToMs)
      if (rest !== null) yield { observations: [], covered: rest, missing: [] }
      return
    }
    const asked = { fromMs: startTime, toMs: ceilTo(closedToMs, lengthMs) + lengthMs }
    const { limit, weight } = walk.price((asked.toMs - asked.fromMs) / lengthMs)
    const { rows, answer } = await askKlines(walk, asked, limit, weight)
    const lastMs = floorTo(rows.at(-1)?.[0] ?? 0, lengthMs)
    const shownMs = Math.min(lastMs, closedToMs)
    const awaitedMs = awaitedFrom(rows, { fromMs: startTime, toMs: shownMs }, lengthMs, venueNowMs)
    const provenMs = Math.min(shownMs, awaitedMs)
    if (provenMs > startTime) {
      const gaplessMs = await expectNoneLeftOut(walk, rows, { fromMs: startTime, toMs: provenMs })
      const confirmedMs = await expectOffGrid(walk, rows, gaplessMs)
      yield* klinePages(walk, rows, { fromMs, toMs: confirmedMs }, venueNowMs, answer)
      fromMs = confirmedMs
      if (confirmedMs < provenMs) continue
    }
    if (awaitedMs < shownMs) return
    if (provenMs === closedToMs || (rows.length >= limit && provenMs > startTime)) continue
    // The next candle may not have begun yet.
    if (closedToMs === newestMs && lastMs + lengthMs >= closedToMs) return
    throw misfit(
      `no candle from ${Math.max(lastMs + lengthMs, startTime)} on`,
      walk.path,
      answer,
      walk.deadLetters,
    )
  }
}

/**
 * Requests the candles that begin in a range, in order; without an end of the range, the first ones from its start on.
 */
async function askKlines(
  walk: KlineWalk,
  range: { readonly fromMs: number; readonly toMs: number | undefined },
  limit: number,
  weight: number,
): Promise<{ rows: KlineRowWire[]; answer: RestResponse }> {
  const { path, interval, about, deadLetters } = walk
  const lengthMs = INTERVAL_MS[interval]
  const endTime = range.toMs === undefined ? undefined : range.toMs - 1
  const query = { symbol: about.instrument, interval, startTime: range.fromMs, endTime, limit }
  const request = { path, query, weight, isBackground: !walk.isUrgent }
  const { value: rows, answer } = await requestTyped(walk, request, KlineRows, walk.signal)
  const fit: Fit<KlineRowWire> = {
    origin: path,
    range: { fromMs: range.fromMs, toMs: range.toMs ?? Number.POSITIVE_INFINITY },
    timeOf: ([openMs]) => openMs,
    order: 'rising',
    maxRows: limit,
    fault: (row) =>
      isOnGrid(row, lengthMs) && row[6] !== row[0] + lengthMs - 1
        ? `a candle of ${row[6] - row[0] + 1} ms, asked for ${interval}`
        : undefined,
  }
  expectFit(rows, fit, answer, deadLetters)
  return { rows, answer }
}

/** The first candle that is missing and may still be published; infinite if there is none. */
function awaitedFrom(
  rows: readonly KlineRowWire[],
  { fromMs, toMs }: HistoryRange,
  lengthMs: number,
  venueNowMs: number,
): number {
  const opens = new Set(rows.map(([openMs]) => floorTo(openMs, lengthMs)))
  const youngMs = ceilTo(venueNowMs - CANDLE_SETTLE_MS - lengthMs, lengthMs)
  for (let openMs = Math.max(fromMs, youngMs); openMs < toMs; openMs += lengthMs)
    if (!opens.has(openMs)) return openMs
  return Number.POSITIVE_INFINITY
}

const isOnGrid = ([openMs]: KlineRowWire, lengthMs: number) => openMs % lengthMs === 0

/**
 * The venue publishes a flat candle for a quiet time, so a missing candle before a later one means an outage of the
 * venue, a time before the listing, or a faulty answer. The first candle that the venue has from there on shows which.
 * It is requested with the one before it, to notice an answer that is shifted by a candle, as the first may have been.
 * Returns where the first gap begins that is not confirmed, otherwise the end of the range.
 */
async function expectNoneLeftOut(
  walk: KlineWalk,
  rows: readonly KlineRowWire[],
  range: HistoryRange,
): Promise<number> {
  const lengthMs = INTERVAL_MS[walk.interval]
  const opens = rows.map(([openMs]) => Math.min(floorTo(openMs, lengthMs), range.toMs))
  let nextMs = range.fromMs
  let confirmed = 0
  for (const openMs of opens) {
    if (openMs > nextMs) {
      if (confirmed === MAX_GAPS_CONFIRMED) return nextMs
      confirmed += 1
      const from = { fromMs: Math.max(0, nextMs - lengthMs), toMs: undefined }
      const { rows: found, answer } = await askKlines(walk, from, 2, 2)
      const firstMs = found.map(([foundMs]) => foundMs).find((foundMs) => foundMs >= nextMs)
      if (firstMs === undefined)
        throw misfit(`no candle from ${nextMs} on, one before`, walk.path, answer, walk.deadLetters)
      if (firstMs < openMs)
        throw misfit(`the candle of ${firstMs} was left out before`, walk.path, answer, walk.deadLetters)
    }
    nextMs = Math.max(nextMs, openMs + lengthMs)
  }
  return range.toMs
}

/**
 * A candle off its grid means that its slot is never provided, so a second request confirms where it begins. Returns
 * where the first slot begins that is not confirmed, otherwise the end of the range.
 */
async function expectOffGrid(walk: KlineWalk, rows: readonly KlineRowWire[], toMs: number): Promise<number> {
  const lengthMs = INTERVAL_MS[walk.interval]
  const offGrid = rows.filter((row) => !isOnGrid(row, lengthMs) && floorTo(row[0], lengthMs) < toMs)
  for (const [openMs] of offGrid.slice(0, MAX_GAPS_CONFIRMED)) {
    const from = { fromMs: floorTo(openMs, lengthMs), toMs: undefined }
    const { rows: found, answer } = await askKlines(walk, from, 2, 2)
    if (!found.some(([firstMs]) => firstMs === openMs))
      throw misfit(`the candle of ${openMs} is not there`, walk.path, answer, walk.deadLetters)
  }
  const unconfirmed = offGrid[MAX_GAPS_CONFIRMED]
  return unconfirmed === undefined ? toMs : Math.min(toMs, floorTo(unconfirmed[0], lengthMs))
}

/** After a halt the venue once began its candles off their grid; the slot of such a candle counts as not provided. */
function* klinePages(
  walk: KlineWalk,
  rows: readonly KlineRowWire[],
  range: HistoryRange,
  venueNowMs: number,
  answer: RestResponse,
): Generator<HistoryPage> {
  const { interval, about, deadLetters, path } = walk
  const lengthMs = INTERVAL_MS[interval]
  const { receivedMs } = answer
  const onGrid = rows.filter((row) => isOnGrid(row, lengthMs) && row[0] < range.toMs)
  const candles = onGrid.map((row) => mapKlineRow(row, interval, venueNowMs, { ...about, receivedMs }))
  const open = new Set(onGrid.map(([openMs]) => openMs))
  let fromMs = range.fromMs
  const until = (toMs: number): HistoryPage => ({
    observations: candles.filter(({ openTimeMs }) => openTimeMs >= fromMs && openTimeMs < toMs),
    covered: rangeOrNull(fromMs, toMs),
    missing: [],
  })
  for (const row of rows) {
    if (isOnGrid(row, lengthMs) || floorTo(row[0], lengthMs) >= range.toMs) continue
    deadLetters.add({ receivedMs, reason: 'off_grid', origin: path, text: JSON.stringify(row) })
    const slotMs = floorTo(row[0], lengthMs)
    const lost = rangeOrNull(Math.max(slotMs, fromMs), Math.min(slotMs + lengthMs, range.toMs))
    if (open.has(slotMs) || lost === null) continue
    if (lost.fromMs > fromMs) yield until(lost.fromMs)
    yield notProvided(lost)
    fromMs = lost.toMs
  }
  if (range.toMs > fromMs) yield until(range.toMs)
}

export async function askServerTime(
  rest: RestAccess,
  api: string,
  signal: AbortSignal,
): Promise<{ venueMs: number; roundTripMs: number }> {
  const request = { path: `${api}/time`, weight: 1 }
  const { value, answer } = await requestTyped(rest, request, ServerTimeReply, signal)
  return { venueMs: value.serverTime, roundTripMs: answer.roundTripMs }
}

/** Both products use the same path names with different weights. */
export interface WitnessWeights {
  readonly trades: number
  readonly candles: number
  readonly book: number
}

/** Expects at most one row, and a recent one, because an old one would prove that the market is quiet. */
function expectWitness<R>(
  rest: RestAccess,
  rows: readonly R[],
  timeOf: (row: R) => number,
  origin: string,
  answer: RestResponse,
): R | undefined {
  const range = { fromMs: answer.receivedMs - MAX_AGE_MS, toMs: answer.receivedMs + MAX_AHEAD_MS }
  expectFit(rows, { origin, range, timeOf, order: 'any', maxRows: 1 }, answer, rest.deadLetters)
  return rows[0]
}

/** The newest trade, candle or update of the order book; undefined for other topics. */
export async function askWitness(
  rest: RestAccess,
  api: string,
  weights: WitnessWeights,
  channel: Channel,
  symbol: string,
  signal: AbortSignal,
): Promise<Witness | undefined> {
  switch (channel.topic) {
    case 'aggregate_trades': {
      const request = { path: `${api}/aggTrades`, query: { symbol, limit: 1 }, weight: weights.trades }
      const { value, answer } = await requestTyped(rest, request, AggregateTradeRows, signal)
      const newest = expectWitness(rest, value, ({ T }) => T, request.path, answer)
      return { newestMs: newest?.T ?? null, newestId: newest?.a ?? null }
    }
    case 'candles': {
      const query = { symbol, interval: channel.interval, limit: 1 }
      const request = { path: `${api}/klines`, query, weight: weights.candles }
      const { value, answer } = await requestTyped(rest, request, KlineRows, signal)
      const newest = expectWitness(rest, value, ([openMs]) => openMs, request.path, answer)
      return { newestMs: newest?.[0] ?? null, newestId: newest?.[8] ?? null }
    }
    case 'best_bid_ask': {
      const request = { path: `${api}/depth`, query: { symbol, limit: 5 }, weight: weights.book }
      const { T, lastUpdateId } = (await requestTyped(rest, request, DepthReply, signal)).value
      return { newestMs: T ?? null, newestId: lastUpdateId }
    }
    default:
      return undefined
  }
}
