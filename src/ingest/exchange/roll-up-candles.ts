/**
 * Builds coarser candles from finer ones. Confirmed candles enter in order and exactly once; a coarser candle comes out
 * when the last candle of its time has been confirmed. A coarser candle with a gap never comes out, because it would be
 * incomplete.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { type Candle, joinCandles } from './candle.ts'

export interface RolledCandle {
  readonly interval: CandleInterval
  readonly candle: Candle
}

export type RollUp = ReturnType<typeof createRollUp>

/** The coarser candle of one interval that is being built. */
interface Coarser {
  readonly interval: CandleInterval
  readonly lengthMs: number
  bucketMs: number
  candle: Candle | undefined
  isSpoiled: boolean
}

export function createRollUp(options: { intervals: readonly CandleInterval[]; fromMs: number }) {
  const coarser: Coarser[] = options.intervals.map((interval) => {
    const bucketMs = candleStart(options.fromMs, interval)
    // The roll-up may start in the middle of a candle, whose first part is then unknown.
    return {
      interval,
      lengthMs: INTERVAL_MS[interval],
      bucketMs,
      candle: undefined,
      isSpoiled: bucketMs < options.fromMs,
    }
  })

  /** Ranges that will never be known, kept until all candles are past them. */
  let spoiled: HistoryRange[] = []
  const isSpoiledAt = (bucketMs: number, lengthMs: number) =>
    spoiled.some(({ fromMs, toMs }) => fromMs < bucketMs + lengthMs && toMs > bucketMs)

  function closeUntil(each: Coarser, toMs: number, closed: RolledCandle[]): void {
    while (each.bucketMs + each.lengthMs <= toMs) {
      if (each.candle !== undefined && !each.isSpoiled)
        closed.push({ interval: each.interval, candle: each.candle })
      each.bucketMs =
        each.candle === undefined ? candleStart(toMs, each.interval) : each.bucketMs + each.lengthMs
      each.candle = undefined
      each.isSpoiled = isSpoiledAt(each.bucketMs, each.lengthMs)
    }
  }

  return {
    /**
     * Everything up to `toMs` is known now: these candles, and nothing else. Returns the coarser candles that are
     * complete.
     */
    advance(candles: readonly Candle[], toMs: number): RolledCandle[] {
      const closed: RolledCandle[] = []
      for (const each of coarser) {
        for (const candle of candles) {
          closeUntil(each, candleStart(candle.openMs, each.interval), closed)
          each.candle = grow(each.candle, candle, each.bucketMs)
        }
        closeUntil(each, toMs, closed)
      }
      const oldestMs = Math.min(...coarser.map(({ bucketMs }) => bucketMs))
      spoiled = spoiled.filter((range) => range.toMs > oldestMs)
      return closed
    },
    /** This range will never be known. */
    spoil(fromMs: number, toMs: number) {
      spoiled.push({ fromMs, toMs })
      for (const each of coarser) each.isSpoiled ||= isSpoiledAt(each.bucketMs, each.lengthMs)
    },
    /** The open candles: confirmed data, and newer candles on top of it. Only those that end after `changedMs`. */
    open(newer: readonly Candle[], changedMs = Number.NEGATIVE_INFINITY): RolledCandle[] {
      const rows: RolledCandle[] = []
      for (const each of coarser) {
        let bucketMs = each.bucketMs
        let candle = each.candle
        let isSpoiled = each.isSpoiled
        const show = () => {
          if (candle !== undefined && !isSpoiled && bucketMs + each.lengthMs > changedMs)
            rows.push({ interval: each.interval, candle })
        }
        for (const next of newer) {
          const start = candleStart(next.openMs, each.interval)
          if (start + each.lengthMs <= changedMs) continue
          if (start !== bucketMs) {
            show()
            bucketMs = start
            candle = undefined
            isSpoiled = isSpoiledAt(start, each.lengthMs)
          }
          candle = grow(candle, next, bucketMs)
        }
        show()
      }
      return rows
    },
  }
}

function grow(candle: Candle | undefined, next: Candle, bucketMs: number): Candle {
  return candle === undefined ? { ...next, openMs: bucketMs } : joinCandles(candle, next)
}
