/** Walks through klines and aggregate trades, which both products serve in the same way at different prices. */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { expectFit, type Fit, misfit } from '../expect-fit.ts'
import { ceilTo, floorTo, notProvided, rangeOrNull } from '../history-range.ts'
import { type RestClient, type RestResponse, VenueError } from '../rest-client.ts'
import type { HistoryPage, HistoryRange } from '../venue.ts'
import type { VenueTime } from '../venue-time.ts'
import type { WireType } from '../wire-type.ts'
import { type About, mapAggregateTrade, mapKlineRow } from './mapper.ts'
import { AggregateTradeRows, type AggregateTradeRowWire, KlineRows, type KlineRowWire } from './wire.ts'

/** Trades may be published this much after their time. */
export const TRADE_SETTLE_MS = 1_000
/** Asked by time, the venue wants less than an hour at once. */
const HOUR_MS = 3_600_000
const TRADES_PER_PAGE = 1_000
/** Trades after an id may be older than the range that they are asked for with, and newer than our idea of now. */
const MAX_BEFORE_MS = 24 * HOUR_MS
const MAX_AHEAD_MS = 60_000
/** Of one answer; an outage of the venue makes one or two. */
const MAX_GAPS_CONFIRMED = 8

export interface Walk {
  readonly pager: RestClient
  readonly venueTime: VenueTime
  readonly deadLetters: DeadLetters
  readonly signal: AbortSignal
  readonly range: HistoryRange
  readonly about: Omit<About, 'receivedMs'>
  readonly isUrgent: boolean
}

/** The answer as what it should be; anything else is kept as a dead letter and fails the walk. */
export function expectShape<T>(
  type: WireType<T>,
  answer: RestResponse,
  path: string,
  deadLetters: DeadLetters,
): T {
  if (type.is(answer.value)) return answer.value
  deadLetters.add({ receivedMs: answer.receivedMs, reason: 'wrong_shape', origin: path, text: answer.text })
  throw new VenueError(`${path}: an answer of unknown shape`, { isFinal: false })
}

export interface KlineWalk extends Walk {
  readonly path: string
  readonly interval: CandleInterval
  /** Rows to ask for and what that costs, given how many are wanted. */
  readonly price: (wantedRows: number) => { limit: number; weight: number }
}

export async function* walkKlines(walk: KlineWalk): AsyncGenerator<HistoryPage> {
  const { range, interval } = walk
  const lengthMs = INTERVAL_MS[interval]
  let fromMs = range.fromMs
  while (fromMs < range.toMs) {
    const startTime = ceilTo(fromMs, lengthMs)
    const { limit, weight } = walk.price(Math.ceil((range.toMs - startTime) / lengthMs))
    const venueNowMs = await walk.venueTime.now(walk.signal)
    const closedToMs = Math.min(range.toMs, floorTo(venueNowMs, lengthMs))
    if (startTime >= closedToMs) {
      // Less than a bar is left: nothing starts there, or what starts there is still forming.
      const rest = rangeOrNull(fromMs, Math.min(closedToMs, range.toMs))
      if (rest !== null) yield { observations: [], covered: rest, missing: [] }
      return
    }
    const asked = { fromMs: startTime, toMs: closedToMs }
    const { rows, answer } = await askKlines(walk, asked, limit, weight)
    const last = rows.at(-1)
    const isFull = rows.length >= limit && last !== undefined
    const nextMs = isFull ? Math.min(floorTo(last[0], lengthMs) + lengthMs, closedToMs) : closedToMs
    await expectNoneLeftOut(walk, rows, { fromMs: startTime, toMs: nextMs })
    yield* klinePages(walk, rows, { fromMs, toMs: nextMs }, venueNowMs, answer)
    if (!isFull) return
    fromMs = nextMs
  }
}

/** Bars that begin in a range, in order; without an end of the range, the first ones from its start on. */
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
  const answer = await walk.pager.request({ path, query, weight, isBackground: !walk.isUrgent }, walk.signal)
  const rows = expectShape(KlineRows, answer, path, deadLetters)
  const fit: Fit<KlineRowWire> = {
    origin: path,
    range: { fromMs: range.fromMs, toMs: range.toMs ?? Number.POSITIVE_INFINITY },
    timeOf: ([openMs]) => openMs,
    order: 'rising',
    maxRows: limit,
    fault: (row) =>
      isOnGrid(row, lengthMs) && row[6] !== row[0] + lengthMs - 1
        ? `a bar of ${row[6] - row[0] + 1} ms, asked for ${interval}`
        : undefined,
  }
  expectFit(rows, fit, answer, deadLetters)
  return { rows, answer }
}

const isOnGrid = ([openMs]: KlineRowWire, lengthMs: number) => openMs % lengthMs === 0

/**
 * The venue publishes a flat bar for a quiet time, so a bar that is not there is an outage of the venue, a time before
 * the listing, or an answer that was cut. The first bar that the venue has from there on tells which.
 */
