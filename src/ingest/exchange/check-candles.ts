/**
 * The venue's own bars, told apart: those that can be served, and those that cannot. Nothing is rolled up over a bar
 * of the second kind, and the longer bars that hold it are as refused as it is.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { RowError } from '../../core/rows/row-error.ts'
import { rowEncoder } from '../../core/rows/row-kinds.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { flowOf } from './build-flow.ts'
import type { Candle } from './candle.ts'
import { candleOf } from './candle-row.ts'
import type { RolledCandle, RollUp } from './roll-up-candles.ts'
import type { SymbolParts } from './symbol-parts.ts'

export interface RefusedCandle {
  readonly bar: Candle
  readonly error: RowError
}

export interface CheckedCandles {
  readonly good: Candle[]
  readonly refused: RefusedCandle[]
}

type Where = Pick<SymbolParts, 'plan' | 'symbol'>

export function checkCandles(
  { plan, symbol }: Where,
  interval: CandleInterval,
  bars: readonly Candle[],
): CheckedCandles {
  const encode = rowEncoder(candleFeed(plan.source, symbol, interval))
  return apart(bars, (bar) => encode(candleOf(plan, { interval, bar }, true, undefined)))
}

/** As flow: what makes no candle makes no flow either. */
export function checkFlow(
  { plan, symbol }: Where,
  interval: CandleInterval,
  checked: CheckedCandles,
): CheckedCandles {
  const encode = rowEncoder(feedOf('flow', plan.source, symbol, interval))
  const { good, refused } = apart(checked.good, (bar) => {
    const row = flowOf(bar, true)
    if (row !== undefined) encode(row)
  })
  return { good, refused: [...checked.refused, ...refused].sort((a, b) => a.bar.openMs - b.bar.openMs) }
}

function apart(bars: readonly Candle[], check: (bar: Candle) => void): CheckedCandles {
  const checked: CheckedCandles = { good: [], refused: [] }
  for (const bar of bars) {
    try {
      check(bar)
      checked.good.push(bar)
    } catch (error) {
      checked.refused.push({ bar, error: asRowError(error) })
    }
  }
  return checked
}

/** Rolls up the good bars. A longer bar that holds a refused one does not come out. */
export function advanceAround(
  rollUp: RollUp,
  { good, refused }: CheckedCandles,
  interval: CandleInterval,
  toMs: number,
): RolledCandle[] {
  const rolled: RolledCandle[] = []
  let rest = good
  for (const { bar } of refused) {
    rolled.push(
      ...rollUp.advance(
        rest.filter(({ openMs }) => openMs < bar.openMs),
        bar.openMs,
      ),
    )
    rollUp.spoil(bar.openMs, bar.openMs + INTERVAL_MS[interval])
    rest = rest.filter(({ openMs }) => openMs > bar.openMs)
  }
  return [...rolled, ...rollUp.advance(rest, toMs)]
}

/** The gaps that refused bars leave in everything that is made of them. */
export function refuseRolled(
  { plan, symbol, writer }: Pick<SymbolParts, 'plan' | 'symbol' | 'writer'>,
  refused: readonly RefusedCandle[],
  intervals: readonly CandleInterval[],
  dataset: 'candles' | 'flow',
): void {
  for (const { bar, error } of refused)
    for (const interval of intervals)
      writer.refuse(feedOf(dataset, plan.source, symbol, interval), candleStart(bar.openMs, interval), error)
}

function asRowError(error: unknown): RowError {
  if (error instanceof RowError) return error
  return new RowError('row', error instanceof Error ? error.message : String(error))
}
