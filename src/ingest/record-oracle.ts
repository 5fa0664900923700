/**
 * An on-chain price, recorded: bars of 5 and 15 minutes, both from the updates themselves.
 *
 *   oracle_round ──▶ updates ──▶ open bars (each second) ──▶ closed once nothing can change them
 *   venue.history at the start: the rounds of the days before, and of the time that was missed
 *
 * A bar that could be carried by no fresh answer is a hole: the chain or the feed stood still.
 */
import type { Feed } from '../core/feed.ts'
import { barStart, INTERVAL_MS } from '../core/interval.ts'
import {
  buildOracleBars,
  CARRY_HEARTBEATS,
  isOracleBarFinal,
  type OracleUpdate,
  skipsRounds,
} from '../core/oracle-bars.ts'
import { type AssetSymbol, SYMBOLS } from '../core/symbol.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import { channelKey } from '../venues/channel.ts'
import type { DataObservation } from '../venues/observation.ts'
import type { LiveOptions, TimeRange, Venue } from '../venues/venue.ts'
import { candleFeed } from './plans.ts'
import type { Recorder } from './recorder.ts'
import { recorderStatus } from './recorder-status.ts'
import { type LiveRecorder, type LiveRun, runLive } from './run-live.ts'
import { finalize } from './symbol-parts.ts'
import { type CoverageTracker, createCoverageTracker } from './track-coverage.ts'
import { uncovered } from './uncovered.ts'
import { createRowWriter, type RowWriter } from './write-rows.ts'

const INTERVALS = ['5m', '15m'] as const
type OracleInterval = (typeof INTERVALS)[number]
const DAY_MS = 86_400_000
/** After a long outage the rounds are asked for from where the bars end, but not further back than this. */
const LONGEST_OUTAGE_MS = 31 * DAY_MS
const ASK_AGAIN_MS = 15_000
/** A round on which the nodes do not agree is asked for so often; then it stays a gap. */
const ASKS_AT_MOST = 20
/** Updates that no bar needs any more are forgotten when there are so many. */
const FORGET_AT = 500
const MAX_KEPT = 20_000
/** What was answered is told by the poll after it. */
const CLOSE_AFTER_MS = 15_000

export interface OracleOptions {
  readonly venue: Venue
  /** The longest pause between two answers while all is well. */
  readonly heartbeatMs: number
  readonly store: EnvironmentStore
  readonly clock: Clock
  readonly log: Logger
  readonly symbols?: readonly AssetSymbol[]
  /** How far back the rounds are asked for at the first start. */
  readonly backMs?: number
  readonly longestSilenceMs?: LiveOptions['longestSilenceMs']
}

export function recordOracle(options: OracleOptions): Recorder {
  const { venue, store, clock, log } = options
  const { source } = venue.describe
  const symbols = (options.symbols ?? SYMBOLS).filter((symbol) =>
    Object.hasOwn(venue.describe.symbols, symbol),
  )
  const channels = symbols.map((symbol) => ({ dataset: 'oracle_rounds', symbol }) as const)
  const feeds = channels.flatMap((channel) =>
    INTERVALS.map((interval) => ({
      feed: candleFeed(source, channel.symbol, interval),
      channels: [channelKey(channel)],
    })),
  )
  let writer: RowWriter | undefined
  let live: LiveRun | undefined
  let insertedBefore = 0

  async function run(signal: AbortSignal): Promise<void> {
    const rows = createRowWriter({ series: store.series, clock, log })
    writer = rows
    const tracker = createCoverageTracker({ feeds, coverage: store.coverage, writer: rows })
    const recorders = new Map<AssetSymbol, LiveRecorder>(
      symbols.map((symbol) => [symbol, recordSymbol({ ...options, symbol, rows, tracker, signal })]),
    )
    live = runLive({
      venue,
      channels,
      hasSnapshots: false,
      recorders,
      tracker,
      writer: rows,
      clock,
      log,
      signal,
      ...(options.longestSilenceMs === undefined ? {} : { longestSilenceMs: options.longestSilenceMs }),
    })
    try {
      await live.done
    } finally {
      await live.close()
      insertedBefore += rows.stats().inserted
      await rows.close().catch((error) => log.error({ err: error }, 'the last rows were not written'))
    }
  }

  return {
    name: venue.describe.name,
    source,
    run,
    status: () =>
      recorderStatus({
        venue,
        source,
        live,
        writer,
        insertedBefore,
        feeds: feeds.map(({ feed }) => feed),
      }),
  }
}

interface Hole extends TimeRange {
  /** How often it was asked for in vain. */
  readonly asks?: number
}