async function expectNoneLeftOut(
  walk: KlineWalk,
  rows: readonly KlineRowWire[],
  range: HistoryRange,
): Promise<void> {
  const lengthMs = INTERVAL_MS[walk.interval]
  const opens = [...rows.map(([openMs]) => floorTo(openMs, lengthMs)), range.toMs]
  let nextMs = range.fromMs
  let confirmed = 0
  for (const openMs of opens) {
    if (openMs > nextMs && confirmed < MAX_GAPS_CONFIRMED) {
      confirmed += 1
      const { rows: found, answer } = await askKlines(walk, { fromMs: nextMs, toMs: undefined }, 1, 2)
      const firstMs = found[0]?.[0] ?? Number.POSITIVE_INFINITY
      if (firstMs < openMs)
        throw misfit(`the bar of ${firstMs} was left out before`, walk.path, answer, walk.deadLetters)
    }
    nextMs = Math.max(nextMs, openMs + lengthMs)
  }
}

/** After a halt the venue once began its bars off their grid: such a bar is not provided where it should be. */
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
  const onGrid = rows.filter((row) => isOnGrid(row, lengthMs))
  const bars = onGrid.map((row) => mapKlineRow(row, interval, venueNowMs, { ...about, receivedMs }))
  const open = new Set(onGrid.map(([openMs]) => openMs))
  let fromMs = range.fromMs
  const until = (toMs: number): HistoryPage => ({
    observations: bars.filter(({ openTimeMs }) => openTimeMs >= fromMs && openTimeMs < toMs),
    covered: rangeOrNull(fromMs, toMs),
    missing: [],
  })
  for (const row of rows) {
    if (isOnGrid(row, lengthMs)) continue
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

export async function* walkAggregateTrades(
  walk: Walk & { path: string; weight: number; afterId: number | undefined },
): AsyncGenerator<HistoryPage> {
  const { range, about, deadLetters, path } = walk
  let fromMs = range.fromMs
  let nextId = walk.afterId === undefined ? undefined : walk.afterId + 1
  /** Ids are read in order: the trades of an id that was reached by reading cannot be gone. */
  let isReached = false
  while (fromMs < range.toMs) {
    const venueNowMs = await walk.venueTime.now(walk.signal)
    const settledMs = venueNowMs - TRADE_SETTLE_MS
    if (fromMs >= settledMs) return
    const windowToMs = Math.min(fromMs + HOUR_MS, range.toMs)
    // An id and times together are refused or time out: the id alone is exact.
    const query =
      nextId === undefined
        ? { symbol: about.instrument, startTime: fromMs, endTime: windowToMs - 1, limit: TRADES_PER_PAGE }
        : { symbol: about.instrument, fromId: nextId, limit: TRADES_PER_PAGE }
    const question = { path, query, weight: walk.weight, isBackground: !walk.isUrgent }
    const within =
      nextId === undefined
        ? { fromMs, toMs: windowToMs }
        : { fromMs: isReached ? fromMs : fromMs - MAX_BEFORE_MS, toMs: venueNowMs + MAX_AHEAD_MS }
    const fit: Fit<AggregateTradeRowWire> = {
      ...{ origin: path, range: within, timeOf: ({ T }) => T, order: 'ascending', maxRows: TRADES_PER_PAGE },
      fault: ({ a }, before) => {
        if (before !== undefined && a !== before.a + 1) return `trade ${a} after ${before.a}`
        if (before !== undefined || nextId === undefined) return undefined
        const isWrong = isReached ? a !== nextId : a < nextId
        return isWrong ? `trade ${a}, asked from ${nextId} on` : undefined
      },
    }
    const ask = async () => {
      const answer = await walk.pager.request(question, walk.signal)
      const rows = expectShape(AggregateTradeRows, answer, path, deadLetters)
      expectFit(rows, fit, answer, deadLetters)
      return { rows, answer }
    }
    let { rows, answer } = await ask()
    // An hour without a trade is rare enough to be asked for twice.
    if (rows.length === 0 && nextId === undefined) ({ rows, answer } = await ask())
    const first = rows[0]
    const last = rows.at(-1)
    const endMs = nextId === undefined ? windowToMs : range.toMs
    if (first === undefined || last === undefined) {
      const covered = rangeOrNull(fromMs, Math.min(endMs, settledMs))
      yield { observations: [], covered, missing: [] }
      if (nextId !== undefined || covered === null) return
      fromMs = covered.toMs
      continue
    }
    // Very old ids are answered with the oldest the venue still has.
    if (nextId !== undefined && first.a > nextId) {
      const lost = rangeOrNull(fromMs, Math.min(first.T, range.toMs))
      if (lost !== null) yield notProvided(lost)
      fromMs = Math.max(fromMs, Math.min(first.T, range.toMs))
    }
    const observations = rows
      .filter((row) => row.T < range.toMs)
      .map((row) => mapAggregateTrade(row, { ...about, receivedMs: answer.receivedMs }))
    const isFull = rows.length >= TRADES_PER_PAGE
    // Only the next id proves that a page that is not full was not cut.
    const isProven = isFull || nextId !== undefined
    const toMs = isFull || !isProven ? Math.min(last.T, range.toMs) : Math.min(endMs, settledMs)
    yield { observations, covered: rangeOrNull(fromMs, toMs), missing: [] }
    if (last.T >= range.toMs || (!isFull && toMs >= Math.min(range.toMs, settledMs))) return
    fromMs = Math.max(fromMs, toMs)
    nextId = last.a + 1
    isReached = true
  }
}
