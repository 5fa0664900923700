/**
 * What a start does with the run before it. Time that was observed live but not confirmed by the venue before the end
 * is retracted where it can be requested again: the closing of minutes and the backfill
 * then do their work. Single trades cannot: their last moments are retracted to the last row, since a venue that was late
 * at the end had not sent them yet. What else is only streamed was never observed after its last data
 * (observe-streamed.ts). Seconds built from trades without numbers cannot be requested: they are built again from
 * the trades that were stored, and closed with their minute as if nothing had happened.
 */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { retracted } from '../../store/coverage.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { scanRows } from '../../store/scan-rows.ts'
import { COARSE_INTERVALS, candleFeed, type ExchangePlan, feedOf } from '../shared/feeds.ts'
import type { TradeFact } from './build-candles.ts'

type Stores = Pick<EnvironmentStore, 'series' | 'coverage' | 'write'>

export async function retractUnconfirmed(
  { series, write }: Stores,
  plan: ExchangePlan,
  symbol: AssetSymbol,
  nowMs: number,
): Promise<void> {
  const { source } = plan
  const feeds = [
    ...(plan.secondsFrom === 'trades' ? [] : [candleFeed(source, symbol, '1s')]),
    candleFeed(source, symbol, '1m'),
    ...COARSE_INTERVALS.map((interval) => candleFeed(source, symbol, interval)),
    ...(plan.hasFlow ? COARSE_INTERVALS.map((interval) => feedOf('flow', source, symbol, interval)) : []),
  ]
  const finality = await series.finality(feeds)
  await write({ coverage: finality.map(({ feed, before }) => retracted(feed, before, nowMs)) })
}

/** How late a trade may arrive. */
const TRADES_LATE_MS = 15_000

export async function retractUnreceived(
  { series, coverage, write }: Stores,
  { source }: ExchangePlan,
  symbol: AssetSymbol,
  nowMs: number,
): Promise<void> {
  const [info] = await series.feeds({ dataset: 'trades', source, symbol })
  if (info?.lastTs === undefined) return
  const feed = feedOf('trades', source, symbol)
  const { observed } = await coverage.read([feed], info.lastTs - TRADES_LATE_MS, nowMs)
  const endMs = observed.at(-1)?.to ?? 0
  const fromMs = Math.max(info.lastTs + 1, endMs - TRADES_LATE_MS)
  await write({ coverage: [retracted(feed, fromMs, nowMs)] })
}

type UnclosedTrade = TradeFact & { readonly id: string }

export interface UnclosedTrades {
  /** Seconds before this were closed. */
  readonly fromMs: number
  readonly trades: readonly UnclosedTrade[]
  /** Ranges without trades, the last one up to the present. */
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[]
}

/** Undefined where nothing is open. */
export async function readUnclosedTrades(
  { series, coverage, write }: Stores,
  plan: ExchangePlan,
  symbol: AssetSymbol,
  todayMs: number,
  nowMs: number,
): Promise<UnclosedTrades | undefined> {
  if (plan.secondsFrom !== 'trades') return undefined
  const seconds = candleFeed(plan.source, symbol, '1s')
  const feed = feedOf('trades', plan.source, symbol)
  const [info] = await series.feeds({ dataset: 'candles', source: plan.source, symbol, interval: '1s' })
  if (info?.firstTs === undefined) return undefined
  const [final] = await series.finality([seconds])
  const firstMinute = Math.floor(info.firstTs / INTERVAL_MS['1m']) * INTERVAL_MS['1m']
  // Minutes are closed from today on: those of an earlier day that were left open are never proven.
  const leftMs = final === undefined || final.before === 0 ? firstMinute : final.before
  if (leftMs < todayMs) await write({ coverage: [retracted(seconds, leftMs, todayMs)] })
  const fromMs = Math.max(final?.before ?? 0, todayMs, final?.before === 0 ? firstMinute : 0)
  if (fromMs >= nowMs) return undefined
  const { gaps } = await coverage.read([feed], fromMs, nowMs)
  // The end may have come between the two: seconds are observed only where their trades are.
  await write({ coverage: gaps.map(({ from, to }) => retracted(seconds, from, to)) })
  const trades: UnclosedTrade[] = []
  for await (const row of scanRows(series, feed, { from: fromMs, to: nowMs }))
    trades.push({
      id: row.trade_id,
      timeMs: Date.parse(row.timestamp),
      price: String(row.price),
      size: String(row.size),
      side: row.side === 'buy' ? 'buy' : 'sell',
      fills: 1,
    })
  const isOpenEnded = (toMs: number) => toMs >= nowMs
  return {
    fromMs,
    trades,
    gaps: gaps.map(({ from, to }) => ({
      fromMs: from,
      toMs: isOpenEnded(to) ? Number.POSITIVE_INFINITY : to,
    })),
  }
}
