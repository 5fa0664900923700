/**
 * Coarser candles from finer ones. Confirmed candles enter in order and exactly once; a coarser candle leaves when the last
 * of its time has been confirmed. A coarser candle with a gap in it never leaves: half a candle is not a candle.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { type Candle, joinCandles } from './candle.ts'

export interface RolledCandle {
  readonly interval: CandleInterval
  readonly candle: Candle
}

export interface RollUp {
  /** Everything up to `toMs` is known now: these candles, and nothing else. Returns the candles that are complete. */
  advance(candles: readonly Candle[], toMs: number): RolledCandle[]
  /** A range that will never be known. */
  spoil(fromMs: number, toMs: number): void
  /** The candles of the present: what was confirmed, and newer candles on top of it. */
  open(newer: readonly Candle[]): RolledCandle[]
}

interface Lane {
  readonly interval: CandleInterval
  readonly lengthMs: number
  bucketMs: number
  candle: Candle | undefined
  isSpoiled: boolean
}

export function createRollUp(options: { intervals: readonly CandleInterval[]; fromMs: number }): RollUp {
  const lanes: Lane[] = options.intervals.map((interval) => {
    const bucketMs = candleStart(options.fromMs, interval)
    // Begun in the middle of a candle: its first part is not known.
    return {
      interval,
      lengthMs: INTERVAL_MS[interval],
      bucketMs,
      candle: undefined,
      isSpoiled: bucketMs < options.fromMs,
    }
  })

  function closeUntil(lane: Lane, toMs: number, closed: RolledCandle[]): void {
    while (lane.bucketMs + lane.lengthMs <= toMs) {
      if (lane.candle !== undefined && !lane.isSpoiled)
        closed.push({ interval: lane.interval, candle: lane.candle })
      lane.bucketMs =
        lane.candle === undefined ? candleStart(toMs, lane.interval) : lane.bucketMs + lane.lengthMs
      lane.candle = undefined
      lane.isSpoiled = false
    }
  }

  return {
    advance(candles, toMs) {
      const closed: RolledCandle[] = []
      for (const lane of lanes) {
        for (const candle of candles) {
          closeUntil(lane, candleStart(candle.openMs, lane.interval), closed)
          lane.candle = grow(lane.candle, candle, lane.bucketMs)
        }
        closeUntil(lane, toMs, closed)
      }
      return closed
    },
    spoil(fromMs, toMs) {
      for (const lane of lanes) {
        if (fromMs < lane.bucketMs + lane.lengthMs && toMs > lane.bucketMs) lane.isSpoiled = true
      }
    },
    open(newer) {
      const rows: RolledCandle[] = []
      for (const lane of lanes) {
        let bucketMs = lane.bucketMs
        let candle = lane.candle
        let isSpoiled = lane.isSpoiled
        for (const next of newer) {
          const start = candleStart(next.openMs, lane.interval)
          if (start !== bucketMs) {
            if (candle !== undefined && !isSpoiled) rows.push({ interval: lane.interval, candle })
            bucketMs = start
            candle = undefined
            isSpoiled = false
          }
          candle = grow(candle, next, bucketMs)
        }
        if (candle !== undefined && !isSpoiled) rows.push({ interval: lane.interval, candle })
      }
      return rows
    },
  }
}

function grow(candle: Candle | undefined, next: Candle, bucketMs: number): Candle {
  return candle === undefined ? { ...next, openMs: bucketMs } : joinCandles(candle, next)
}
