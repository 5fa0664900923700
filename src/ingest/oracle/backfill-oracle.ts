/** A manual backfill of an oracle: requests the missing rounds and builds their candles. */
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import {
  buildOracleCandles,
  CARRY_HEARTBEATS,
  FINAL_HEARTBEATS,
  type OracleUpdate,
} from '../../core/oracle-candles.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { BackfillResult, ManualBackfill } from '../shared/manual-backfill.ts'
import { openRowWriter } from '../shared/open-row-writer.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { uncovered } from '../shared/uncovered.ts'

const INTERVALS = ['5m', '15m'] as const
const UNIT_MS = INTERVAL_MS['15m']
const CHUNK_MS = 6 * 3_600_000
/** The running service requests the rounds at the end of a candle with its next poll, within this time. */
const ASKED_WITHIN_MS = 15_000
const RETRY = { baseMs: 1_000, capMs: 30_000 }
const TRIES = 4

export async function backfillOracle(
  options: ManualBackfill & { heartbeatMs: number },
): Promise<BackfillResult> {
  const { venue, heartbeatMs, store, clock, random, log } = options
  const { coverage } = store
  const { source } = venue.describe
  const signal = options.signal ?? new AbortController().signal
  const writer = openRowWriter({ venue, store, clock, random, log })
  const tracker = createCoverageTracker({ feeds: [], coverage, writer })
  const floor = (timeMs: number) => Math.floor(timeMs / UNIT_MS) * UNIT_MS
  const fromMs = floor(options.fromMs)
  // Newer answers may still be missing, or be replaced with their block.
  const answeredMs = FINAL_HEARTBEATS * heartbeatMs + ASKED_WITHIN_MS
  const settledMs = clock.now() - Math.max(answeredMs, venue.describe.settlesAfterMs ?? 0)
  const toMs = Math.min(floor(options.toMs + UNIT_MS - 1), floor(settledMs))
  const symbols = options.symbols.filter((symbol) => Object.hasOwn(venue.describe.symbols, symbol))

  /** The time that at least one of the two series lacks, in quarters of an hour, newest first. */
  async function gapsOf(symbol: AssetSymbol): Promise<HistoryRange[]> {
    if (toMs <= fromMs) return []
    const feeds = INTERVALS.map((interval) => candleFeed(source, symbol, interval))
    const missing = new Set<number>()
    for (const feed of feeds) {
      const { gaps } = await coverage.read([feed], fromMs, toMs)
      for (const gap of gaps.filter(({ reason }) => reason !== 'not_provided'))
        for (let at = floor(gap.from); at < gap.to; at += UNIT_MS) missing.add(at)
    }
    const gaps: { fromMs: number; toMs: number }[] = []
    for (const at of [...missing].sort((a, b) => b - a)) {
      const last = gaps.at(-1)
      if (last !== undefined && last.fromMs === at + UNIT_MS && last.toMs - at <= CHUNK_MS) last.fromMs = at
      else gaps.push({ fromMs: at, toMs: at + UNIT_MS })
    }
    return gaps
  }

  /** Writes only candles whose rounds are all confirmed; the others stay missing. */
  async function fill(symbol: AssetSymbol, range: HistoryRange): Promise<void> {
    const updates: OracleUpdate[] = []
    const covered: HistoryRange[] = []
    const asked = { fromMs: range.fromMs - CARRY_HEARTBEATS * heartbeatMs, toMs: range.toMs }
    const request = { topic: 'oracle_rounds', symbol, range: asked } as const
    for await (const page of venue.history(request, { signal })) {
      for (const row of page.observations) if (row.kind === 'oracle_round') updates.push(row)
      if (page.covered !== null) covered.push(page.covered)
    }
    const rests = uncovered(range, covered)
    const firstMs = updates.reduce((first, { updatedMs }) => Math.min(first, updatedMs), range.toMs)
    for (const interval of INTERVALS) {
      const feed = candleFeed(source, symbol, interval)
      const lengthMs = INTERVAL_MS[interval]
      const known = uncovered(
        range,
        rests.map(({ fromMs, toMs }) => ({
          fromMs: candleStart(fromMs, interval),
          toMs: candleStart(toMs + lengthMs - 1, interval),
        })),
      )
      const isKnown = (at: number) => known.some(({ fromMs, toMs }) => at >= fromMs && at < toMs)
      const candles = buildOracleCandles({ interval, updates, ...range, heartbeatMs }).filter(
        ({ openTimeMs }) => isKnown(openTimeMs),
      )
      writer.put(
        feed,
        candles.map(({ openTimeMs: time, open, high, low, close }) => ({
          time,
          open,
          high,
          low,
          close,
          closed: true,
        })),
      )
      for (const piece of known) tracker.confirm(feed, piece.fromMs, piece.toMs)
      const starts = new Set(candles.map(({ openTimeMs }) => openTimeMs))
      for (let at = range.fromMs; at < range.toMs; at += lengthMs)
        if (isKnown(at) && !starts.has(at))
          tracker.lost(feed, at, at + lengthMs, at + lengthMs <= firstMs ? 'not_provided' : 'venue_down')
      writer.final(feed, floor(rests[0]?.fromMs ?? range.toMs))
    }
    await writer.ready()
    if (rests.length > 0) throw new Error(`${symbol}: the nodes do not agree on every round`)
  }

  async function fillPatiently(symbol: AssetSymbol, range: HistoryRange): Promise<boolean> {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      try {
        await fill(symbol, range)
        return true
      } catch (error) {
        log.warn({ venue: venue.describe.name, symbol, err: error }, 'a chunk of the backfill failed')
        await clock.sleep(backoffMs(RETRY, attempt, random), signal)
      }
    }
    return false
  }

  try {
    const plans = await Promise.all(symbols.map(async (symbol) => ({ symbol, gaps: await gapsOf(symbol) })))
    const total = plans.reduce((sum, { gaps }) => sum + gaps.length, 0)
    let done = 0
    let failed = 0
    const report = () => options.onProgress({ done: done + failed, total, step: 'oracle candles' })
    report()
    await Promise.all(
      plans.map(async ({ symbol, gaps }) => {
        for (const range of gaps) {
          if (await fillPatiently(symbol, range)) done += 1
          else failed += 1
          report()
        }
      }),
    )
    await writer.flush()
    const { inserted, corrected } = writer.stats()
    return { ranges: total, failed, rowsInserted: inserted, rowsCorrected: corrected }
  } finally {
    await writer.close()
  }
}
