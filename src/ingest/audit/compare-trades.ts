/**
 * Compares single trades with the seconds built from them, and with the venue's own minute.
 *
 *   a second lacks what its trades have         ──▶ the second is built again from the trades
 *   trades lack what their second has           ──▶ trades are missing: a gap in them
 *   same volume, other prices                   ──▶ one of the two is wrong: a gap in both
 *   the venue counts more trades and volume in the minute, twice ──▶ trades are missing: a gap in trades and seconds
 *
 * More trades than the venue counts are not a difference, because its count may have been early; recording follows the
 * same rule. The order of several trades of one millisecond is no longer known, so their prices prove nothing.
 */
import type { Decimal } from '../../core/decimal.ts'
import type { CandleRow, TradeRow } from '../../core/rows/schemas.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { createCandleBuilder } from '../exchange/build-candles.ts'
import type { Candle } from '../exchange/candle.ts'
import { candleOf } from '../exchange/candle-row.ts'
import type { SymbolParts } from '../exchange/symbol-parts.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import type { AuditDifference } from './audit.ts'
import { readCertain } from './certain-rows.ts'
import type { Suspicion, Suspicions, WrongRow } from './suspicions.ts'
import { requestCandles } from './venue-candles.ts'

type Store = Pick<EnvironmentStore, 'series' | 'coverage'>

const SECOND_MS = 1_000
/** Tolerance for sums of numbers as they are served. */
const ROUNDING = 1e-9

/** Examines one minute; returns null if it is not certain. */
export async function compareTrades(
  store: Store,
  parts: SymbolParts,
  range: HistoryRange,
  suspicions: Suspicions,
): Promise<AuditDifference[] | null> {
  const { plan, symbol } = parts
  const feeds = {
    seconds: candleFeed(plan.source, symbol, '1s'),
    trades: feedOf('trades', plan.source, symbol),
  }
  const trades = await readCertain(store, feeds.trades, range)
  const seconds = await readCertain(store, feeds.seconds, range)
  const minutes = await readCertain(store, candleFeed(plan.source, symbol, '1m'), range)
  if (trades?.isCertain(range.fromMs, range.toMs) !== true || seconds === undefined) return null
  const total = trades.rows.reduce((sum, { size }) => sum + size, 0)
  const minute = minutes?.isCertain(range.fromMs, range.toMs) === true ? minutes.at(range.fromMs) : undefined
  if (minute !== undefined && isLess(total, minute.volume ?? 0))
    suspicions.add(suspectMinute(store, parts, range))
  const built = buildSeconds(trades.rows)
  const differences: AuditDifference[] = []
  for (let atMs = range.fromMs; atMs < range.toMs; atMs += SECOND_MS) {
    if (!seconds.isCertain(atMs, atMs + SECOND_MS)) continue
    const verdict = judgeSecond(built.get(atMs), seconds.at(atMs))
    if (verdict !== 'same') differences.push(...settle(parts, feeds, atMs, verdict, built.get(atMs)))
  }
  return differences
}

type BuiltSecond = Candle & { readonly isOpenKnown: boolean; readonly isCloseKnown: boolean }

function buildSeconds(trades: readonly TradeRow[]): Map<number, BuiltSecond> {
  const builder = createCandleBuilder({ lengthMs: SECOND_MS })
  const times = Map.groupBy(trades, ({ timestamp }) => Date.parse(timestamp))
  for (const { timestamp, price, size, side } of trades)
    builder.add({
      ...{ timeMs: Date.parse(timestamp), price: String(price), size: String(size), fills: 1 },
      side: side === 'buy' ? 'buy' : 'sell',
    })
  const isOne = (timeMs: number) => new Set(times.get(timeMs)?.map(({ price }) => price)).size === 1
  const byTime = [...times.keys()].sort((a, b) => a - b)
  return new Map(
    builder.take(Number.POSITIVE_INFINITY).map((candle) => {
      const own = byTime.filter((at) => at >= candle.openMs && at < candle.openMs + SECOND_MS)
      const isOpenKnown = isOne(own[0] ?? 0)
      const isCloseKnown = isOne(own.at(-1) ?? 0)
      return [candle.openMs, { ...candle, isOpenKnown, isCloseKnown }]
    }),
  )
}

type Verdict = 'same' | 'second lacks trades' | 'trades are missing' | 'prices differ'

function judgeSecond(built: BuiltSecond | undefined, row: CandleRow | undefined): Verdict {
  const volume = row?.volume ?? 0
  const sum = built === undefined ? 0 : numberOf(built.volume)
  if (isLess(sum, volume)) return 'trades are missing'
  if (isLess(volume, sum)) return 'second lacks trades'
  if (built === undefined || row === undefined) return 'same'
  const isSame =
    Number(built.high) === row.high &&
    Number(built.low) === row.low &&
    (!built.isOpenKnown || Number(built.open) === row.open) &&
    (!built.isCloseKnown || Number(built.close) === row.close)
  return isSame ? 'same' : 'prices differ'
}

function settle(
  { plan, derivatives, writer, tracker }: SymbolParts,
  feeds: { seconds: ReturnType<typeof candleFeed>; trades: ReturnType<typeof feedOf<'trades'>> },
  fromMs: number,
  verdict: Verdict,
  built: BuiltSecond | undefined,
): AuditDifference[] {
  const toMs = fromMs + SECOND_MS
  if (verdict === 'second lacks trades' && built !== undefined) {
    writer.put(feeds.seconds, [candleOf(plan, { interval: '1s', candle: built }, true, derivatives)])
    const what = 'a second lacked trades that are stored'
    return [{ what, action: 'corrected', feed: feeds.seconds, fromMs, toMs }]
  }
  const lost = verdict === 'trades are missing' ? [feeds.trades] : [feeds.trades, feeds.seconds]
  return lost.map((feed) => {
    tracker.lost(feed, fromMs, toMs, 'not_observed')
    const what =
      verdict === 'trades are missing'
        ? 'trades are missing that their second has'
        : 'a second has other prices than its trades'
    return { what, action: 'gap', feed, fromMs, toMs }
  })
}

/**
 * The stored trades have less volume than the minute. The venue's count decides, as it did at the time of recording.
 */
function suspectMinute(store: Store, parts: SymbolParts, range: HistoryRange): Suspicion {
  const { plan, symbol, tracker } = parts
  return {
    key: `${symbol} trades ${range.fromMs}`,
    async judge() {
      const candles = await requestCandles(parts, '1m', range)
      const trades = await readCertain(store, feedOf('trades', plan.source, symbol), range)
      const [venue] = candles ?? []
      if (venue === undefined || trades?.isCertain(range.fromMs, range.toMs) !== true) return undefined
      const total = trades.rows.reduce((sum, { size }) => sum + size, 0)
      if (venue.count <= trades.rows.length || !isLess(total, numberOf(venue.volume))) return []
      const wrong = [feedOf('trades', plan.source, symbol), candleFeed(plan.source, symbol, '1s')]
      return wrong.map(
        (feed): WrongRow => ({
          key: `${feed.dataset}/${range.fromMs}`,
          truth: `${venue.count} trades`,
          correct() {
            tracker.lost(feed, range.fromMs, range.toMs, 'not_observed')
            const what = `the venue counts ${venue.count} trades, ${trades.rows.length} are stored`
            return { what, action: 'gap', feed, ...range }
          },
        }),
      )
    },
  }
}

const isLess = (a: number, b: number) => b - a > ROUNDING * Math.max(a, b)
const numberOf = ({ units, scale }: Decimal) => Number(units) / 10 ** scale
