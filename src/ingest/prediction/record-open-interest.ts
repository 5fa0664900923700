/**
 * Open interest of yes/no contracts: at each grid point the last figure of every open contract, and their sum. Coverage
 * ends before the first grid point whose rows are not put yet; a grid point that passes while the store fails is a gap.
 *
 *   streamed since the channel last began, and since its last unreadable frame ──▶ the newest figure, however old: it
 *                                              has not changed, unless a much newer list has another
 *   otherwise, from a list of the last 45 seconds                              ──▶ the listed figure, or a streamed
 *                                              one that is newer
 *   neither                                                                    ──▶ the point is a gap
 */
import { add, decimal, decimalText, ZERO } from '../../core/decimal.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { OpenInterestObservation } from '../../venues/observation.ts'
import { COARSE_INTERVALS, feedOf } from '../shared/feeds.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { LatestBefore } from './latest-before.ts'
import type { PredictionPlan } from './market-feeds.ts'

const GRID_MS = INTERVAL_MS['5m']
/** Figures of the grid point itself may arrive this late. */
const GRACE_MS = 5_000
/** A grid point that is older than this counts as not observed. */
const LATE_MS = 30_000
/** Contracts are listed every 30 seconds, and the answer takes some time. */
const MAX_LIST_AGE_MS = 45_000
/** A list may contain figures that are this old, but no older ones. */
const LISTED_LATE_MS = 5 * 60_000

interface Figures {
  /** How often streamed figures of this contract alone may have been missed. */
  doubts: number
  /** `doubts`: how many doubts of all contracts and of this one there had been when the figure was received. */
  readonly streamed: LatestBefore<{ readonly text: string; readonly atMs: number; readonly doubts: number }>
  readonly listed: LatestBefore<{ readonly text: string; readonly atMs: number }>
}

export type OpenInterestRecorder = ReturnType<typeof recordOpenInterest>

export function recordOpenInterest(options: {
  plan: PredictionPlan
  symbol: AssetSymbol
  startedMs: number
  writer: Pick<RowWriter, 'put'>
  tracker: Pick<CoverageTracker, 'limit' | 'lost'>
}) {
  const { plan, symbol, writer, tracker } = options
  const figures = new Map<string, Figures>()
  /** How often streamed figures may have been missed. */
  let doubts = 0
  const feeds = COARSE_INTERVALS.map((interval) => ({
    feed: feedOf('open_interest', plan.source, symbol, interval),
    lengthMs: INTERVAL_MS[interval],
  }))
  let nextMs = 0
  waitFor(Math.floor(options.startedMs / GRID_MS) * GRID_MS + GRID_MS)

  function waitFor(gridMs: number): void {
    nextMs = gridMs
    for (const { feed } of feeds) tracker.limit(feed, gridMs)
  }

  /** Marks the grid points from one instant to another, both included, as not observed. */
  function lose(fromMs: number, toMs: number): void {
    for (const { feed, lengthMs } of feeds) {
      const firstMs = Math.ceil(fromMs / lengthMs) * lengthMs
      const lastMs = Math.floor(toMs / lengthMs) * lengthMs
      if (firstMs <= lastMs) tracker.lost(feed, firstMs, lastMs + 1, 'not_observed')
    }
  }

  /** The figure of a contract at an instant; undefined if none is certain. */
  function figureAt(marketId: string, timeMs: number): string | undefined {
    const known = figures.get(marketId)
    const streamed = known?.streamed.at(timeMs)
    const listed = known?.listed.at(timeMs)
    // Frames have no numbers, so only a list shows that one was lost.
    const isOutdated =
      streamed !== undefined &&
      listed !== undefined &&
      listed.atMs > streamed.atMs + LISTED_LATE_MS &&
      Number(listed.text) !== Number(streamed.text)
    if (known !== undefined && streamed?.doubts === doubts + known.doubts && !isOutdated) return streamed.text
    if (listed === undefined || timeMs - listed.atMs > MAX_LIST_AGE_MS) return undefined
    // The list may be older than what was streamed before the doubt.
    return streamed !== undefined && streamed.atMs > listed.atMs ? streamed.text : listed.text
  }

  return {
    received({ instrument, venueTimeMs, openInterest: text, isListed }: OpenInterestObservation) {
      const known: Figures = figures.get(instrument) ?? {
        doubts: 0,
        streamed: new LatestBefore(),
        listed: new LatestBefore(),
      }
      if (isListed) known.listed.received(venueTimeMs, { text, atMs: venueTimeMs })
      else known.streamed.received(venueTimeMs, { text, atMs: venueTimeMs, doubts: doubts + known.doubts })
      figures.set(instrument, known)
    },
    /** Figures of one contract may have been missed, so those received so far may be outdated. */
    missedOf(marketId: string) {
      const known = figures.get(marketId)
      if (known !== undefined) known.doubts += 1
    },
    /** The channel begins, or a frame of it could not be read, so figures received so far may be outdated. */
    doubted() {
      doubts += 1
    },
    /** A contract was open in this range without being known, so sums of that time lack it. */
    missed: (fromMs: number, toMs: number) => lose(fromMs, Math.min(toMs, nextMs - 1)),
    drop: (marketId: string) => void figures.delete(marketId),
    /** Called every second. `openAt`: the contracts that are open at an instant. */
    show(nowMs: number, openAt: (timeMs: number) => readonly string[]) {
      if (nowMs < nextMs + GRACE_MS) return
      const time = nextMs
      const newestMs = Math.floor(nowMs / GRID_MS) * GRID_MS
      waitFor(newestMs + GRID_MS)
      if (nowMs - time > LATE_MS) {
        lose(time, newestMs)
        return
      }
      const open = openAt(time)
      const rows = open.flatMap((marketId): OpenInterestInput[] => {
        const openInterest = figureAt(marketId, time)
        return openInterest === undefined
          ? []
          : [{ time, openInterest, openInterestUsd: openInterest, marketId }]
      })
      // A sum must include all open contracts.
      if (rows.length < open.length) lose(time, time)
      if (rows.length === 0) return
      const sum = decimalText(rows.reduce((total, row) => add(total, decimal(row.openInterest)), ZERO))
      const all =
        rows.length < open.length ? rows : [{ time, openInterest: sum, openInterestUsd: sum }, ...rows]
      for (const { feed, lengthMs } of feeds) if (time % lengthMs === 0) writer.put(feed, all)
    },
  }
}
