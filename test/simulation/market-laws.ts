/**
 * The laws for prediction markets of one symbol:
 *
 *   snapshots, trades, candles   each row is true, and missing rows are covered by a gap: below finality at every look,
 *                                everywhere once everything has settled
 *   trades (and candles where    no gap is left in what the venue still has
 *   the venue keeps midpoints)
 *   open interest                each figure is that of its contract, and the sum is that of all open contracts
 *   catalogue                    every market that ended has its winner, and a contract its complete record; everything
 *                                that a record of the first venue says is true
 */
import { delayedMs } from '../../sandbox/predictions/venue.ts'
import type { FaultSwitches } from '../../sandbox/server/faults.ts'
import { type Feed, feedName } from '../../src/core/feed.ts'
import type { TradeRow } from '../../src/core/rows/schemas.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import type { PredictionPlan } from '../../src/ingest/prediction/market-feeds.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../../src/ingest/shared/feeds.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import {
  compareCatalogue,
  compareWindow,
  idOf,
  type Slack,
  snapshotFeedOf,
  trueTypeOf,
} from '../predictions/compare.ts'
import { compareCandles } from '../predictions/compare-candles.ts'
import { compareContract } from '../predictions/compare-contracts.ts'
import { compareOpenInterest } from '../predictions/compare-open-interest.ts'
import { compareSettled, compareUpDownRecords } from '../predictions/compare-up-down.ts'
import type { PredictionTruth, TrueMarket } from '../sandbox/prediction-truth.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const SAMPLE_BEFORE_MS = MINUTE_MS
/** A little more than the longest duration of a market. */
const MAX_MARKET_MS = 26 * HOUR_MS
/** Samples are written within this time. */
const SAMPLED_WITHIN_MS = 30_000
/** A late result is found within this time. */
const RESOLVED_WITHIN_MS = 5 * MINUTE_MS
/** After the end of a window, sweeps and the requests for missed data take at most this long. */
const REPAIRED_WITHIN_MS = 20 * MINUTE_MS
const LOOKED_BACK_MS = 5 * MINUTE_MS
const TRADES_LOOKED_BACK_MS = 20 * MINUTE_MS
/** Longer intervals are built from these. */
const COMPARED_INTERVALS = ['5m', '15m', '1h'] as const

export interface MarketSubject {
  readonly reader: EnvironmentStore
  readonly truth: PredictionTruth
  readonly faults: FaultSwitches
  readonly venue: TrueMarket['venue']
  readonly plan: PredictionPlan
  readonly symbol: AssetSymbol
  readonly startedMs: number
  /** How long coverage of books above finality may be wrong. */
  readonly silenceMs: number
  readonly slackAt: (atMs: number) => Slack
  readonly interestSlackAt: (atMs: number) => Slack
  /** The longest time in which the small world sends nothing. */
  readonly pauseMs: number
}

