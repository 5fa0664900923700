/**
 * Which of the stored trades a stored candle contains, and when its prices were traded. Neither row shows it alone: a
 * candle has no times, and a trade shows neither its order within its instant nor whether it was negotiated away from
 * the book and therefore sets no price. But a candle contains the trades that add up to its volume:
 *
 *   its prices are among theirs ──▶ used as it is, at the times of these trades
 *   its prices are others       ──▶ all of them were negotiated away from the book (if the venue has such trades)
 *   it has more than all trades ──▶ not all of its trades are stored
 *   no trades add up to it      ──▶ unknown: trades were stored after the candle, between others
 */
import type { VolumeUnit } from '../../core/market-candles.ts'
import type { CandleRow, TradeRow } from '../../core/rows/schemas.ts'
import type { ExactRow } from '../../store/scan-rows.ts'

/** Of the volume, because the sum is a double, and figures of earlier versions were rounded to one. */
const TOLERANCE = 1e-11

export interface ContainedTrades {
  readonly trades: readonly ExactRow<TradeRow>[]
  /** When the first and the last price were traded; undefined if all trades were negotiated away from the book. */
  readonly priced: { readonly openMs: number; readonly closeMs: number } | undefined
}

/**
 * `trades` are those of the time of the candle, in ascending order; trades after the contained ones were stored later.
 * `hasBlocks`: whether the venue has negotiated trades.
 */
export function containedTrades(
  candle: ExactRow<CandleRow>,
  trades: readonly ExactRow<TradeRow>[],
  unit: VolumeUnit,
  hasBlocks: boolean,
): ContainedTrades | 'unstored' | 'unknown' {
  const volume = Number(candle.volume ?? 0)
  let sum = 0
  const end = trades.findIndex(({ price, size }) => {
    sum += unit === 'money' ? Number(price) * Number(size) : Number(size)
    return sum >= volume * (1 - TOLERANCE)
  })
  if (end < 0) return 'unstored'
  if (sum > volume * (1 + TOLERANCE)) return 'unknown'
  const contained = trades.slice(0, end + 1)
  const { open, high, low, close } = candle
  const first = contained.find(({ price }) => price === open)
  const last = contained.findLast(({ price }) => price === close)
  const hasPrice = (value: string) => contained.some(({ price }) => price === value)
  if (first === undefined || last === undefined || !hasPrice(high) || !hasPrice(low))
    return hasBlocks ? { trades: contained, priced: undefined } : 'unknown'
  const [openMs, closeMs] = [Date.parse(first.timestamp), Date.parse(last.timestamp)]
  return openMs <= closeMs ? { trades: contained, priced: { openMs, closeMs } } : 'unknown'
}
