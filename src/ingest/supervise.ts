/**
 * Runs recorders and restarts those that fail.
 *
 * A recorder (`recorder.ts`) records one venue: `run(signal)` until the signal, `status()` at any time. The three
 * exchanges share one recorder, `exchange/record-exchange.ts`, which follows a plan (`venues/plan.ts`); a venue of another
 * kind has its own recorder, and nothing here changes. The path of an observation in an exchange:
 *
 *   venue.live ──▶ run-live ──▶ record-symbol ──┬─▶ close-minutes ──▶ roll-up ──▶ candles 1m … 1d
 *                     │                         ├─▶ follow-trades ─▶ close-seconds (candles 1s), close-flow
 *                     │                         ├─▶ sample-book ──▶ snapshots
 *                     │                         ╰─▶ ticker, trades, liquidations, funding, open interest
 *                     ├─▶ watch-silence ──▶ witness ──▶ gap, reconnect
 *                     ╰─▶ track-coverage ──▶ what was observed, what was not and why
 *   venue.history ─▶ record-symbol.close (each minute) and run-backfill (the days before)
 *   all rows ─▶ write-rows (bounded, batched) ─▶ store; coverage is written with its rows
 *
 * To add a venue of the same kind, add its folder in venues/ and its line in venues/list.ts. To add another kind
 * (prediction markets, an oracle), add a kind of plan in venues/plan.ts and a `record-….ts` that passes its channels,
 * feeds and symbol recorders to shared/record-venue.ts, and choose it in choose-recorder.ts.
 *
 * States of a recorder here:
 *
 *   running ──rejects──▶ waiting (exponential backoff with full jitter) ──▶ running …
 *      ╰──── signal ──▶ stopped
 *
 * A recorder that fails never stops the others. `status()` gives the state of each source: healthy (all channels up and data
 * arriving), stale (some channel down, or no data for longer than is normal), down (nothing is received, or the store
 * does not accept rows).
 */
import type { Feed } from '../core/feed.ts'
import type { Source } from '../core/source.ts'
import { backoffMs } from '../kit/backoff.ts'
import { type Clock, elapsedMs } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { CoverageStore, Span } from '../store/coverage.ts'
import type { Recorder, RecorderStatus } from './shared/recorder.ts'

const RESTART = { baseMs: 1_000, capMs: 60_000 }
const STEADY_AFTER_MS = 60_000
const DAY_MS = 86_400_000
const COUNT_GAPS_EVERY_MS = 10_000
/** Every venue sends something more often than this. */
const STALE_AFTER_MS = 30_000

export interface SourceStatus {
  readonly source: Source
  readonly state: 'healthy' | 'stale' | 'down'
  readonly lastEventMs: number | null
  readonly rowsInserted: number
  readonly gaps24h: number
  /** Time missing in the last 24 hours, summed over the feeds; null before the first count. */
  readonly gapMs24h: number | null
  /**
   * Length of the longest gap that is still open, among feeds that were observed before; null before the first count.
   */
  readonly openGapMs: number | null
  /** Share of the first backfill that is done, 0 to 1; null if there is no backfill. */
  readonly backfill: number | null
  readonly detail: RecorderStatus
}

export interface Supervisor {
  status(): SourceStatus[]
  close(): Promise<void>
}

export function supervise(options: {
  recorders: readonly Recorder[]
  coverage: CoverageStore
  clock: Clock
  random: () => number
  log: Logger
}): Supervisor {
  const { recorders, coverage, clock, random, log } = options
  const stop = new AbortController()
  const { signal } = stop
  const gaps = new Map<Source, { count: number; ms: number; openMs: number }>()
  /** Feeds for which coverage was found at least once since this process started. */
  const observed = new Set<Feed>()
  const running = new Set<string>()
  const timeOf = (recorder: Recorder) => (recorder.clock ?? clock).now()

  async function keep(recorder: Recorder): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      const startedMs = elapsedMs(clock)
      running.add(recorder.name)
      try {
        await recorder.run(signal)
      } catch (error) {
        if (!signal.aborted) log.error({ venue: recorder.name, err: error }, 'a recorder failed')
      }
      running.delete(recorder.name)
      if (elapsedMs(clock) - startedMs > STEADY_AFTER_MS) attempt = 0
      if (!signal.aborted) await clock.sleep(backoffMs(RESTART, attempt, random), signal)
    }
  }

  async function countGaps(): Promise<void> {
    for (;;) {
      for (const recorder of recorders) {
        // If the store is away, the previous counts stay.
        const counted = await gapsOf(recorder).catch(() => undefined)
        if (counted !== undefined) gaps.set(recorder.source, counted)
      }
      await clock.sleep(COUNT_GAPS_EVERY_MS, signal)
    }
  }

  async function gapsOf(recorder: Recorder): Promise<{ count: number; ms: number; openMs: number }> {
    const nowMs = timeOf(recorder)
    let count = 0
    let ms = 0
    let openMs = 0
    for (const { feed, lagMs } of recorder.status().feeds) {
      const toMs = nowMs - STALE_AFTER_MS - lagMs
      const found = await coverage.read([feed], nowMs - DAY_MS, toMs)
      const missing = found.gaps.filter(({ reason }) => reason === 'not_observed' || reason === 'venue_down')
      count += missing.length
      ms += missing.reduce((sum, { from, to }) => sum + to - from, 0)
      if (found.observed.length > 0) observed.add(feed)
      // A feed that was never observed has no open gap.
      if (observed.has(feed)) openMs = Math.max(openMs, openGapMs(missing, toMs))
    }
    return { count, ms, openMs }
  }

  const loops = [...recorders.map(keep), countGaps()].map((loop) =>
    loop.catch((error) => {
      if (!signal.aborted) log.error({ err: error }, 'a loop of the supervisor ended')
    }),
  )

  function stateOf(recorder: Recorder, status: RecorderStatus): SourceStatus['state'] {
    if (!running.has(recorder.name) || status.channelsUp === 0 || status.storeFailure !== null) return 'down'
    const isFresh = status.lastEventMs !== null && timeOf(recorder) - status.lastEventMs < STALE_AFTER_MS
    return status.channelsUp === status.channels && isFresh ? 'healthy' : 'stale'
  }

  return {
    status: () =>
      recorders.map((recorder) => {
        const detail = recorder.status()
        const { backfill } = detail
        return {
          source: recorder.source,
          state: stateOf(recorder, detail),
          lastEventMs: detail.lastEventMs,
          rowsInserted: detail.rowsInserted,
          gaps24h: gaps.get(recorder.source)?.count ?? 0,
          gapMs24h: gaps.get(recorder.source)?.ms ?? null,
          openGapMs: gaps.get(recorder.source)?.openMs ?? null,
          backfill:
            backfill === null
              ? null
              : backfill.total === 0
                ? 1
                : Math.floor((backfill.done / backfill.total) * 1_000) / 1_000,
          detail,
        }
      }),
    async close() {
      stop.abort()
      await Promise.all(loops)
    },
  }
}

/** Length of the gap that is still open at `nowMs`, or 0; adjacent gaps with different reasons count as one. */
function openGapMs(gaps: readonly Span[], nowMs: number): number {
  let from = nowMs
  for (const gap of gaps.toReversed()) {
    if (gap.to < from) break
    from = gap.from
  }
  return nowMs - from
}
