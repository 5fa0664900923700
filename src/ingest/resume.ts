/**
 * What a start finds of the run before it. Time that was claimed while listening but not confirmed by the venue
 * before the end came is taken back where the venue can be asked again: the closing of minutes and the backfill
 * then do their work. Seconds built from trades without numbers cannot be asked for: they are built again from
 * the trades that were stored, and closed with their minute as if nothing had happened.
 */
import { INTERVAL_MS } from '../core/interval.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import type { CoverageStore } from '../store/coverage.ts'
import type { SeriesStore } from '../store/series.ts'
import type { TradeFact } from './build-candles.ts'
import { COARSE_INTERVALS, candleFeed, type ExchangePlan, feedOf } from './plans.ts'

interface Stores {
  readonly series: SeriesStore
  readonly coverage: CoverageStore
}

export async function forgetUnconfirmed(
  { series, coverage }: Stores,
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
  for (const { feed, before } of finality) await coverage.retract(feed, before, nowMs)
}

export interface LeftTrades {
  /** Seconds before this were closed. */
  readonly fromMs: number
  readonly trades: readonly (TradeFact & { readonly id: string })[]
  /** Stretches without trades, the last one up to the present. */
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[]
}

interface StoredTrade {
  readonly timestamp: string
  readonly trade_id: string
  readonly price: number
  readonly size: number
  readonly side: 'buy' | 'sell'
}

/** Undefined where nothing was left open. */
export async function readLeftTrades(
  { series, coverage }: Stores,
  plan: ExchangePlan,
  symbol: AssetSymbol,
  todayMs: number,
  nowMs: number,
): Promise<LeftTrades | undefined> {
  if (plan.secondsFrom !== 'trades') return undefined
  const seconds = candleFeed(plan.source, symbol, '1s')
  const feed = feedOf('trades', plan.source, symbol)
  const [info] = await series.feeds({ dataset: 'candles', source: plan.source, symbol, interval: '1s' })
  if (info?.firstTs === undefined) return undefined
  const [final] = await series.finality([seconds])
  const firstMinute = Math.ceil(info.firstTs / INTERVAL_MS['1m']) * INTERVAL_MS['1m']
  const fromMs = Math.max(final?.before ?? 0, todayMs, final?.before === 0 ? firstMinute : 0)
  if (fromMs >= nowMs) return undefined
  const { gaps } = await coverage.read([feed], fromMs, nowMs)
  // The end may have come between the two: seconds are observed only where their trades are.
  for (const { from, to } of gaps) await coverage.retract(seconds, from, to)
  const page = await series.page({
    feeds: [feed],
    range: { from: fromMs, to: nowMs },
    order: 'asc',
    limit: 2_000_000,
    separator: '\n',
  })
  const trades = (page.text === '' ? [] : page.text.split('\n')).map((text) => {
    const row = JSON.parse(text) as StoredTrade
    return {
      id: row.trade_id,
      timeMs: Date.parse(row.timestamp),
      price: String(row.price),
      size: String(row.size),
      side: row.side,
      fills: 1,
    }
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
