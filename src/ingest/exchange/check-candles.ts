/**
 * Separates the venue's candles that can be served from those that cannot. Longer candles are not rolled up over a
 * refused candle; they are refused as well.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { rowEncoder } from '../../core/rows/row-kinds.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { flowOf } from './build-flow.ts'
import type { Candle } from './candle.ts'
import { candleOf } from './candle-row.ts'
import type { RolledCandle, RollUp } from './roll-up-candles.ts'
import type { SymbolParts } from './symbol-parts.ts'

export interface CheckedCandles {
  readonly good: Candle[]
  readonly refused: Candle[]
}

type Where = Pick<SymbolParts, 'plan' | 'symbol'>

export function checkCandles(
  { plan, symbol }: Where,
  interval: CandleInterval,
  candles: readonly Candle[],
): CheckedCandles {
  const encode = rowEncoder(candleFeed(plan.source, symbol, interval))
  return apart(candles, (candle) => encode(candleOf(plan, { interval, candle }, true, undefined)))
}

/** The same check for flow: a candle that was refused gives no flow either. */
export function checkFlow(
  { plan, symbol }: Where,
  interval: CandleInterval,
  checked: CheckedCandles,
): CheckedCandles {
  const encode = rowEncoder(feedOf('flow', plan.source, symbol, interval))
  const { good, refused } = apart(checked.good, (candle) => {
    const row = flowOf(candle, true)
    if (row !== undefined) encode(row)
  })
  return { good, refused: [...checked.refused, ...refused].sort((a, b) => a.openMs - b.openMs) }
}

function apart(candles: readonly Candle[], check: (candle: Candle) => void): CheckedCandles {
  const checked: CheckedCandles = { good: [], refused: [] }
  for (const candle of candles) {
    try {
      check(candle)
      checked.good.push(candle)
    } catch {
      checked.refused.push(candle)
    }
  }
  return checked
}

/** Rolls up the good candles. A longer candle that contains a refused one is not produced. */
export function advanceAround(
  rollUp: RollUp,
  { good, refused }: CheckedCandles,
  interval: CandleInterval,
  toMs: number,
): RolledCandle[] {
  const rolled: RolledCandle[] = []
  let rest = good
  for (const candle of refused) {
    rolled.push(
      ...rollUp.advance(
        rest.filter(({ openMs }) => openMs < candle.openMs),
        candle.openMs,
      ),
    )
    rollUp.spoil(candle.openMs, candle.openMs + INTERVAL_MS[interval])
    rest = rest.filter(({ openMs }) => openMs > candle.openMs)
  }
  return [...rolled, ...rollUp.advance(rest, toMs)]
}

/** Records the gaps that refused candles leave in everything that is rolled up from them. */
export function refuseRolled(
  { plan, symbol, writer }: Pick<SymbolParts, 'plan' | 'symbol' | 'writer'>,
  refused: readonly Candle[],
  intervals: readonly CandleInterval[],
  dataset: 'candles' | 'flow',
): void {
  for (const { openMs } of refused)
    for (const interval of intervals)
      writer.refuse(feedOf(dataset, plan.source, symbol, interval), candleStart(openMs, interval))
}
