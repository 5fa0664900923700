/**
 * Candles of one on-chain price.
 *
 *   received ───────▶ updates ──▶ open candles, as they change ──▶ closed once nothing can change them ──▶ forgotten
 *   gaps ─requested─▶    ▲
 *
 * A gap is a range whose rounds were not received: the time before the start, a lost connection, a number that was
 * left out. Gaps are requested page by page, the oldest first, and no candle behind the place that was reached is
 * closed; so an outage of a month needs no more room than one of an hour, unless the nodes do not agree early in it.
 */
import type { Feed } from '../../core/feed.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import {
  buildOracleCandles,
  CARRY_HEARTBEATS,
  isOracleCandleFinal,
  skipsRounds,
} from '../../core/oracle-candles.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { DataObservation, OracleRoundObservation } from '../../venues/observation.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { LiveRecorder } from '../shared/live-recorder.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { uncovered } from '../shared/uncovered.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { createOracleUpdates } from './order-updates.ts'

export const ORACLE_INTERVALS = ['5m', '15m'] as const
type OracleInterval = (typeof ORACLE_INTERVALS)[number]
const DAY_MS = 86_400_000
/** After a long outage the rounds are requested from where the candles end, but not further back than this. */
const MAX_OUTAGE_MS = 31 * DAY_MS
const ASK_AGAIN_MS = 15_000
/** A round on which the nodes do not agree is requested so often; then it stays a gap. */
const MAX_REQUESTS = 20
/** Updates that no candle needs any more are forgotten when there are so many. */
const FORGET_AT = 500
/** Behind a gap that is still being requested no more than so many are gathered. */
const MAX_GATHERED = 10_000
/** More than these are not held, whatever candles need: the oldest become a gap again. */
const MAX_KEPT = 20_000
const DROPPED_AT_ONCE = 5_000
const MAX_HOLLOW = 500
/** An update is received with the poll after it. */
const CLOSE_AFTER_MS = 15_000

export interface OracleSymbolParts {
  readonly venue: Pick<Venue, 'describe' | 'history'>
  readonly symbol: AssetSymbol
  /** The longest pause between two answers while all is well. */
  readonly heartbeatMs: number
  readonly store: EnvironmentStore
  readonly rows: RowWriter
  readonly tracker: CoverageTracker
  readonly clock: Clock
  readonly signal: AbortSignal
  /** How far back rounds are requested at the first start. */
  readonly backMs?: number
}

interface RoundGap extends HistoryRange {
  /** How often it was requested in vain. */
  readonly asks?: number
}

const isOpenEnded = ({ toMs }: RoundGap) => !Number.isFinite(toMs)

