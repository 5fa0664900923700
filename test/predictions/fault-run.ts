/**
 * A recording during faults of the simulated prediction venues and the chain, one after the other, over real sockets
 * with a clock that runs as fast as the machine allows.
 */
import assert from 'node:assert/strict'
import type { FaultSpec } from '../../sandbox/server/faults.ts'
import type { Feed } from '../../src/core/feed.ts'
import type { MarketType } from '../../src/core/rows/market.ts'
import type { Gap } from '../../src/store/coverage.ts'
import type { TrueMarket } from '../sandbox/prediction-truth.ts'
import { compareWindow, readRows, type StoredSnapshot, snapshotFeedOf, sourceOf } from './compare.ts'
import { type PacedClock, pacedClock } from './paced-clock.ts'
import {
  FEW_STRIKES,
  type PredictionsRecording,
  type PredictionsWorld,
  type PredictionVenue,
  startPredictionsRecording,
  startPredictionsWorld,
} from './recording.ts'

export interface FaultCase {
  readonly name: string
  readonly faults: readonly FaultSpec[]
  /** The time until the next fault. */
  readonly lastsMs: number
  /** Whether the books must have a gap during the fault; if omitted, they may. */
  readonly gap?: boolean
}

export interface FaultRun {
  readonly world: PredictionsWorld<PacedClock>
  readonly recording: PredictionsRecording
  /** When the faults of a case began. */
  begun(name: string): number
  /** The whole time in which everything was to be received. */
  readonly range: { fromMs: number; toMs: number }
  close(): Promise<void>
}

/** How long after the start everything is received. */
const RECEIVED_AFTER_MS = 40_000

export async function runFaults(options: {
  venues: readonly PredictionVenue[]
  startMs: number
  stepMs: number
  slotMs: number
  cases: readonly FaultCase[]
  /** How long the run continues after the last case. */
  settleMs: number
  oracleBackMs?: number
}): Promise<FaultRun> {
  const { startMs } = options
  const world = await startPredictionsWorld(pacedClock(startMs, options.stepMs), {
    slotMs: options.slotMs,
    ...FEW_STRIKES,
  })
  const { clock, sandbox } = world
  const recording = await startPredictionsRecording(world, {
    venues: options.venues,
    symbols: ['BTC'],
    ...(options.oracleBackMs === undefined ? {} : { oracleBackMs: options.oracleBackMs }),
  })
  const begins = new Map<string, number>()
  let atMs = startMs + RECEIVED_AFTER_MS
  for (const { name, faults, lastsMs } of options.cases) {
    await clock.runUntil(atMs)
    begins.set(name, clock.now())
    for (const fault of faults) sandbox.faults.set(fault)
    atMs += lastsMs
  }
  await clock.runUntil(atMs)
  sandbox.faults.clear()
  const toMs = atMs
  await clock.runUntil(atMs + options.settleMs)
  await clock.during(recording.stop())
  return {
    world,
    recording,
    begun(name) {
      const ms = begins.get(name)
      assert.ok(ms !== undefined, name)
      return ms
    },
    range: { fromMs: startMs + RECEIVED_AFTER_MS, toMs },
    async close() {
      await recording.close()
      await world.close()
    },
  }
}

/** The markets of a venue that were in their window at some time of the run. */
export function marketsOf(run: FaultRun, venue: TrueMarket['venue']): TrueMarket[] {
  const { fromMs, toMs } = run.range
  return run.world.sandbox.truth
    .markets(venue, fromMs + 1, toMs + 26 * 3_600_000)
    .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs < toMs)
}

/** What is wrong with the books: missing ones outside the gaps, wrong ones, crossed ones, one instant twice. */
export async function findFaultyBooks(
  run: FaultRun,
  markets: readonly TrueMarket[],
): Promise<{ wrong: string[]; rows: number }> {
  const wrong: string[] = []
  let rows = 0
  for (const market of markets) {
    const found = await compareWindow(run.recording.store, run.world.sandbox.truth, market, run.range)
    wrong.push(...found.wrong, ...(await crossedOrTwice(run, market)))
    rows += found.rows
  }
  return { wrong, rows }
}

/** Not even within a gap. */
async function crossedOrTwice(run: FaultRun, market: TrueMarket): Promise<string[]> {
  const type = (await run.recording.store.markets.get(market.name))?.market.market_type as MarketType
  const feed = snapshotFeedOf(market, type)
  const range = { from: market.startMs - 60_000, to: market.endMs + 1 }
  const id = market.conditionId ?? market.name
  const rows = await readRows<StoredSnapshot>(run.recording.store, feed, [id], range)
  const times = rows.map(({ timestamp }) => timestamp)
  const crossed = rows.filter(
    ({ best_bid: bid, best_ask: ask }) => bid !== null && ask !== null && bid >= ask,
  )
  return [
    ...crossed.map(({ timestamp }) => `${market.name} at ${timestamp}: crossed`),
    ...(new Set(times).size === times.length ? [] : [`${market.name}: an instant is there twice`]),
  ]
}

export async function gapsOf(run: FaultRun, feed: Feed, fromMs: number, toMs: number): Promise<Gap[]> {
  return (await run.recording.store.coverage.read([feed], fromMs, toMs)).gaps
}

/** Each trade of the venue's own list within the run, and no other, once. */
export async function findFaultyTrades(
  run: FaultRun,
  markets: readonly TrueMarket[],
): Promise<{ wrong: string[]; trades: number }> {
  const { fromMs, toMs } = run.range
  const wrong: string[] = []
  let trades = 0
  for (const market of markets) {
    const feed: Feed = { dataset: 'trades', source: sourceOf(market), symbol: 'BTC', interval: '' }
    const rows = await readRows<{ trade_id: string; timestamp: string }>(
      run.recording.store,
      feed,
      market.tokens ?? [market.name],
      { from: fromMs - 60_000, to: toMs + 60_000 },
    )
    const stored = rows.map(({ trade_id: id }) => (market.tokens === undefined ? id : id.slice(0, 66)))
    const known = new Set(stored)
    const real = run.world.sandbox.truth.trades(market.name, fromMs, toMs) ?? []
    const all = new Set(
      (run.world.sandbox.truth.trades(market.name, 0, toMs + 3_600_000) ?? []).map(({ id }) => id),
    )
    trades += real.length
    wrong.push(
      ...real.filter(({ id }) => !known.has(id)).map(({ id }) => `${market.name}: lacks ${id}`),
      ...stored.filter((id) => !all.has(id)).map((id) => `${market.name}: has ${id}`),
      ...(known.size === stored.length ? [] : [`${market.name}: a trade is there twice`]),
    )
  }
  return { wrong, trades }
}
