/**
 * The candles of one interval of an on-chain price: shown as they change, closed once nothing can change them. A candle
 * that is closed without an answer stays a gap, whatever is known of the rounds around it.
 */
import type { Feed } from '../../core/feed.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { buildOracleCandles, isOracleCandleFinal, type OracleCandle } from '../../core/oracle-candles.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { uncovered } from '../shared/uncovered.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { OracleUpdates } from './order-updates.ts'

export const ORACLE_INTERVALS = ['5m', '15m'] as const
type OracleInterval = (typeof ORACLE_INTERVALS)[number]

const MAX_HOLLOW = 500
/** An update is received with the poll after it. */
const CLOSE_AFTER_MS = 15_000

interface OracleCandleParts {
  readonly feed: Feed<'candles'>
  readonly interval: OracleInterval
  readonly startedMs: number
  readonly heartbeatMs: number
  readonly updates: OracleUpdates
  readonly rows: Pick<RowWriter, 'put' | 'final'>
  readonly tracker: Pick<CoverageTracker, 'confirm' | 'lost'>
}

export class OracleCandleCloser {
  private readonly parts: OracleCandleParts
  /** Where the candles begin that this run is to close; its start until that is known. */
  private beginMs: number
  /** Candles before it are closed; undefined until it is known where to begin. */
  closedToMs: number | undefined
  /** Candles before it were shown as they are. */
  private shownToMs = 0
  /** Candles that were closed without an answer, ascending. */
  private hollow: HistoryRange[] = []
  /** Candles that were shown to have no answer, and are not closed yet. */
  private readonly lacking = new Set<number>()

  constructor(parts: OracleCandleParts) {
    this.parts = parts
    this.beginMs = parts.startedMs
  }

  get feed(): Feed<'candles'> {
    return this.parts.feed
  }

  get interval(): OracleInterval {
    return this.parts.interval
  }

  /** A candle that has no answer yet will be one, or a gap: until that is known nothing is claimed from it on. */
  get claimedToMs(): number {
    return Math.min(...this.lacking)
  }

  begin(atMs: number): void {
    this.beginMs = atMs
    this.closedToMs = atMs
  }

  /** A new update: its candle and those after it are shown again. */
  changed(updatedMs: number): void {
    this.shownToMs = Math.min(this.shownToMs, candleStart(updatedMs, this.parts.interval))
  }

  /** The venue has answered for all rounds of a range. */
  confirm({ fromMs, toMs }: HistoryRange): void {
    const range = { fromMs: Math.max(fromMs, this.beginMs), toMs }
    if (range.fromMs >= toMs) return
    for (const piece of uncovered(range, this.hollow))
      this.parts.tracker.confirm(this.feed, piece.fromMs, piece.toMs)
  }

  /**
   * A round of a range was missed. What is closed stays as it is, since no round of it is missing: nodes that were behind
   * after a start have older rounds than the store, and the numbers between them and the next one skip what is known.
   */
  lost({ fromMs, toMs }: HistoryRange): void {
    const range = { fromMs: Math.max(fromMs, this.closedToMs ?? this.beginMs), toMs }
    if (range.fromMs >= toMs) return
    for (const piece of uncovered(range, this.hollow))
      this.parts.tracker.lost(this.feed, piece.fromMs, piece.toMs, 'not_observed')
  }

  show(nowMs: number): void {
    const fromMs = Math.max(this.closedToMs ?? nowMs, this.shownToMs)
    // A candle is shown only when it has an answer of its own or one in force.
    const candles = this.candles(fromMs, nowMs)
    this.put(candles, false)
    this.noteLacking(candles, { fromMs, toMs: nowMs })
    this.shownToMs = candleStart(nowMs, this.parts.interval)
  }

  private noteLacking(candles: readonly OracleCandle[], { fromMs, toMs }: HistoryRange): void {
    const { interval, updates } = this.parts
    for (const startMs of this.lacking) if (startMs >= fromMs) this.lacking.delete(startMs)
    // Before the first known answer there may have been none.
    const sinceMs = Math.max(fromMs, updates.oldestMs ?? toMs)
    const starts = new Set(candles.map(({ openTimeMs }) => openTimeMs))
    const lengthMs = INTERVAL_MS[interval]
    for (let startMs = candleStart(sinceMs + lengthMs - 1, interval); startMs < toMs; startMs += lengthMs)
      if (!starts.has(startMs)) this.lacking.add(startMs)
  }

  /**
   * Closes what is final.
   * `knownToMs`: every round before this is known, unless it is still being requested.
   * `soughtMs`: a round that is still being requested may change every candle from there on.
   * `firstMs`: before it the oracle may not have been there.
   */
  close(options: { nowMs: number; knownToMs: number; soughtMs: number; firstMs: number }): void {
    const { nowMs, knownToMs, soughtMs, firstMs } = options
    const { interval, heartbeatMs, updates, rows } = this.parts
    if (this.closedToMs === undefined) return
    const lengthMs = INTERVAL_MS[interval]
    const newestUpdateMs = updates.newestMs
    const isFinal = (endMs: number) =>
      endMs <= soughtMs &&
      nowMs >= endMs + CLOSE_AFTER_MS &&
      isOracleCandleFinal({ endMs, knownToMs, heartbeatMs, newestUpdateMs })
    const fromMs = this.closedToMs
    let toMs = fromMs
    while (isFinal(toMs + lengthMs)) toMs += lengthMs
    if (toMs === fromMs) return
    const candles = this.candles(fromMs, toMs)
    this.put(candles, true)
    const starts = new Set(candles.map(({ openTimeMs }) => openTimeMs))
    for (let at = fromMs; at < toMs; at += lengthMs)
      if (!starts.has(at)) this.closeHollow({ fromMs: at, toMs: at + lengthMs }, firstMs)
    this.closedToMs = toMs
    for (const startMs of this.lacking) if (startMs < toMs) this.lacking.delete(startMs)
    rows.final(this.feed, toMs)
  }

  private closeHollow(candle: HistoryRange, firstMs: number): void {
    const reason = candle.toMs <= firstMs ? 'not_provided' : 'venue_down'
    this.parts.tracker.lost(this.feed, candle.fromMs, candle.toMs, reason)
    this.hollow = [...this.hollow, candle].slice(-MAX_HOLLOW)
  }

  private candles(fromMs: number, toMs: number): OracleCandle[] {
    const { interval, updates, heartbeatMs } = this.parts
    return buildOracleCandles({
      interval,
      updates: updates.around(fromMs, toMs),
      fromMs,
      toMs,
      heartbeatMs,
    })
  }

  private put(candles: readonly OracleCandle[], closed: boolean): void {
    this.parts.rows.put(
      this.feed,
      candles.map(({ openTimeMs: time, open, high, low, close }) => ({
        ...{ time, open, high, low, close },
        closed,
      })),
    )
  }
}
