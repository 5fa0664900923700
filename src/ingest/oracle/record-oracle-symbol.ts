/**
 * Candles of one on-chain price.
 *
 *   received ───────▶ updates ──▶ open candles, as they change ──▶ closed once all are known ──▶ final ──▶ forgotten
 *   gaps ─requested─▶    ▲        a block is replaced: closed ones change too, until they are final
 *
 * Gaps are requested page by page, the oldest first, and no candle beyond the point reached is closed. So an outage of
 * a month needs no more memory than one of an hour, unless the nodes disagree early in it.
 */
import { candleStart } from '../../core/interval.ts'
import { CARRY_HEARTBEATS, isSamePhase, type OracleUpdate, skipsRounds } from '../../core/oracle-candles.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { Topic } from '../../venues/channel.ts'
import type {
  DataObservation,
  OracleRoundGoneObservation,
  OracleRoundObservation,
} from '../../venues/observation.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { LiveRecorder } from '../shared/live-recorder.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { ORACLE_INTERVALS, OracleCandleCloser } from './close-oracle-candles.ts'
import { createOracleUpdates } from './order-updates.ts'
import { type RoundGap, RoundGaps, splitGap } from './round-gaps.ts'

const DAY_MS = 86_400_000
/** After a long outage, rounds are requested from where the candles end, but not further back than this. */
const MAX_OUTAGE_MS = 31 * DAY_MS
const REQUEST_AGAIN_MS = 15_000
/** Without an answer for this long, candles that are not final may have changed with their blocks. */
const UNREAD_MS = 60_000
/** How often a round on which the nodes disagree is requested; after that it stays a gap. */
const MAX_REQUESTS = 20
/** Updates that no candle needs any more are forgotten once there are this many. */
const FORGET_AT = 500
/** Beyond a gap that is still being requested, at most this many updates are gathered. */
const MAX_GATHERED = 10_000
/** No more updates than this are held, even if candles need them: the oldest become a gap again. */
const MAX_HELD = 20_000
const DROPPED_AT_ONCE = 5_000

interface OracleSymbolParts {
  readonly venue: Pick<Venue, 'describe' | 'history'>
  readonly symbol: AssetSymbol
  /** The longest pause between two answers in normal operation. */
  readonly heartbeatMs: number
  readonly store: EnvironmentStore
  readonly rows: RowWriter
  readonly tracker: CoverageTracker
  readonly clock: Clock
  readonly signal: AbortSignal
  /** How far back rounds are requested at the first start. */
  readonly backMs?: number
}

export class OracleSymbolRecorder implements LiveRecorder {
  private readonly parts: OracleSymbolParts
  private readonly startedMs: number
  private readonly updates = createOracleUpdates()
  private readonly gaps = new RoundGaps()
  private readonly closers: readonly OracleCandleCloser[]
  /** Whether the starting point was read from the store. */
  private hasResumed = false
  /** Whether everything before the start was requested once. */
  private hasPast = false
  private hasBegun = false
  private requestAgainMs = 0
  /** Since when the nodes give no answer; infinite once candles are doubted for it, undefined while they answer. */
  private unreadSinceMs: number | undefined
  /** Before this instant the oracle may not have existed. */
  private firstMs = Number.POSITIVE_INFINITY
  private newest: OracleUpdate | undefined
  /** The nodes have answered for everything before this instant. */
  private knownToMs = 0
  /** The chain replaces nothing before this instant. */
  private settledMs: number

  constructor(parts: OracleSymbolParts) {
    this.parts = parts
    this.startedMs = parts.clock.now()
    const { heartbeatMs, rows, tracker } = parts
    this.settledMs = parts.venue.describe.settlesAfterMs === undefined ? Number.POSITIVE_INFINITY : 0
    this.closers = ORACLE_INTERVALS.map(
      (interval) =>
        new OracleCandleCloser({
          feed: candleFeed(parts.venue.describe.source, parts.symbol, interval),
          ...{ interval, startedMs: this.startedMs, heartbeatMs, rows, tracker, updates: this.updates },
        }),
    )
    // No candle is shown until the past is known, so none counts as observed.
    for (const { feed } of this.closers) tracker.limit(feed, this.startedMs)
  }