export function createMarketLaws(subject: MarketSubject) {
  const { reader, truth, venue, plan, symbol, startedMs } = subject
  const tradesFeed = feedOf('trades', plan.source, symbol)
  let known: TrueMarket[] = []
  let knownToMs = 0

  /** All markets since the start whose samples begin before an instant. */
  function marketsUntil(toMs: number): TrueMarket[] {
    if (toMs > knownToMs) {
      knownToMs = toMs + HOUR_MS
      known = truth.markets(venue, startedMs, knownToMs + MAX_MARKET_MS, [symbol])
    }
    return known.filter(({ startMs }) => startMs - SAMPLE_BEFORE_MS < toMs)
  }

  async function finalityOf(feed: Feed): Promise<number> {
    const [finality] = await reader.series.finality([feed])
    return finality?.before ?? 0
  }

  async function compareBooks(range: { fromMs: number; toMs: number }): Promise<string[]> {
    const wrong: string[] = []
    for (const market of marketsUntil(range.toMs)) {
      if (market.endMs <= range.fromMs || market.startMs >= range.toMs) continue
      wrong.push(...(await compareWindow(reader, truth, market, range, subject)).wrong)
    }
    return wrong
  }

  /** Books of the last minutes, each duration up to its own finality. */
  async function lookAtBooks(nowMs: number): Promise<string[]> {
    const wrong: string[] = []
    const settled = new Map<string, number>()
    for (const market of marketsUntil(nowMs)) {
      const feed = snapshotFeedOf(market, trueTypeOf(market))
      const name = feedName(feed)
      if (!settled.has(name)) settled.set(name, Math.max(await finalityOf(feed), nowMs - subject.silenceMs))
      const range = { fromMs: Math.max(startedMs, nowMs - LOOKED_BACK_MS), toMs: settled.get(name) ?? 0 }
      if (range.toMs <= range.fromMs || market.endMs <= range.fromMs || market.startMs >= range.toMs) continue
      wrong.push(...(await compareWindow(reader, truth, market, range, subject)).wrong)
    }
    return wrong
  }

  async function readGaps(feed: Feed, fromMs: number, toMs: number) {
    const { gaps } = await reader.coverage.read([feed], fromMs, toMs)
    return gaps
  }

  async function compareTrades(range: { fromMs: number; toMs: number }): Promise<string[]> {
    const { fromMs, toMs } = range
    if (toMs <= fromMs) return []
    const gaps = await readGaps(tradesFeed, fromMs, toMs)
    const { text } = await reader.series.page({
      feeds: [tradesFeed],
      // Lists have times of whole seconds.
      range: { from: fromMs - 1_000, to: toMs },
      order: 'asc',
      limit: 100_000,
      separator: '\n',
    })
    const rows = (text === '' ? [] : text.split('\n')).map((line) => JSON.parse(line) as TradeRow)
    const stored = Map.groupBy(rows, keyOf)
    const wrong: string[] = []
    const twice = rows.length - new Set(rows.map((row) => row.trade_id)).size
    if (twice > 0) wrong.push(`${feedName(tradesFeed)}: ${twice} trades are there twice`)
    for (const market of marketsUntil(toMs + MAX_MARKET_MS))
      for (const trade of truth.trades(idOf(market), fromMs - 1_000, toMs + 1_000) ?? []) {
        const at = `${market.name}: ${trade.id} at ${new Date(trade.timeMs).toISOString()}`
        const keyOfSize = (size: string) =>
          `${trade.id} ${trade.instrument} ${Number(trade.price)} ${Number(size)} ${trade.side}`
        const isWhole = stored.get(keyOfSize(trade.size))?.length
        for (const size of isWhole ? [trade.size] : (trade.fills ?? [trade.size])) {
          const row = stored.get(keyOfSize(size))?.pop()
          if (row !== undefined) {
            const laterMs = trade.timeMs - Date.parse(row.timestamp)
            if (laterMs < 0 || laterMs >= 1_000) wrong.push(`${at} has the time ${row.timestamp}`)
          } else if (
            trade.timeMs >= fromMs &&
            trade.timeMs < toMs &&
            !gaps.some((gap) => gap.from <= trade.timeMs && trade.timeMs < gap.to)
          )
            wrong.push(`${at} of ${size} is lost, without a gap`)
        }
      }
    for (const [key, left] of stored)
      for (const { timestamp } of left) wrong.push(`${key} at ${timestamp} never was`)
    return wrong
  }

  const keyOf = (row: TradeRow) => {
    const id = plan.hasTokens ? row.trade_id.slice(0, row.trade_id.indexOf('-')) : row.trade_id
    const instrument = row.token_id ?? row.market_id
    return `${id} ${instrument} ${Number(row.price)} ${Number(row.size)} ${row.side}`
  }

  async function compareAllCandles(
    fromMs: number,
    toMsOf: (feed: Feed) => Promise<number>,
    withMids: false | 'bounds' = false,
  ): Promise<string[]> {
    const wrong: string[] = []
    for (const interval of COMPARED_INTERVALS) {
      const feed = candleFeed(plan.source, symbol, interval)
      const toMs = await toMsOf(feed)
      if (toMs <= fromMs) continue
      const gaps = await readGaps(feed, fromMs, toMs)
      const isGap = (openMs: number, endMs: number) => gaps.some((gap) => gap.from < endMs && gap.to > openMs)
      for (const market of marketsUntil(toMs)) {
        if (market.endMs + HOUR_MS < fromMs) continue
        const about = { interval, fromMs, toMs, withMids, slackAt: subject.slackAt, isGap }
        wrong.push(...(await compareCandles(reader, truth, market, about)).wrong)
      }
    }
    return wrong
  }

  async function compareInterest(fromMs: number, toMsOf: (feed: Feed) => Promise<number>): Promise<string[]> {
    if (!plan.hasOpenInterest) return []
    const wrong: string[] = []
    for (const interval of COARSE_INTERVALS) {
      const feed = feedOf('open_interest', plan.source, symbol, interval)
      const toMs = await toMsOf(feed)
      if (toMs <= fromMs) continue
      const gaps = await readGaps(feed, fromMs, toMs)
      const isGap = (atMs: number) => gaps.some((gap) => gap.from <= atMs && atMs < gap.to)
      const about = { symbol, interval, fromMs, toMs, slackAt: subject.interestSlackAt, isGap }
      wrong.push(...(await compareOpenInterest(reader, truth, marketsUntil(toMs), about)))
    }
    return wrong
  }

  async function compareResults(nowMs: number): Promise<string[]> {
    const wrong: string[] = []
    for (const market of marketsUntil(nowMs)) {
      const resolvedMs = delayedMs(subject.faults, venue, symbol, market.resolvedMs)
      if (market.endMs > nowMs || resolvedMs + RESOLVED_WITHIN_MS > nowMs) continue
      wrong.push(...(await compareCatalogue(reader, market)))
      if (venue === 'kalshi') wrong.push(...(await compareContract(reader, truth, market, { resolvedMs })))
      wrong.push(...(await compareSettled(reader, truth, market, { resolvedMs })))
    }
    return wrong
  }

  /** At any time, everything that the catalogue says about a market is true. */
  async function compareRecords(nowMs: number): Promise<string[]> {
    if (venue !== 'polymarket') return []
    const resolvedMsOf = (dueMs: number) => delayedMs(subject.faults, venue, symbol, dueMs)
    return compareUpDownRecords(reader, truth, { symbol, nowMs, resolvedMsOf })
  }

  /** Gaps that are left in data that the venue still has. */
  async function findGaps(toMs: number): Promise<string[]> {
    const kept: Feed[] = [tradesFeed]
    if (plan.hasTokens) kept.push(...COARSE_INTERVALS.map((each) => candleFeed(plan.source, symbol, each)))
    const wrong: string[] = []
    for (const feed of kept)
      for (const { reason, from, to } of await readGaps(feed, startedMs, toMs))
        if (reason !== 'not_provided' && reason !== 'before_start')
          wrong.push(
            `${feedName(feed)}: ${reason} from ${new Date(from).toISOString()} to ${new Date(to).toISOString()} was not repaired`,
          )
    return wrong
  }

  return {
    async look(nowMs: number): Promise<string[]> {
      const tradesMs = await finalityOf(tradesFeed)
      const fromMs = Math.max(startedMs, tradesMs - TRADES_LOOKED_BACK_MS)
      return [
        ...(await lookAtBooks(nowMs)),
        ...(await compareTrades({ fromMs, toMs: Math.min(tradesMs, nowMs) })),
        ...(await compareAllCandles(fromMs, finalityOf)),
        ...(await compareInterest(Math.max(startedMs, nowMs - LOOKED_BACK_MS), finalityOf)),
        ...(await compareRecords(nowMs)),
      ].map((text) => `2 ${text}`)
    },
    async judge(nowMs: number): Promise<string[]> {
      const repairedMs = nowMs - REPAIRED_WITHIN_MS
      return [
        ...(await compareBooks({ fromMs: startedMs, toMs: nowMs - SAMPLED_WITHIN_MS })).map(
          (text) => `1 ${text}`,
        ),
        ...(await compareTrades({ fromMs: startedMs, toMs: repairedMs })).map((text) => `1 ${text}`),
        ...(await compareAllCandles(startedMs, async () => repairedMs, 'bounds')).map((text) => `1 ${text}`),
        ...(await compareInterest(startedMs, async () => nowMs - SAMPLED_WITHIN_MS)).map(
          (text) => `1 ${text}`,
        ),
        ...(await compareResults(nowMs)).map((text) => `1 ${text}`),
        ...(await compareRecords(nowMs)).map((text) => `1 ${text}`),
        ...(await findGaps(repairedMs)).map((text) => `4 ${text}`),
      ]
    },
  }
}
