import { CANDLE_INTERVALS, type CandleInterval, INTERVAL_MS } from '../../../core/interval.ts'
import { SOURCE_INFO, type Source } from '../../../core/source.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import type { PlanView } from '../../wire.ts'

/** The calls behind the chart, in one place, because the first of them are made while the chart's code still loads. */
export interface ChartChoice {
  symbol: AssetSymbol
  source: Source
  interval: CandleInterval
}

export const FIRST_CHART: ChartChoice = { symbol: 'BTC', source: 'cexa_futures', interval: '15m' }
export const PREDICTION_SOURCES: readonly Source[] = ['predmkt_a', 'predmkt_b']
/** Sources with books; `cexa` is in the contract but not recorded. */
export const BOOK_SOURCES = ['perpdex', 'predmkt_a', 'predmkt_b'] as const satisfies Source[]
const FUNDED: readonly Source[] = ['cexa_futures', 'perpdex']
const MAX_CANDLES = 500

/** @param until the last candle is the one that contains this moment; the newest if omitted */
export function candlesPath(
  { symbol, source, interval }: ChartChoice,
  { instrument = '', until }: { instrument?: string; until?: number | undefined } = {},
): string {
  const end = until === undefined ? '' : `&end=${new Date(candleEnd(until, interval)).toISOString()}`
  return `/v1/candles?symbol=${symbol}&source=${source}${instrument}&interval=${interval}${end}&limit=${MAX_CANDLES}`
}

function candleEnd(time: number, interval: CandleInterval): number {
  return (Math.floor(time / INTERVAL_MS[interval]) + 1) * INTERVAL_MS[interval]
}

export function fundingPath({ symbol, source }: ChartChoice): string | undefined {
  return FUNDED.includes(source) ? `/v1/funding?symbol=${symbol}&source=${source}&limit=200` : undefined
}

/** The candle intervals that both the plan and the source offer. */
export function intervalsOf(plan: PlanView | null, source: Source): CandleInterval[] {
  const finest = CANDLE_INTERVALS.indexOf((plan?.finest_candle ?? '15m') as CandleInterval)
  const allowed = CANDLE_INTERVALS.slice(Math.max(0, finest))
  return allowed.filter((interval) => SOURCE_INFO[source].candleIntervals.includes(interval))
}

const FIRST_VIEWS = [candlesPath(FIRST_CHART), fundingPath(FIRST_CHART)].filter((path) => path !== undefined)

/** The call that begins a visit, under the dashboard's own API. */
export const START_CALL = `start?${FIRST_VIEWS.map((path) => `view=${encodeURIComponent(path)}`).join('&')}`