  observe(observation: DataObservation): void {
    if (observation.kind === 'oracle_round_gone') this.forget(observation)
    if (observation.kind !== 'oracle_round') return
    // A skipped number between two received rounds is a round that was missed.
    if (this.newest !== undefined && skipsRounds(this.newest, observation)) {
      const gap = { fromMs: this.newest.updatedMs, toMs: observation.updatedMs }
      for (const closer of this.closers) closer.lost(gap)
      this.gaps.add(gap)
    }
    const isNewest = this.newest === undefined || observation.roundId > this.newest.roundId
    if (isNewest) this.newest = observation
    // A round that history returned may have been replaced since, even the newest one.
    if (!this.revise(observation) && isNewest) this.add(observation)
  }

  gap(_topic: Topic, fromMs: number, toMs: number): void {
    if (!Number.isFinite(fromMs)) {
      this.gaps.addOpen(fromMs, toMs)
      this.unreadSinceMs = undefined
      return
    }
    this.show(this.parts.clock.now())
    this.unreadSinceMs ??= this.parts.clock.now()
    // Coverage ends where the knowledge of the nodes ended, which may be a little earlier, or at a candle that has no
    // answer yet. Before the past is known, it has not begun.
    const claimedMs = Math.min(fromMs, ...this.closers.map((closer) => closer.claimedToMs))
    const knownMs = this.knownToMs > 0 ? Math.min(claimedMs, this.knownToMs) : claimedMs
    this.gaps.addOpen(this.hasPast ? knownMs : Math.min(knownMs, this.startedMs), toMs)
  }

  begins(_topic: Topic, atMs: number): void {
    // Rounds between our start and the first answer are requested like all others that were missed.
    if (!this.hasBegun && atMs > this.startedMs) this.gaps.add({ fromMs: this.startedMs, toMs: atMs })
    this.hasBegun = true
  }

  observedTo(_topic: Topic, toMs: number, settledMs = 0): void {
    this.knownToMs = Math.max(this.knownToMs, toMs)
    this.settledMs = Math.max(this.settledMs, settledMs)
  }

  show(nowMs: number): void {
    for (const closer of this.closers)
      if (nowMs - closer.unconfirmedSinceMs >= UNREAD_MS) closer.doubtStored(this.gaps.ended())
    if (!this.hasPast) return
    if (nowMs - (this.unreadSinceMs ?? nowMs) >= UNREAD_MS) this.doubtUnsettled()
    for (const closer of this.closers) {
      closer.show(nowMs)
      this.parts.tracker.limit(closer.feed, closer.claimedToMs)
    }
  }

  /** Candles that are not final are a gap, until their rounds are requested with those that are missed. */
  private doubtUnsettled(): void {
    this.unreadSinceMs = Number.POSITIVE_INFINITY
    for (const closer of this.closers) closer.doubt()
    this.gaps.addOpen(Math.min(...this.closers.map(({ finalToMs }) => finalToMs)), Number.POSITIVE_INFINITY)
  }

  sample(): void {}

  async close(nowMs: number): Promise<void> {
    if (!this.hasResumed) await this.resume()
    if (this.hasPast && this.gaps.isOpen) return
    await this.requestGaps(nowMs)
    this.closeCandles()
  }

  /** The time between the last closed candle and the start is a gap like any other. */
  private async resume(): Promise<void> {
    const { startedMs } = this
    const firstCandleMs = candleStart(startedMs - (this.parts.backMs ?? DAY_MS), '15m')
    const { series, coverage } = this.parts.store
    const beginnings: number[] = []
    const stored: HistoryRange[][] = []
    for (const { feed, interval } of this.closers) {
      const [known] = await series.finality([feed])
      const before = known?.before ?? 0
      if (before !== 0) this.firstMs = 0
      // Aligned to the grid of every interval, because a candle cannot start anywhere else.
      const oldestMs = candleStart(startedMs - MAX_OUTAGE_MS, '15m')
      const beginMs = before === 0 ? firstCandleMs : Math.max(candleStart(before, interval), oldestMs)
      const { observed } = await coverage.read([feed], beginMs, Math.max(beginMs, startedMs))
      beginnings.push(beginMs)
      stored.push(observed.map(({ from: fromMs, to: toMs }) => ({ fromMs, toMs })))
    }
    this.hasResumed = true
    this.closers.forEach((closer, i) => {
      closer.begin(beginnings[i] ?? firstCandleMs, stored[i] ?? [])
    })
    const fromMs = Math.min(startedMs, ...beginnings)
    if (fromMs < startedMs) this.gaps.add({ fromMs, toMs: startedMs })
  }

