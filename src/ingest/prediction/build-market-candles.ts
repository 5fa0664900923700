/**
 * The candles of one instrument of a prediction market, from the first trade to the last sweep.
 *
 *   trades, midpoints ──▶ buckets of 5 minutes ──▶ candle of 5m ──▶ 15m … 1d
 *                              ▲
 *                    a candle that is known already (stored, or the venue's own) replaces its bucket
 *
 * Late data changes its bucket and all longer candles; `take` gives what has changed since the last call.
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

interface ChangedCandle {
  readonly interval: CandleInterval
  readonly candle: MarketCandle
}

export interface MarketCandleBuilder {
  trade(trade: MarketTrade): void
  mid(sample: MidSample): void
  /** A candle of 5m that is known already. A `whole` one holds every trade of its time: later trades are part of it already. */
  fix(candle: MarketCandle, isWhole: boolean): void
  take(): ChangedCandle[]
  /** The candles that hold an instant, to be written once more as closed. */
  at(timeMs: number, interval: CandleInterval): MarketCandle | undefined
}

interface Bucket {
  trades: MarketTrade[]
  /** First, lowest, highest and last in order of time: all that a candle needs. */
  mids: MidSample[]
  candle: MarketCandle | undefined
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
    const bucket: Bucket = { trades: [], mids: [], candle: undefined, isDirty: true, isWhole: false }
    buckets.set(start, bucket)
    return bucket
  }

  function candleAt(start: number): MarketCandle[] {
    const bucket = buckets.get(start)
    if (bucket === undefined) return []
    if (bucket.isDirty) {
      const [candle] = buildMarketCandles({
        interval: BASE_INTERVAL,
        trades: bucket.trades,
        mids: bucket.mids,
        volume,
      })
      bucket.candle = candle
      bucket.isDirty = false
    }
    return bucket.candle === undefined ? [] : [bucket.candle]
  }

  function longer(start: number, interval: CandleInterval): MarketCandle | undefined {
    const from = candleStart(start, interval)
    const finer: MarketCandle[] = []
    for (let at = from; at < from + INTERVAL_MS[interval]; at += BASE_MS) finer.push(...candleAt(at))
    return rollUpMarketCandles(interval, finer)[0]
  }

  return {
    trade(trade) {
      if (buckets.get(candleStart(trade.timeMs, BASE_INTERVAL))?.isWhole) return
      bucketAt(trade.timeMs).trades.push(trade)
    },
    mid(sample) {
      const start = candleStart(sample.timeMs, BASE_INTERVAL)
      const known = buckets.get(start)
      if (known?.trades.some((trade) => trade.isBlock !== true)) return
      const last = known?.mids.at(-1)
      const isLate = last !== undefined && sample.timeMs < last.timeMs
      if (!isLate && last?.price === sample.price) return
      const bucket = bucketAt(sample.timeMs)
      const mids = [...bucket.mids, sample]
      bucket.mids = extremes(isLate ? mids.sort((a, b) => a.timeMs - b.timeMs) : mids)
    },
    fix(candle, isWhole) {
      const bucket = bucketAt(candle.openTimeMs)
      bucket.isWhole = isWhole
      bucket.candle = candle
      bucket.isDirty = false
      bucket.trades = tradesOf(candle, volume)
      bucket.mids = candle.basis === 'mid' ? midsOf(candle) : []
    },
    take() {
      const taken: ChangedCandle[] = []
      for (const start of dirty)
        for (const candle of candleAt(start)) taken.push({ interval: BASE_INTERVAL, candle })
      for (const interval of LONGER) {
        const starts = new Set([...dirty].map((start) => candleStart(start, interval)))
        for (const start of starts) {
          const candle = longer(start, interval)
          if (candle !== undefined) taken.push({ interval, candle })
        }
      }
      dirty.clear()
      return taken
    },
    at: (timeMs, interval) =>
      interval === BASE_INTERVAL ? candleAt(candleStart(timeMs, BASE_INTERVAL))[0] : longer(timeMs, interval),
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

/** Trades that build the same candle, so that a trade found later can be added to it. */
function tradesOf(candle: MarketCandle, volume: VolumeUnit): MarketTrade[] {
  if (candle.basis === 'mid') return []
  const startMs = candle.openTimeMs
  const endMs = startMs + BASE_MS - 1
  const price = (timeMs: number, text: string): MarketTrade => ({ timeMs, price: text, size: '0' })
  // A block trade, which sets no price, has all of the volume; in money it counts as a size at a price of 1.
  const amount: MarketTrade = {
    timeMs: endMs,
    price: volume === 'money' ? '1' : candle.close,
    size: candle.volume,
    isBlock: true,
  }
  return [
    price(startMs, candle.open),
    price(startMs + 1, candle.high),
    price(startMs + 1, candle.low),
    price(endMs, candle.close),
    amount,
  ]
}

/** At the start of the candle, so that a candle that is still running continues after them. */
function midsOf(candle: MarketCandle): MidSample[] {
  return [
    { timeMs: candle.openTimeMs, price: candle.open },
    { timeMs: candle.openTimeMs + 1, price: candle.high },
    { timeMs: candle.openTimeMs + 1, price: candle.low },
    { timeMs: candle.openTimeMs + 2, price: candle.close },
  ]
}
