/**
 * The candles of one interval of an on-chain price: shown as they change, closed once nothing can change them. A candle
 * that is closed without an answer stays a gap, whatever becomes known about the rounds around it.
 */
import type { Feed } from '../../core/feed.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { buildOracleCandles, isOracleCandleFinal, type OracleCandle } from '../../core/oracle-candles.ts'
import type { GapReason } from '../../store/coverage.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import { uncovered } from '../shared/uncovered.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { OracleUpdates } from './order-updates.ts'

export const ORACLE_INTERVALS = ['5m', '15m'] as const
type OracleInterval = (typeof ORACLE_INTERVALS)[number]

const MAX_HOLLOW = 500
const EVER = { fromMs: 0, toMs: Number.POSITIVE_INFINITY }
/** An update is received with the first poll after it. */
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
  /** Start of the candles that this run has to close; the start of the run until that is known. */
  private beginMs: number
  /** Candles before this instant are closed; undefined until it is known where to begin. */
  closedToMs: number | undefined
  /** Candles before this instant are final: the blocks with their answers cannot be replaced any more. */
  finalToMs = 0
  /** Candles before this instant were already shown in their current form. */
  private shownToMs = 0
  /** Candles that were closed without an answer, ascending. */
  private hollow: HistoryRange[] = []
  /** Ranges whose rounds could not be determined, ascending; their candles are unknown. */
  private unknown: HistoryRange[] = []
  /** What earlier runs have observed of the time that this run has to close; nothing once it is doubted. */
  private stored: readonly HistoryRange[] = []
  /** Candles that had no answer when they were shown, and are not closed yet. */
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

  /**
   * A candle that has no answer yet will get one or become a gap. Until that is known, nothing from it on counts as
   * observed.
   */
  get claimedToMs(): number {
    return Math.min(...this.lacking)
  }

  /** @param stored what earlier runs have observed from there on, ascending */
  begin(atMs: number, stored: readonly HistoryRange[] = []): void {
    this.beginMs = atMs
    this.closedToMs = atMs
    this.finalToMs = atMs
    this.stored = stored
  }

  /** Since when no node has confirmed what earlier runs have observed; infinite if there is nothing of the kind. */
  get unconfirmedSinceMs(): number {
    return this.stored.at(-1)?.toMs ?? Number.POSITIVE_INFINITY
  }

  /**
   * Nobody knows at present whether candles of earlier runs have changed since, so those whose rounds have not been
   * requested again are a gap.
   */
  doubtStored(unanswered: readonly HistoryRange[]): void {
    for (const { fromMs, toMs } of this.stored)
      for (const gap of unanswered)
        this.lost({ fromMs: Math.max(fromMs, gap.fromMs), toMs: Math.min(toMs, gap.toMs) })
    this.stored = []
  }

  /**
   * An answer was received or, with its block, replaced, so candles from there on change, even closed ones: the blocks
   * that replace others may have more answers.
   */
  revised(fromMs: number, firstMs: number): void {
    // They are shown again.
    this.shownToMs = Math.min(this.shownToMs, candleStart(fromMs, this.parts.interval))
    const range = {
      fromMs: Math.max(candleStart(fromMs, this.parts.interval), this.finalToMs),
      toMs: this.closedToMs ?? 0,
    }
    if (range.fromMs >= range.toMs) return
    const regained = this.hollow.filter(({ fromMs }) => fromMs >= range.fromMs)
    this.hollow = this.hollow.filter(({ fromMs }) => fromMs < range.fromMs)
    this.putClosed(range, firstMs)
    for (const candle of regained) if (!this.isUnknown(candle.fromMs)) this.confirm(candle)
  }

  /** Nobody knows at present whether closed candles that are not final have changed: they are a gap. */
  doubt({ fromMs, toMs }: HistoryRange = EVER): void {
    const range = { fromMs: Math.max(fromMs, this.finalToMs), toMs: Math.min(toMs, this.closedToMs ?? 0) }
    if (range.fromMs >= range.toMs) return
    for (const piece of uncovered(range, this.hollow))
      this.parts.tracker.lost(this.feed, piece.fromMs, piece.toMs, 'not_observed')
  }

  /** Nothing before this instant can be replaced any more. */
  settle(settledMs: number): void {
    const toMs = Math.min(this.closedToMs ?? 0, candleStart(settledMs, this.parts.interval))
    if (toMs <= this.finalToMs) return
    this.finalToMs = toMs
    this.parts.rows.final(this.feed, toMs)
  }

  /** The venue has answered for all rounds of a range. */
  confirm({ fromMs, toMs }: HistoryRange): void {
    const range = { fromMs: Math.max(fromMs, this.beginMs), toMs }
    if (range.fromMs >= toMs) return
    for (const piece of uncovered(range, this.hollow))
      this.parts.tracker.confirm(this.feed, piece.fromMs, piece.toMs)
  }

  /**
   * A round of a range was missed. Closed candles stay as they are, because none of their rounds is missing: after a
   * start, nodes that are behind have older rounds than the store, so the numbers up to the next round skip known
   * rounds.
   */
  lost({ fromMs, toMs }: HistoryRange): void {
    const range = { fromMs: Math.max(fromMs, this.closedToMs ?? this.beginMs), toMs }
    if (range.fromMs >= toMs) return
    for (const piece of uncovered(range, this.hollow))
      this.parts.tracker.lost(this.feed, piece.fromMs, piece.toMs, 'not_observed')
  }

  /** The rounds of this range will never be known: it is a gap, even if another run has observed it. */
  giveUp(range: HistoryRange): void {
    this.unknown = [...this.unknown, range].slice(-MAX_HOLLOW)
    this.lost(range)
  }

  show(nowMs: number): void {
    const fromMs = Math.max(this.closedToMs ?? nowMs, this.shownToMs)
    // A candle is shown only if it has its own answer or an earlier one is in force.
    const candles = this.candles(fromMs, nowMs)
    this.put(candles, false)
    this.noteLacking(candles, { fromMs, toMs: nowMs })
    this.shownToMs = candleStart(nowMs, this.parts.interval)
  }

  private noteLacking(candles: readonly OracleCandle[], { fromMs, toMs }: HistoryRange): void {
    const { interval, updates } = this.parts
    for (const startMs of this.lacking) if (startMs >= fromMs) this.lacking.delete(startMs)
    // Before the first known answer there may have been none, so nothing is lacking there.
    const sinceMs = Math.max(fromMs, updates.oldestMs ?? toMs)
    const starts = new Set(candles.map(({ openTimeMs }) => openTimeMs))
    const lengthMs = INTERVAL_MS[interval]
    for (let startMs = candleStart(sinceMs + lengthMs - 1, interval); startMs < toMs; startMs += lengthMs)
      if (!starts.has(startMs)) this.lacking.add(startMs)
  }

  /**
   * Closes what is final.
   * `knownToMs`: every round before this instant is known, unless it is still being requested.
   * `soughtMs`: a round that is still being requested may change every candle from here on.
   * `firstMs`: before this instant the oracle may not have existed.
   */
  close(options: { nowMs: number; knownToMs: number; soughtMs: number; firstMs: number }): void {
    const { nowMs, knownToMs, soughtMs, firstMs } = options
    const { interval, heartbeatMs, updates } = this.parts
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
    this.putClosed({ fromMs, toMs }, firstMs)
    this.closedToMs = toMs
    for (const startMs of this.lacking) if (startMs < toMs) this.lacking.delete(startMs)
  }

  private putClosed({ fromMs, toMs }: HistoryRange, firstMs: number): void {
    const lengthMs = INTERVAL_MS[this.parts.interval]
    const candles = this.candles(fromMs, toMs)
    this.put(candles, true)
    const starts = new Set(candles.map(({ openTimeMs }) => openTimeMs))
    for (let at = fromMs; at < toMs; at += lengthMs)
      if (!starts.has(at))
        this.closeHollow(
          { fromMs: at, toMs: at + lengthMs },
          this.isUnknown(at) ? 'not_observed' : undefined,
          firstMs,
        )
  }

  private isUnknown(at: number): boolean {
    const endMs = at + INTERVAL_MS[this.parts.interval]
    return this.unknown.some((range) => range.fromMs < endMs && range.toMs > at)
  }

  private closeHollow(candle: HistoryRange, known: GapReason | undefined, firstMs: number): void {
    const reason = known ?? (candle.toMs <= firstMs ? 'not_provided' : 'venue_down')
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
