/**
 * What a start does with the previous run.
 *
 * Time that was observed live but not confirmed by the venue before the run ended is retracted if it can be requested
 * again; live recording or the backfill then requests it. Single trades cannot be requested again: their coverage is
 * retracted to the last row, because a venue that was late at the end had not sent the rest yet. Other feeds that are
 * only streamed were never observed after their last data (observe-streamed.ts). Seconds built from trades without
 * numbers cannot be requested either: they are built again from the stored trades and closed with their minute as
 * usual.
 */
import { add, decimal, decimalText, ZERO } from '../../core/decimal.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import type { ServedRows } from '../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { retracted } from '../../store/coverage.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import { type ExactRow, scanExactRows } from '../../store/scan-rows.ts'
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
  /** Seconds before this instant were closed. */
  readonly fromMs: number
  readonly trades: readonly UnclosedTrade[]
  /** Ranges in which trades are missing; the end of the last one is infinite if it reaches the present. */
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[]
}

/** Undefined if no second is open. */
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
  const [final, finalTrades] = await series.finality([seconds, feed])
  const firstMinute = Math.floor(info.firstTs / INTERVAL_MS['1m']) * INTERVAL_MS['1m']
  // Minutes are closed from today on, so neither the seconds nor the trades of an earlier day that were left open can
  // ever be proven.
  const leftMs = final === undefined || final.before === 0 ? firstMinute : final.before
  const leftTradesMs = Math.max(leftMs, finalTrades?.before ?? 0)
  if (leftMs < todayMs) await write({ coverage: [retracted(seconds, leftMs, todayMs)] })
  if (leftTradesMs < todayMs) await write({ coverage: [retracted(feed, leftTradesMs, todayMs)] })
  const fromMs = Math.max(final?.before ?? 0, todayMs, final?.before === 0 ? firstMinute : 0)
  if (fromMs >= nowMs) return undefined
  const { gaps } = await coverage.read([feed], fromMs, nowMs)
  // The run may have ended between writing trades and seconds; seconds are observed only where their trades are.
  await write({ coverage: gaps.map(({ from, to }) => retracted(seconds, from, to)) })
  const trades: UnclosedTrade[] = []
  for await (const row of scanExactRows(series, feed, { from: fromMs, to: nowMs }))
    trades.push({
      id: row.trade_id,
      timeMs: Date.parse(row.timestamp),
      price: row.price,
      size: row.size,
      side: row.side === 'buy' ? 'buy' : 'sell',
      fills: 1,
    })
  const shown = new Map<number, ShownSecond>()
  for await (const row of scanExactRows(series, seconds, { from: fromMs, to: nowMs }))
    shown.set(Date.parse(row.timestamp), { open: row.open, close: row.close, volume: row.volume })
  const isOpenEnded = (toMs: number) => toMs >= nowMs
  return {
    fromMs,
    trades: inShownOrder(trades, shown),
    gaps: gaps.map(({ from, to }) => ({
      fromMs: from,
      toMs: isOpenEnded(to) ? Number.POSITIVE_INFINITY : to,
    })),
  }
}

type ShownSecond = Pick<ExactRow<ServedRows['candles']>, 'open' | 'close' | 'volume'>

/**
 * Stored trades of one millisecond are sorted by id, not by arrival. The second that was already shown tells which of
 * them opened it and, if no trade was stored after it was shown, which one closed it.
 */
function inShownOrder(
  trades: readonly UnclosedTrade[],
  shown: ReadonlyMap<number, ShownSecond>,
): UnclosedTrade[] {
  const bySecond = Map.groupBy(trades, ({ timeMs }) => Math.floor(timeMs / 1_000) * 1_000)
  return [...bySecond].flatMap(([openMs, ofSecond]) => {
    const second = shown.get(openMs)
    return second === undefined ? ofSecond : orderedAs(second, ofSecond)
  })
}

function orderedAs({ open, close, volume }: ShownSecond, trades: UnclosedTrade[]): UnclosedTrade[] {
  const [firstMs, lastMs] = [trades[0]?.timeMs, trades.at(-1)?.timeMs]
  const first = trades.findIndex(({ timeMs, price }) => timeMs === firstMs && price === open)
  if (first > 0) trades.unshift(...trades.splice(first, 1))
  const sum = trades.reduce((total, { size }) => add(total, decimal(size)), ZERO)
  if (decimalText(sum) !== volume) return trades
  const last = trades.findLastIndex(({ timeMs, price }) => timeMs === lastMs && price === close)
  if (last >= 0) trades.push(...trades.splice(last, 1))
  return trades
}
