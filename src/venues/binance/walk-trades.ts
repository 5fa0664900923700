/**
 * The walk through aggregate trades, which both products serve in the same way with different request weights.
 *
 *   by time, from a little before the range on ──▶ its first trade; the one before it must be older than the range
 *   by id from there on, without a gap         ──▶ until a trade behind the range, or the present
 *
 * By id, a page is always full unless it reaches the present. A shorter page of the past was truncated, so nothing
 * counts as read beyond its last trade. That there is no later trade at all is confirmed by an answer that has the
 * known ones.
 */
import { expectFit, type Fit, misfit } from '../rest/expect-fit.ts'
import { notProvided, rangeOrNull } from '../rest/history-range.ts'
import type { RestResponse } from '../rest/rest-client.ts'
import { requestTyped } from '../rest/typed-request.ts'
import type { HistoryPage, HistoryRange } from '../venue.ts'
import type { HistoryWalk } from './history.ts'
import { mapAggregateTrade } from './mapper.ts'
import { AggregateTradeRows, type AggregateTradeRowWire } from './wire.ts'

/** Trades may be published this long after their time. */
const TRADE_SETTLE_MS = 1_000
/** An answer may be this old, so without a later trade it does not prove that none was made since. */
const QUIET_SETTLE_MS = 180_000
/** By time, the venue accepts ranges of less than an hour. */
const HOUR_MS = 3_600_000
const TRADES_PER_PAGE = 1_000
/**
 * Requested before and after a range, because a trade there usually saves the request that proves the first or last
 * one.
 */
const AROUND_MS = 5_000
/** Known trades that an answer without a later one must contain; an answer that was cut in half lacks some of them. */
const KNOWN_TRADES = 100
/** How much older than the requested range, and newer than our clock, trades after an id may be. */
const MAX_BEFORE_MS = 24 * HOUR_MS
const MAX_AHEAD_MS = 60_000

interface TradeWalk extends HistoryWalk {
  readonly path: string
  readonly weight: number
  readonly afterId: number | undefined
}

interface TradeRows {
  readonly rows: AggregateTradeRowWire[]
  readonly answer: RestResponse
  /** Whether the venue has no trade before the first row, although there was one. */
  readonly isOldest?: boolean
}

export async function* walkAggregateTrades(walk: TradeWalk): AsyncGenerator<HistoryPage> {
  const { range, about } = walk
  let fromMs = range.fromMs
  let nextId = walk.afterId === undefined ? undefined : walk.afterId + 1
  /** Time of the last trade that was read. */
  let reachedMs: number | undefined
  while (fromMs < range.toMs) {
    const venueNowMs = await walk.venueTime.now(walk.signal)
    const settledMs = venueNowMs - TRADE_SETTLE_MS
    const quietMs = venueNowMs - QUIET_SETTLE_MS
    if (fromMs >= settledMs) return
    const times = { fromMs: reachedMs ?? fromMs - MAX_BEFORE_MS, toMs: venueNowMs + MAX_AHEAD_MS }
    const { rows, answer, isOldest }: TradeRows =
      nextId === undefined
        ? await findFirst(walk, times.toMs)
        : await askById(walk, nextId, times, reachedMs !== undefined)
    const first = rows[0]
    const last = rows.at(-1)
    if (first === undefined || last === undefined) {
      const covered = rangeOrNull(fromMs, Math.min(range.toMs, quietMs))
      if (covered !== null && nextId !== undefined) await expectNone(walk, nextId, covered.toMs, times.toMs)
      return yield { observations: [], covered, missing: [] }
    }
    // The venue answers very old ids and times with the oldest trade that it still has.
    if (isOldest === true || (nextId !== undefined && first.a > nextId)) {
      const lost = rangeOrNull(fromMs, Math.min(first.T, range.toMs))
      if (lost !== null) yield notProvided(lost)
      fromMs = Math.max(fromMs, Math.min(first.T, range.toMs))
    }
    const observations = rows
      .filter(({ T }) => T < range.toMs && (walk.afterId !== undefined || T >= range.fromMs))
      .map((row) => mapAggregateTrade(row, { ...about, receivedMs: answer.receivedMs }))
    const isLast = nextId !== undefined && rows.length < TRADES_PER_PAGE && last.T >= quietMs
    const toMs = Math.min(last.T, range.toMs, isLast ? settledMs : range.toMs)
    yield { observations, covered: rangeOrNull(fromMs, toMs), missing: [] }
    if (last.T >= range.toMs || isLast) return
    fromMs = Math.max(fromMs, toMs)
    nextId = last.a + 1
    reachedMs = last.T
  }
}

/**
 * Returns trades in order, from the first of the range or a little before it. An answer for a later time would have a
 * later first trade, so the trade before it is checked. Empty if the newest trade of all is older than the range.
 */