function recordSymbol(
  parts: OracleOptions & {
    symbol: AssetSymbol
    rows: RowWriter
    tracker: CoverageTracker
    signal: AbortSignal
  },
): LiveRecorder {
  const { venue, symbol, store, rows, tracker, clock, heartbeatMs, signal } = parts
  const { source } = venue.describe
  const startedMs = clock.now()
  const closedToMs = new Map<OracleInterval, number>()
  let updates: OracleUpdate[] = []
  /** The numbers of the updates. */
  let rounds = new Set<bigint>()
  let hasPast = false
  let hasBegun = false
  /** Rounds of these stretches were not heard and are asked for. */
  let holes: Hole[] = []
  /** Bars that were closed without an answer, ascending. */
  const hollow = new Map<OracleInterval, TimeRange[]>()
  let askAgainMs = 0
  let newest: OracleUpdate | undefined

  function add(observation: DataObservation): void {
    if (observation.kind !== 'oracle_round') return
    if (rounds.has(observation.roundId)) return
    rounds.add(observation.roundId)
    updates.push(observation)
    if (hasPast) forget()
  }

  function forget(): void {
    if (updates.length < FORGET_AT) return
    const neededMs = Math.min(...closedToMs.values()) - 2 * CARRY_HEARTBEATS * heartbeatMs
    updates = updates.filter(({ updatedMs }) => updatedMs >= neededMs).slice(-MAX_KEPT)
    rounds = new Set(updates.map(({ roundId }) => roundId))
  }

  const barsOf = (interval: OracleInterval, fromMs: number, toMs: number) =>
    buildOracleBars({ interval, updates, fromMs, toMs, heartbeatMs })

  function put(feed: Feed<'candles'>, bars: ReturnType<typeof barsOf>, closed: boolean): void {
    rows.put(
      feed,
      bars.map(({ openTimeMs: time, open, high, low, close }) => ({ time, open, high, low, close, closed })),
    )
  }

  async function askPast(): Promise<void> {
    const firstMs = barStart(startedMs - (parts.backMs ?? DAY_MS), '15m')
    let fromMs = startedMs
    for (const interval of INTERVALS) {
      const [known] = await store.series.finality([candleFeed(source, symbol, interval)])
      const before = known?.before ?? 0
      const nextMs = before === 0 ? firstMs : Math.max(before, startedMs - LONGEST_OUTAGE_MS)
      closedToMs.set(interval, nextMs)
      fromMs = Math.min(fromMs, nextMs)
    }
    const covered = await ask(fromMs - CARRY_HEARTBEATS * heartbeatMs, startedMs + 1)
    for (const interval of INTERVALS)
      confirm(interval, { fromMs: closedToMs.get(interval) ?? startedMs, toMs: startedMs }, covered)
    holes.unshift(...uncovered({ fromMs, toMs: startedMs }, covered).map((rest) => ({ ...rest, asks: 1 })))
    hasPast = true
  }

  /** Gives what the venue stands for: it may know less than it was asked for. */
  async function ask(fromMs: number, toMs: number): Promise<TimeRange[]> {
    const covered: TimeRange[] = []
    const request = { dataset: 'oracle_rounds', symbol, range: { fromMs, toMs } } as const
    for await (const page of venue.history(request, { signal })) {
      for (const row of page.observations) add(row)
      if (page.covered !== null) covered.push(page.covered)
    }
    return covered
  }

  /** A bar that was closed without an answer stays a hole, whatever is known of the rounds around it. */
  function confirm(interval: OracleInterval, asked: TimeRange, covered: readonly TimeRange[]): void {
    for (const part of covered) {
      const fromMs = Math.max(part.fromMs, asked.fromMs)
      const toMs = Math.min(part.toMs, asked.toMs)
      if (fromMs >= toMs) continue
      for (const piece of uncovered({ fromMs, toMs }, hollow.get(interval) ?? []))
        tracker.confirm(candleFeed(source, symbol, interval), piece.fromMs, piece.toMs)
    }
  }

  /** Rounds that were missed while no node answered are on the chain still. */
  async function fillHoles(nowMs: number): Promise<void> {
    if (nowMs < askAgainMs) return
    for (const hole of [...holes]) {
      const covered = await ask(hole.fromMs - heartbeatMs, hole.toMs + 1)
      for (const interval of INTERVALS) confirm(interval, hole, covered)
      const coveredToMs = Math.max(0, ...covered.map(({ toMs }) => toMs))
      const rests = uncovered(hole, covered).map((rest) => ({ ...rest, asks: (hole.asks ?? 0) + 1 }))
      // What is newer than the newest round is settled by the next one; a dispute may last for ever.
      const isOpen = (rest: Hole) => rest.toMs > coveredToMs || (rest.asks ?? 0) <= ASKS_AT_MOST
      holes = holes.flatMap((each) => (each === hole ? rests.filter(isOpen) : [each]))
      for (const { fromMs, toMs } of rests.filter((rest) => !isOpen(rest)))
        for (const interval of INTERVALS)
          tracker.missing(candleFeed(source, symbol, interval), fromMs, toMs, 'not_observed')
    }
    if (holes.length > 0) askAgainMs = nowMs + ASK_AGAIN_MS
  }

  /** A number between two rounds that were heard is a round that was not. */
  function observe(observation: DataObservation): void {
    if (observation.kind === 'oracle_round') {
      if (newest !== undefined && skipsRounds(newest, observation)) {
        const hole = { fromMs: newest.updatedMs, toMs: observation.updatedMs }
        for (const interval of INTERVALS)
          for (const { fromMs, toMs } of uncovered(hole, hollow.get(interval) ?? []))
            tracker.lost(candleFeed(source, symbol, interval), fromMs, toMs, 'not_observed')
        holes.push(hole)
      }
      newest = observation
    }
    add(observation)
  }

  function closeBars(interval: OracleInterval, nowMs: number): void {
    const feed = candleFeed(source, symbol, interval)
    const lengthMs = INTERVAL_MS[interval]
    const newestMs = updates.reduce((newest, { updatedMs }) => Math.max(newest, updatedMs), 0)
    const fromMs = closedToMs.get(interval) ?? 0
    let toMs = fromMs
    // A round that is still asked for may change every bar from there on.
    const soughtMs = Math.min(...holes.map((hole) => hole.fromMs))
    const isFinal = (endMs: number) =>
      endMs <= soughtMs &&
      nowMs >= endMs + CLOSE_AFTER_MS &&
      isOracleBarFinal({ endMs, nowMs, heartbeatMs, newestUpdateMs: newestMs === 0 ? null : newestMs })
    while (isFinal(toMs + lengthMs)) toMs += lengthMs
    if (toMs === fromMs) return
    const bars = barsOf(interval, fromMs, toMs)
    put(feed, bars, true)
    const starts = new Set(bars.map(({ openTimeMs }) => openTimeMs))
    const firstMs = updates.reduce((first, { updatedMs }) => Math.min(first, updatedMs), nowMs)
    for (let at = fromMs; at < toMs; at += lengthMs)
      if (!starts.has(at)) {
        tracker.lost(feed, at, at + lengthMs, at + lengthMs <= firstMs ? 'not_provided' : 'venue_down')
        const bar = { fromMs: at, toMs: at + lengthMs }
        hollow.set(interval, [...(hollow.get(interval) ?? []), bar].slice(-FORGET_AT))
      }
    closedToMs.set(interval, toMs)
    finalize({ writer: rows, series: store.series }, feed, toMs)
  }

  return {
    observe,
    gap(_dataset, fromMs, toMs) {
      const isOpen = (hole: Hole) => !Number.isFinite(hole.toMs)
      if (!Number.isFinite(fromMs)) holes = holes.map((hole) => (isOpen(hole) ? { ...hole, toMs } : hole))
      // A line that is lost may fall silent too: that is the same hole.
      else if (holes.some(isOpen))
        holes = holes.map((hole) =>
          isOpen(hole) ? { ...hole, fromMs: Math.min(hole.fromMs, fromMs) } : hole,
        )
      else holes.push({ fromMs, toMs })
    },
    begins(_dataset, atMs) {
      // Between our start and the first answer that is heard, rounds are asked for like any that were missed.
      if (!hasBegun && atMs > startedMs) holes.push({ fromMs: startedMs, toMs: atMs })
      hasBegun = true
    },
    show(nowMs) {
      if (!hasPast) return
      for (const interval of INTERVALS) {
        const fromMs = closedToMs.get(interval) ?? nowMs
        // A bar is shown only when it has an answer of its own or one in force.
        put(candleFeed(source, symbol, interval), barsOf(interval, fromMs, nowMs), false)
      }
    },
    sample() {},
    async close(nowMs) {
      if (!hasPast) await askPast()
      const isDown = holes.some(({ toMs }) => !Number.isFinite(toMs))
      if (isDown) return
      await fillHoles(nowMs)
      for (const interval of INTERVALS) closeBars(interval, nowMs)
    },
  }
}
