/**
 * Coarser bars from finer ones. Confirmed bars enter in order and exactly once; a coarser bar leaves when the last
 * of its time has been confirmed. A coarser bar with a hole in it never leaves: half a bar is not a bar.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { type Candle, joinCandles } from './candle.ts'

export interface RolledCandle {
  readonly interval: CandleInterval
  readonly bar: Candle
}

export interface RollUp {
  /** Everything up to `toMs` is known now: these bars, and nothing else. Returns the bars that are complete. */
  advance(bars: readonly Candle[], toMs: number): RolledCandle[]
  /** A stretch that will never be known. */
  spoil(fromMs: number, toMs: number): void
  /** The bars of the present: what was confirmed, and newer bars on top of it. */
  open(newer: readonly Candle[]): RolledCandle[]
}

interface Lane {
  readonly interval: CandleInterval
  readonly lengthMs: number
  bucketMs: number
  bar: Candle | undefined
  isSpoiled: boolean
}

export function createRollUp(options: { intervals: readonly CandleInterval[]; fromMs: number }): RollUp {
  const lanes: Lane[] = options.intervals.map((interval) => {
    const bucketMs = candleStart(options.fromMs, interval)
    // Begun in the middle of a bar: its first part is not known.
    return {
      interval,
      lengthMs: INTERVAL_MS[interval],
      bucketMs,
      bar: undefined,
      isSpoiled: bucketMs < options.fromMs,
    }
  })

  function closeUntil(lane: Lane, toMs: number, closed: RolledCandle[]): void {
    while (lane.bucketMs + lane.lengthMs <= toMs) {
      if (lane.bar !== undefined && !lane.isSpoiled) closed.push({ interval: lane.interval, bar: lane.bar })
      lane.bucketMs =
        lane.bar === undefined ? candleStart(toMs, lane.interval) : lane.bucketMs + lane.lengthMs
      lane.bar = undefined
      lane.isSpoiled = false
    }
  }

  return {
    advance(bars, toMs) {
      const closed: RolledCandle[] = []
      for (const lane of lanes) {
        for (const bar of bars) {
          closeUntil(lane, candleStart(bar.openMs, lane.interval), closed)
          lane.bar = grow(lane.bar, bar, lane.bucketMs)
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
        let bar = lane.bar
        let isSpoiled = lane.isSpoiled
        for (const next of newer) {
          const start = candleStart(next.openMs, lane.interval)
          if (start !== bucketMs) {
            if (bar !== undefined && !isSpoiled) rows.push({ interval: lane.interval, bar })
            bucketMs = start
            bar = undefined
            isSpoiled = false
          }
          bar = grow(bar, next, bucketMs)
        }
        if (bar !== undefined && !isSpoiled) rows.push({ interval: lane.interval, bar })
      }
      return rows
    },
  }
}

function grow(bar: Candle | undefined, next: Candle, bucketMs: number): Candle {
  return bar === undefined ? { ...next, openMs: bucketMs } : joinCandles(bar, next)
}
