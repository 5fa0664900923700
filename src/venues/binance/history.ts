/** Walks through klines and aggregate trades, which both products serve in the same way at different prices. */
import { type CandleInterval, INTERVAL_MS } from '../../core/interval.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { ceilTo, floorTo, notProvided, rangeOrNull } from '../history-range.ts'
import { type Answer, type Pager, VenueError } from '../pager.ts'
import type { HistoryPage, TimeRange } from '../venue.ts'
import type { VenueTime } from '../venue-time.ts'
import type { WireType } from '../wire-type.ts'
import { type About, mapAggregateTrade, mapKlineRow } from './mapper.ts'
import { AggregateTradeRows, KlineRows } from './wire.ts'

/** Trades may be published this much after their time. */
export const TRADE_SETTLE_MS = 1_000
/** Asked by time, the venue wants less than an hour at once. */
const HOUR_MS = 3_600_000
const TRADES_PER_PAGE = 1_000

export interface Walk {
  readonly pager: Pager
  readonly venueTime: VenueTime
  readonly deadLetters: DeadLetters
  readonly signal: AbortSignal
  readonly range: TimeRange
  readonly about: Omit<About, 'receivedMs'>
  readonly isUrgent: boolean
}

/** The answer as what it should be; anything else is kept as a dead letter and fails the walk. */
export function expectShape<T>(type: WireType<T>, answer: Answer, path: string, deadLetters: DeadLetters): T {
  if (type.is(answer.value)) return answer.value
  deadLetters.add({ receivedMs: answer.receivedMs, reason: 'wrong_shape', origin: path, text: answer.text })
  throw new VenueError(`${path}: an answer of unknown shape`, { isFinal: false })
}

export async function* walkKlines(
  walk: Walk & {
    path: string
    interval: CandleInterval
    /** Rows to ask for and what that costs, given how many are wanted. */
    price: (wantedRows: number) => { limit: number; weight: number }
  },
): AsyncGenerator<HistoryPage> {
  const { range, interval, about, deadLetters } = walk
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
    const query = { symbol: about.instrument, interval, startTime, endTime: closedToMs - 1, limit }
    const answer = await walk.pager.ask(
      { path: walk.path, query, weight, isBackground: !walk.isUrgent },
      walk.signal,
    )
    const rows = expectShape(KlineRows, answer, walk.path, deadLetters)
    const observations = rows
      .map((row) => mapKlineRow(row, interval, venueNowMs, { ...about, receivedMs: answer.receivedMs }))
      .filter((bar) => bar.closed && bar.openTimeMs >= startTime && bar.openTimeMs < closedToMs)
      .filter((bar) => {
        if (bar.openTimeMs % lengthMs === 0) return true
        deadLetters.add({
          receivedMs: answer.receivedMs,
          reason: 'off_grid',
          origin: walk.path,
          text: JSON.stringify(bar),
        })
        return false
      })
    const lastOpenMs = rows.at(-1)?.[0]
    const isFull = rows.length >= limit && lastOpenMs !== undefined && lastOpenMs >= startTime
    const nextMs = isFull ? Math.min(floorTo(lastOpenMs, lengthMs) + lengthMs, closedToMs) : closedToMs
    yield { observations, covered: rangeOrNull(fromMs, nextMs), missing: [] }
    if (!isFull) return
    fromMs = nextMs
  }
}

export async function* walkAggregateTrades(
  walk: Walk & { path: string; weight: number; afterId: number | undefined },
): AsyncGenerator<HistoryPage> {
  const { range, about } = walk
  let fromMs = range.fromMs
  let nextId = walk.afterId === undefined ? undefined : walk.afterId + 1
  while (fromMs < range.toMs) {
    const settledMs = (await walk.venueTime.now(walk.signal)) - TRADE_SETTLE_MS
    if (fromMs >= settledMs) return
    const windowToMs = Math.min(fromMs + HOUR_MS, range.toMs)
    // An id and times together are refused or time out: the id alone is exact.
    const query =
      nextId === undefined
        ? { symbol: about.instrument, startTime: fromMs, endTime: windowToMs - 1, limit: TRADES_PER_PAGE }
        : { symbol: about.instrument, fromId: nextId, limit: TRADES_PER_PAGE }
    const answer = await walk.pager.ask(
      { path: walk.path, query, weight: walk.weight, isBackground: !walk.isUrgent },
      walk.signal,
    )
    const rows = expectShape(AggregateTradeRows, answer, walk.path, walk.deadLetters)
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
      .filter((row) => row.T < range.toMs && (walk.afterId === undefined ? row.T >= range.fromMs : true))
      .map((row) => mapAggregateTrade(row, { ...about, receivedMs: answer.receivedMs }))
    const isFull = rows.length >= TRADES_PER_PAGE
    const toMs = isFull ? Math.min(last.T, range.toMs) : Math.min(endMs, settledMs)
    yield { observations, covered: rangeOrNull(fromMs, toMs), missing: [] }
    if (last.T >= range.toMs || (!isFull && toMs >= Math.min(range.toMs, settledMs))) return
    fromMs = Math.max(fromMs, toMs)
    nextId = last.a + 1
  }
}
