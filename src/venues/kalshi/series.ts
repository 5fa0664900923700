/** The recorded series of contracts. Others (weekly, monthly extremes) are left out on purpose. */
import type { MarketType } from '../../core/rows/market.ts'
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'
import type { DeadLetters } from '../dead-letter.ts'
import { misfit } from '../rest/expect-fit.ts'
import type { RestResponse } from '../rest/rest-client.ts'

export type SeriesKind = 'quarter_hour' | 'above_below' | 'range'

export interface Series {
  readonly ticker: string
  readonly symbol: AssetSymbol
  readonly kind: SeriesKind
}

const TICKERS: Record<AssetSymbol, Record<SeriesKind, string>> = {
  BTC: { quarter_hour: 'KXBTC15M', above_below: 'KXBTCD', range: 'KXBTC' },
  ETH: { quarter_hour: 'KXETH15M', above_below: 'KXETHD', range: 'KXETH' },
  SOL: { quarter_hour: 'KXSOL15M', above_below: 'KXSOLD', range: 'KXSOLE' },
  XRP: { quarter_hour: 'KXXRP15M', above_below: 'KXXRPD', range: 'KXXRP' },
}

export const SERIES: readonly Series[] = SYMBOLS.flatMap((symbol) =>
  (Object.entries(TICKERS[symbol]) as [SeriesKind, string][]).map(([kind, ticker]) => ({
    ticker,
    symbol,
    kind,
  })),
)

export function seriesOfSymbol(symbol: AssetSymbol): readonly Series[] {
  return SERIES.filter((series) => series.symbol === symbol)
}

/** The series that the ticker names before its first dash; undefined for a contract of another series. */
export function seriesOfTicker(ticker: string): Series | undefined {
  const head = ticker.split('-')[0]
  return SERIES.find((series) => series.ticker === head)
}

/** Whether a listed row belongs to the series. */
export function isOfSeries(row: unknown, series: Series): boolean {
  const ticker = typeof row === 'object' && row !== null && 'ticker' in row ? row.ticker : undefined
  return typeof ticker === 'string' && seriesOfTicker(ticker) === series
}

/** A list without any contract of the series answers another request. */
export function expectSeries(
  rows: readonly unknown[],
  series: Series,
  origin: string,
  answer: Pick<RestResponse, 'receivedMs' | 'text'>,
  deadLetters: DeadLetters,
): void {
  if (rows.length > 0 && !rows.some((row) => isOfSeries(row, series)))
    throw misfit(`no contract of ${series.ticker}`, origin, answer, deadLetters)
}

const HOUR_MS = 3_600_000

/** The durations that the contracts of a series can have. */
export const marketTypesOf = (kind: SeriesKind): readonly MarketType[] =>
  kind === 'quarter_hour' ? ['15m'] : ['1h', '4h', '24h']

export function marketTypeOf(kind: SeriesKind, openMs: number, closeMs: number): MarketType {
  if (kind === 'quarter_hour') return '15m'
  const lengthMs = closeMs - openMs
  if (lengthMs <= HOUR_MS) return '1h'
  return lengthMs <= 4 * HOUR_MS ? '4h' : '24h'
}