  private async requestGaps(nowMs: number): Promise<void> {
    if (nowMs < this.requestAgainMs) return
    for (const gap of this.gaps.ended()) {
      await this.request(gap)
      this.closeCandles()
      if (this.updates.size >= MAX_GATHERED) break
    }
    this.hasPast = true
    if (!this.gaps.isEmpty) this.requestAgainMs = nowMs + REQUEST_AGAIN_MS
  }

  /** Handles the answer page by page, so that answered ranges stay answered if a later request fails. */
  private async request(gap: RoundGap): Promise<void> {
    const { venue, symbol, heartbeatMs, rows, signal } = this.parts
    const requests = (gap.requests ?? 0) + 1
    let rest = gap
    const range = { fromMs: gap.fromMs - CARRY_HEARTBEATS * heartbeatMs, toMs: gap.toMs + 1 }
    for await (const page of venue.history({ topic: 'oracle_rounds', symbol, range }, { signal })) {
      for (const row of page.observations) this.add(row)
      if (page.covered !== null) {
        const split = splitGap(rest, page.covered)
        const unanswered = [...this.disputed({ ...split.disputed, requests }), split.rest]
        this.gaps.replace(
          rest,
          unanswered.filter(({ fromMs, toMs }) => fromMs < toMs),
        )
        rest = split.rest
        for (const closer of this.closers) closer.confirm(split.answered)
      }
      this.closeCandles()
      await rows.ready()
      if (this.updates.size >= MAX_GATHERED && this.gaps.firstMs < rest.fromMs) return
    }
    // What is newer than the newest round waits for the next one and is not in dispute. What is older but got no answer
    // is in dispute; this happens if the gap ends where two phases overlap.
    if (rest.fromMs < rest.toMs && (this.updates.newestMs ?? 0) > rest.toMs)
      this.gaps.replace(rest, this.disputed({ ...rest, requests }))
  }

  /** A dispute may last forever, so it is given up after some requests. */
  private disputed(gap: RoundGap): RoundGap[] {
    if (gap.fromMs >= gap.toMs || (gap.requests ?? 0) <= MAX_REQUESTS) return [gap]
    for (const closer of this.closers) closer.giveUp(gap)
    return []
  }

  /**
   * The round was read again, and may have come in another block. An unknown round is being requested with those around
   * it.
   */
  private revise(observation: OracleRoundObservation): boolean {
    const replacedMs = this.updates.forgetOther(observation)
    if (replacedMs === undefined) return false
    this.updates.add(observation)
    const fromMs = Math.min(replacedMs, observation.updatedMs)
    for (const closer of this.closers) closer.revised(fromMs, this.firstMs)
    // The first round of a phase: with its block, the end of the phase before may have moved.
    const before = this.updates.before(observation)
    if (before !== undefined && !isSamePhase(before, observation))
      this.gaps.add({ fromMs: before.updatedMs, toMs: observation.updatedMs })
    return true
  }

  /** If the nodes disagree on the round, it is requested again together with the time in which it may be. */
  private forget({ roundId, isDisputed }: OracleRoundGoneObservation): void {
    const known = this.updates.forget(roundId)
    if (known === undefined) return
    if (this.newest?.roundId === roundId) this.newest = this.updates.newest
    for (const closer of this.closers) {
      closer.revised(known.forgotten.updatedMs, this.firstMs)
      if (!isDisputed) continue
      closer.doubt(known.around)
      closer.lost(known.around)
    }
    if (isDisputed) this.gaps.add(known.around)
  }

  private add(observation: DataObservation): void {
    if (observation.kind !== 'oracle_round' || !this.updates.add(observation)) return
    this.firstMs = Math.min(this.firstMs, observation.updatedMs)
    for (const closer of this.closers) closer.revised(observation.updatedMs, this.firstMs)
    if (this.updates.size <= MAX_HELD) return
    const dropped = this.updates.dropOldest(DROPPED_AT_ONCE)
    if (dropped !== undefined) this.gaps.add(dropped)
  }

  private closeCandles(): void {
    const { clock, heartbeatMs } = this.parts
    const { firstMs, knownToMs } = this
    const soughtMs = this.gaps.firstMs
    for (const closer of this.closers) {
      closer.close({ nowMs: clock.now(), knownToMs, soughtMs, firstMs })
      closer.settle(Math.min(this.settledMs, soughtMs))
    }
    if (this.updates.size < FORGET_AT) return
    const finalToMs = Math.min(...this.closers.map((closer) => closer.finalToMs))
    this.updates.forgetBefore(finalToMs - 2 * CARRY_HEARTBEATS * heartbeatMs)
  }
}