export function recordOracleSymbol(parts: OracleSymbolParts): LiveRecorder {
  const { venue, symbol, store, rows, tracker, clock, heartbeatMs, signal } = parts
  const { source } = venue.describe
  const startedMs = clock.now()
  const updates = createOracleUpdates()
  /** Where the candles begin that this run is to close. */
  const beginMs = new Map<OracleInterval, number>()
  const closedToMs = new Map<OracleInterval, number>()
  /** Candles before it were shown as they are. */
  const shownToMs = new Map<OracleInterval, number>()
  /** Candles that were closed without an answer, ascending. */
  const hollow = new Map<OracleInterval, HistoryRange[]>()
  let gaps: RoundGap[] = []
  /** Everything before the start was requested once. */
  let hasPast = false
  let hasBegun = false
  let requestAgainMs = 0
  /** Before it the oracle may not have been there. */
  let firstMs = Number.POSITIVE_INFINITY
  let newest: OracleRoundObservation | undefined

  const feedOf = (interval: OracleInterval) => candleFeed(source, symbol, interval)

  function add(observation: DataObservation): void {
    if (observation.kind !== 'oracle_round' || !updates.add(observation)) return
    const { updatedMs } = observation
    firstMs = Math.min(firstMs, updatedMs)
    for (const interval of ORACLE_INTERVALS)
      shownToMs.set(interval, Math.min(shownToMs.get(interval) ?? 0, candleStart(updatedMs, interval)))
    if (updates.size <= MAX_KEPT) return
    const dropped = updates.dropOldest(DROPPED_AT_ONCE)
    if (dropped !== undefined) gaps.push(dropped)
  }

  const candlesOf = (interval: OracleInterval, fromMs: number, toMs: number) =>
    buildOracleCandles({ interval, updates: updates.around(fromMs, toMs), fromMs, toMs, heartbeatMs })

  function put(feed: Feed<'candles'>, candles: ReturnType<typeof candlesOf>, closed: boolean): void {
    rows.put(
      feed,
      candles.map(({ openTimeMs: time, open, high, low, close }) => ({
        time,
        open,
        high,
        low,
        close,
        closed,
      })),
    )
  }

  /** The time between the last closed candle and the start is a gap like any other. */
  async function findPast(): Promise<void> {
    const firstCandleMs = candleStart(startedMs - (parts.backMs ?? DAY_MS), '15m')
    for (const interval of ORACLE_INTERVALS) {
      const [known] = await store.series.finality([feedOf(interval)])
      const before = known?.before ?? 0
      if (before !== 0) firstMs = 0
      beginMs.set(interval, before === 0 ? firstCandleMs : Math.max(before, startedMs - MAX_OUTAGE_MS))
    }
    const fromMs = Math.min(startedMs, ...beginMs.values())
    if (fromMs < startedMs) gaps.unshift({ fromMs, toMs: startedMs })
    for (const [interval, timeMs] of beginMs) closedToMs.set(interval, timeMs)
  }

  /** A candle that was closed without an answer stays a gap, whatever is known of the rounds around it. */
  function confirm(interval: OracleInterval, known: HistoryRange): void {
    const fromMs = Math.max(known.fromMs, beginMs.get(interval) ?? 0)
    if (fromMs >= known.toMs) return
    for (const piece of uncovered({ fromMs, toMs: known.toMs }, hollow.get(interval) ?? []))
      tracker.confirm(feedOf(interval), piece.fromMs, piece.toMs)
  }

  function replace(gap: RoundGap, by: readonly RoundGap[]): void {
    gaps = gaps.flatMap((each) => (each === gap ? by : [each]))
  }

  /** What lies between two answers of the venue is in dispute, which may last for ever. */
  function disputed(gap: RoundGap): RoundGap[] {
    if (gap.fromMs >= gap.toMs) return []
    if ((gap.asks ?? 0) <= MAX_REQUESTS) return [gap]
    for (const interval of ORACLE_INTERVALS)
      tracker.missing(feedOf(interval), gap.fromMs, gap.toMs, 'not_observed')
    return []
  }

  /** Rounds that were missed are on the chain still. Progress is kept when a request fails. */
  async function walk(gap: RoundGap): Promise<void> {
    const asks = (gap.asks ?? 0) + 1
    let rest = gap
    const range = { fromMs: gap.fromMs - CARRY_HEARTBEATS * heartbeatMs, toMs: gap.toMs + 1 }
    for await (const page of venue.history({ topic: 'oracle_rounds', symbol, range }, { signal })) {
      for (const row of page.observations) add(row)
      if (page.covered !== null) {
        // The venue may confirm less than was requested.
        const fromMs = Math.min(Math.max(page.covered.fromMs, rest.fromMs), gap.toMs)
        const toMs = Math.min(Math.max(page.covered.toMs, rest.fromMs), gap.toMs)
        const left = { ...rest, fromMs: toMs }
        const isUnresolved = left.fromMs < left.toMs
        replace(rest, [
          ...disputed({ fromMs: rest.fromMs, toMs: fromMs, asks }),
          ...(isUnresolved ? [left] : []),
        ])
        rest = left
        for (const interval of ORACLE_INTERVALS) confirm(interval, { fromMs, toMs })
      }
      closeCandles()
      await rows.ready()
      if (updates.size >= MAX_GATHERED && gaps.some(({ fromMs }) => fromMs < rest.fromMs)) return
    }
    // What is newer than the newest round is settled by the next one.
    replace(rest, [{ ...rest, asks }])
  }

  async function fillGaps(nowMs: number): Promise<void> {
    if (nowMs < requestAgainMs) return
    const sought = gaps.filter((gap) => !isOpenEnded(gap)).sort((a, b) => a.fromMs - b.fromMs)
    for (const gap of sought) {
      await walk(gap)
      closeCandles()
      if (updates.size >= MAX_GATHERED) break
    }
    hasPast = true
    if (gaps.length > 0) requestAgainMs = nowMs + ASK_AGAIN_MS
  }

  /** A number between two received rounds is a round that was missed. */
  function observe(observation: DataObservation): void {
    if (observation.kind === 'oracle_round') {
      if (newest !== undefined && skipsRounds(newest, observation)) {
        const gap = { fromMs: newest.updatedMs, toMs: observation.updatedMs }
        for (const interval of ORACLE_INTERVALS)
          for (const { fromMs, toMs } of uncovered(gap, hollow.get(interval) ?? []))
            tracker.lost(feedOf(interval), fromMs, toMs, 'not_observed')
        gaps.push(gap)
      }
      newest = observation
    }
    add(observation)
  }

  function closeCandles(): void {
    for (const interval of ORACLE_INTERVALS) closeCandlesOf(interval, clock.now())
    if (updates.size >= FORGET_AT)
      updates.forgetBefore(Math.min(...closedToMs.values()) - 2 * CARRY_HEARTBEATS * heartbeatMs)
  }

  function closeCandlesOf(interval: OracleInterval, nowMs: number): void {
    const feed = feedOf(interval)
    const lengthMs = INTERVAL_MS[interval]
    const newestUpdateMs = updates.newestMs
    const fromMs = closedToMs.get(interval) ?? 0
    let toMs = fromMs
    // A round that is still being requested may change every candle from there on.
    const soughtMs = Math.min(...gaps.map((gap) => gap.fromMs))
    const isFinal = (endMs: number) =>
      endMs <= soughtMs &&
      nowMs >= endMs + CLOSE_AFTER_MS &&
      isOracleCandleFinal({ endMs, nowMs, heartbeatMs, newestUpdateMs })
    while (isFinal(toMs + lengthMs)) toMs += lengthMs
    if (toMs === fromMs) return
    const candles = candlesOf(interval, fromMs, toMs)
    put(feed, candles, true)
    const starts = new Set(candles.map(({ openTimeMs }) => openTimeMs))
    for (let at = fromMs; at < toMs; at += lengthMs)
      if (!starts.has(at)) {
        tracker.lost(feed, at, at + lengthMs, at + lengthMs <= firstMs ? 'not_provided' : 'venue_down')
        const candle = { fromMs: at, toMs: at + lengthMs }
        hollow.set(interval, [...(hollow.get(interval) ?? []), candle].slice(-MAX_HOLLOW))
      }
    closedToMs.set(interval, toMs)
    rows.final(feed, toMs)
  }

  return {
    observe,
    gap(_dataset, fromMs, toMs) {
      if (!Number.isFinite(fromMs)) gaps = gaps.map((gap) => (isOpenEnded(gap) ? { ...gap, toMs } : gap))
      // A line that is lost may fall silent too: that is the same gap.
      else if (gaps.some(isOpenEnded))
        gaps = gaps.map((gap) => (isOpenEnded(gap) ? { ...gap, fromMs: Math.min(gap.fromMs, fromMs) } : gap))
      else gaps.push({ fromMs, toMs })
    },
    begins(_dataset, atMs) {
      // Rounds between our start and the first answer are requested like any that were missed.
      if (!hasBegun && atMs > startedMs) gaps.push({ fromMs: startedMs, toMs: atMs })
      hasBegun = true
    },
    show(nowMs) {
      if (!hasPast) return
      for (const interval of ORACLE_INTERVALS) {
        const fromMs = Math.max(closedToMs.get(interval) ?? nowMs, shownToMs.get(interval) ?? 0)
        // A candle is shown only when it has an answer of its own or one in force.
        put(feedOf(interval), candlesOf(interval, fromMs, nowMs), false)
        shownToMs.set(interval, candleStart(nowMs, interval))
      }
    },
    sample() {},
    async close(nowMs) {
      if (closedToMs.size === 0) await findPast()
      if (hasPast && gaps.some(isOpenEnded)) return
      await fillGaps(nowMs)
      closeCandles()
    },
  }
}