async function findFirst(walk: TradeWalk, endMs: number): Promise<TradeRows> {
  const { fromMs, toMs } = walk.range
  const beganMs = fromMs - AROUND_MS
  let window = { fromMs: beganMs, toMs: Math.min(beganMs + HOUR_MS, toMs + AROUND_MS) }
  let found = await askTrades(walk, timeQuery(window), { range: window, maxRows: TRADES_PER_PAGE })
  if (found.rows.length === 0) {
    const newest = await askTrades(walk, { limit: 1 }, { range: { fromMs: 0, toMs: endMs }, maxRows: 1 })
    const newestMs = newest.rows[0]?.T
    if (newestMs === undefined) throw misfit('no newest trade', walk.path, newest.answer, walk.deadLetters)
    if (newestMs < fromMs) return found
    // The venue was down for a while.
    while (found.rows.length === 0 && window.toMs <= newestMs) {
      window = { fromMs: window.toMs, toMs: window.toMs + HOUR_MS }
      found = await askTrades(walk, timeQuery(window), { range: window, maxRows: TRADES_PER_PAGE })
    }
    if (found.rows.length === 0) found = newest
  }
  const first = found.rows[0]
  if (first === undefined || first.T < fromMs) return found
  return { ...found, isOldest: await expectFirst(walk, first, endMs) }
}

/** Returns whether it is the oldest trade that the venue still has, so that earlier ones may have been in the range. */
async function expectFirst(walk: TradeWalk, first: AggregateTradeRowWire, endMs: number): Promise<boolean> {
  if (first.a === 0) return false
  const range = { fromMs: 0, toMs: endMs }
  // Two, so that one remains of an answer that is cut in half.
  const { rows, answer } = await askTrades(walk, { fromId: first.a - 1, limit: 2 }, { range, maxRows: 2 })
  const before = rows[0]
  const isOldest = before?.a === first.a
  if (!isOldest && !(before?.a === first.a - 1 && before.T < walk.range.fromMs))
    throw misfit(`trade ${first.a} is not the first from then on`, walk.path, answer, walk.deadLetters)
  return isOldest
}

/** Expects no trade before `toMs` from an id on. */
async function expectNone(walk: TradeWalk, nextId: number, toMs: number, endMs: number): Promise<void> {
  const query = { fromId: Math.max(0, nextId - KNOWN_TRADES), limit: TRADES_PER_PAGE }
  const fit = { range: { fromMs: 0, toMs: endMs }, maxRows: TRADES_PER_PAGE }
  const { rows, answer } = await askTrades(walk, query, fit)
  const isKnownThere = rows.some(({ a }) => a === nextId - 1)
  if (!isKnownThere || rows.some(({ a, T }) => a >= nextId && T < toMs))
    throw misfit(`trade ${nextId - 1} is not the last one`, walk.path, answer, walk.deadLetters)
}

/**
 * Ids are read in order. If an id was reached by reading, its trade cannot be gone, so the answer must begin with it.
 */
function askById(
  walk: TradeWalk,
  nextId: number,
  range: HistoryRange,
  isReached: boolean,
): Promise<TradeRows> {
  const fault = ({ a }: AggregateTradeRowWire) => {
    const isWrong = isReached ? a !== nextId : a < nextId
    return isWrong ? `trade ${a}, asked from ${nextId} on` : undefined
  }
  const query = { fromId: nextId, limit: TRADES_PER_PAGE }
  return askTrades(walk, query, { range, maxRows: TRADES_PER_PAGE, fault })
}

const timeQuery = ({ fromMs, toMs }: HistoryRange) => ({
  ...{ startTime: fromMs, endTime: toMs - 1, limit: TRADES_PER_PAGE },
})

/** The venue refuses an id together with times, or times out. `fault` is checked for the first trade. */
async function askTrades(
  walk: TradeWalk,
  query: { readonly limit: number } & Record<string, number>,
  expected: Pick<Fit<AggregateTradeRowWire>, 'range' | 'maxRows' | 'fault'>,
): Promise<TradeRows> {
  const { path, about, weight, deadLetters } = walk
  const question = {
    path,
    query: { symbol: about.instrument, ...query },
    weight,
    isBackground: !walk.isUrgent,
  }
  const { value: rows, answer } = await requestTyped(walk, question, AggregateTradeRows, walk.signal)
  const fit: Fit<AggregateTradeRowWire> = {
    ...{ ...expected, origin: path, timeOf: ({ T }) => T, order: 'ascending' },
    fault: (row, before) => {
      if (before === undefined) return expected.fault?.(row, before)
      return row.a === before.a + 1 ? undefined : `trade ${row.a} after ${before.a}`
    },
  }
  expectFit(rows, fit, answer, deadLetters)
  return { rows, answer }
}
