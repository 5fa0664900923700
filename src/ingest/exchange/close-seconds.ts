/**
 * Candles of a second, and the single trades where they are stored. The source of the seconds depends on the plan:
 *
 *   candles           the venue publishes them: the stream shows them, the REST answer of the whole minute closes them
 *                     (close-venue-seconds.ts)
 *   aggregate_trades  built from trades; their numbers and the venue's own candle prove that none is missing
 *                     (close-numbered-seconds.ts)
 *   trades            built from trades without numbers, so the venue's own count of the minute is the proof
 *                     (close-counted-seconds.ts)
 *
 * A built second is shown as it grows and closed when it is proven complete, so a closed row is never wrong. A second
 * that cannot be proven, or that lies in a known gap, is not closed but left to the backfill.
 */
import type { Decimal } from '../../core/decimal.ts'
import type { CandleObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { candleFeed } from '../shared/feeds.ts'
import type { TradeFact } from './build-candles.ts'
import type { Candle } from './candle.ts'
import { candleOf } from './candle-row.ts'
import type { SymbolParts } from './symbol-parts.ts'

export interface SecondCloser {
  /** A candle of a second from the stream. */
  receive(kline: CandleObservation): void
  /** The candle of a minute as the stream shows it. */
  minute(candle: Candle, receivedMs: number): void
  trade(trade: TradeFact): void
  /** An empty trade: the venue may count it, but it is in no row. */
  empty(timeMs: number): void
  /** Nothing is known about this range; an infinite `toMs` means that it is still open. */
  gap(fromMs: number, toMs: number): void
  /** Trades are complete from here on, except for gaps. */
  begin(atMs: number): void
  show(): void
  /** The venue's minutes of a range are known, except for the `unknown` ranges; their seconds can be closed. */
  minutes(candles: readonly Candle[], unknown: readonly HistoryRange[], range: HistoryRange): void
  close(nowMs: number): Promise<void>
  /** Every second before this instant is closed or left to the backfill; undefined before the first. */
  readonly closedToMs: number | undefined
}

/**
 * After an outage of the venue's answers many minutes are due: this many are closed per call, the next ones a second
 * later.
 */
export const MAX_MINUTES_AT_ONCE = 20

/** A minute of the venue whose seconds are not closed yet. */
export interface WaitingMinute {
  readonly openMs: number
  /** Both undefined if the venue has no valid candle of the minute. */
  readonly count: number | undefined
  readonly volume: Decimal | undefined
  /** Undefined without a candle, null if the venue does not publish them. */
  readonly quote: Decimal | null | undefined
  readonly buyVolume: Decimal | null | undefined
  /** When the venue's candle became known. */
  readonly knownMs: number
}

export function putSeconds(
  { plan, symbol, writer, derivatives }: SymbolParts,
  candles: readonly Candle[],
  closed: boolean,
): void {
  writer.put(
    candleFeed(plan.source, symbol, '1s'),
    candles.map((candle) => candleOf(plan, { interval: '1s', candle }, closed, derivatives)),
  )
}
