/**
 * The bars of one instrument of a prediction market, from the first print to the last sweep.
 *
 *   prints, midpoints ──▶ buckets of 5 minutes ──▶ bar of 5m ──▶ 15m … 1d
 *                              ▲
 *                    a bar that is known from elsewhere (stored, or the venue's own) stands for its bucket
 *
 * Whatever comes late changes its bucket and all bars above it; `take` gives what has changed since it was asked.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import {
  buildMarketCandles,
  type MarketCandle,
  type MarketTrade,
  type MidSample,
  rollUpMarketCandles,
  type VolumeUnit,
} from '../../core/market-candles.ts'
import { COARSE_INTERVALS } from '../shared/feeds.ts'
import { BASE_INTERVAL } from './market-feeds.ts'

const LONGER = COARSE_INTERVALS.filter((interval) => interval !== BASE_INTERVAL)
const BASE_MS = INTERVAL_MS[BASE_INTERVAL]

export interface ChangedCandle {
  readonly interval: CandleInterval
  readonly bar: MarketCandle
}

export interface MarketCandleBuilder {
  print(print: MarketTrade): void
  mid(sample: MidSample): void
  /** A bar of 5m that is known already. A `whole` one holds every print that there was: later ones are part of it. */
  fix(bar: MarketCandle, isWhole: boolean): void
  take(): ChangedCandle[]
  /** The bars that hold an instant, to be written once more as closed. */
  at(timeMs: number, interval: CandleInterval): MarketCandle | undefined
}

interface Bucket {
  prints: MarketTrade[]
  /** First, lowest, highest and last in order of time: all that a bar needs. */
  mids: MidSample[]
  bar: MarketCandle | undefined
  isDirty: boolean
  isWhole: boolean
}

export function createMarketCandleBuilder(volume: VolumeUnit): MarketCandleBuilder {
  const buckets = new Map<number, Bucket>()
  const dirty = new Set<number>()

  function bucketAt(timeMs: number): Bucket {
    const start = candleStart(timeMs, BASE_INTERVAL)
    dirty.add(start)
    const known = buckets.get(start)
    if (known !== undefined) {
      known.isDirty = true
      return known
    }
    const bucket: Bucket = { prints: [], mids: [], bar: undefined, isDirty: true, isWhole: false }
    buckets.set(start, bucket)
    return bucket
  }

  function barOf(start: number): MarketCandle[] {
    const bucket = buckets.get(start)
    if (bucket === undefined) return []
    if (bucket.isDirty) {
      const [bar] = buildMarketCandles({
        interval: BASE_INTERVAL,
        trades: bucket.prints,
        mids: bucket.mids,
        volume,
      })
      bucket.bar = bar
      bucket.isDirty = false
    }
    return bucket.bar === undefined ? [] : [bucket.bar]
  }

  function longer(start: number, interval: CandleInterval): MarketCandle | undefined {
    const from = candleStart(start, interval)
    const finer: MarketCandle[] = []
    for (let at = from; at < from + INTERVAL_MS[interval]; at += BASE_MS) finer.push(...barOf(at))
    return rollUpMarketCandles(interval, finer)[0]
  }

  return {
    print(print) {
      if (buckets.get(candleStart(print.timeMs, BASE_INTERVAL))?.isWhole) return
      bucketAt(print.timeMs).prints.push(print)
    },
    mid(sample) {
      const start = candleStart(sample.timeMs, BASE_INTERVAL)
      const known = buckets.get(start)
      if (known?.prints.some((print) => print.isBlock !== true)) return
      const last = known?.mids.at(-1)
      const isLate = last !== undefined && sample.timeMs < last.timeMs
      if (!isLate && last?.price === sample.price) return
      const bucket = bucketAt(sample.timeMs)
      const mids = [...bucket.mids, sample]
      bucket.mids = extremes(isLate ? mids.sort((a, b) => a.timeMs - b.timeMs) : mids)
    },
    fix(bar, isWhole) {
      const bucket = bucketAt(bar.openTimeMs)
      bucket.isWhole = isWhole
      bucket.bar = bar
      bucket.isDirty = false
      bucket.prints = printsOf(bar, volume)
      bucket.mids = bar.basis === 'mid' ? midsOf(bar) : []
    },
    take() {
      const taken: ChangedCandle[] = []
      for (const start of dirty) for (const bar of barOf(start)) taken.push({ interval: BASE_INTERVAL, bar })
      for (const interval of LONGER) {
        const starts = new Set([...dirty].map((start) => candleStart(start, interval)))
        for (const start of starts) {
          const bar = longer(start, interval)
          if (bar !== undefined) taken.push({ interval, bar })
        }
      }
      dirty.clear()
      return taken
    },
    at: (timeMs, interval) =>
      interval === BASE_INTERVAL ? barOf(candleStart(timeMs, BASE_INTERVAL))[0] : longer(timeMs, interval),
  }
}

function extremes(mids: readonly MidSample[]): MidSample[] {
  if (mids.length <= 4) return [...mids]
  const [first, last] = [mids[0], mids.at(-1)]
  let low = mids[0]
  let high = mids[0]
  for (const mid of mids) {
    if (low === undefined || Number(mid.price) < Number(low.price)) low = mid
    if (high === undefined || Number(mid.price) > Number(high.price)) high = mid
  }
  return mids.filter((mid) => mid === first || mid === last || mid === low || mid === high)
}

/** Prints that give the bar again, so that a print found later has something to join. */
function printsOf(bar: MarketCandle, volume: VolumeUnit): MarketTrade[] {
  if (bar.basis === 'mid') return []
  const startMs = bar.openTimeMs
  const endMs = startMs + BASE_MS - 1
  const price = (timeMs: number, text: string): MarketTrade => ({ timeMs, price: text, size: '0' })
  // All of the volume hangs on a block print, which is no price: in money it counts as a size at a price of 1.
  const amount: MarketTrade = {
    timeMs: endMs,
    price: volume === 'money' ? '1' : bar.close,
    size: bar.volume,
    isBlock: true,
  }
  return [
    price(startMs, bar.open),
    price(startMs + 1, bar.high),
    price(startMs + 1, bar.low),
    price(endMs, bar.close),
    amount,
  ]
}

/** At the bar's beginning: a bar that still runs goes on after them. */
function midsOf(bar: MarketCandle): MidSample[] {
  return [
    { timeMs: bar.openTimeMs, price: bar.open },
    { timeMs: bar.openTimeMs + 1, price: bar.high },
    { timeMs: bar.openTimeMs + 1, price: bar.low },
    { timeMs: bar.openTimeMs + 2, price: bar.close },
  ]
}
