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

const NOTHING: readonly ChangedCandle[] = []

interface Bucket {
  trades: MarketTrade[]
  /** First, lowest, highest and last in order of time: all that a candle needs. */
  mids: MidSample[]
  candle: MarketCandle | undefined
  isDirty: boolean
  isWhole: boolean
}

export class MarketCandleBuilder {
  readonly #volume: VolumeUnit
  readonly #buckets = new Map<number, Bucket>()
  readonly #dirty = new Set<number>()

  constructor(volume: VolumeUnit) {
    this.#volume = volume
  }

  trade(trade: MarketTrade): void {
    if (this.#buckets.get(candleStart(trade.timeMs, BASE_INTERVAL))?.isWhole) return
    this.#bucketAt(trade.timeMs).trades.push(trade)
  }

  mid(sample: MidSample): void {
    const start = candleStart(sample.timeMs, BASE_INTERVAL)
    const known = this.#buckets.get(start)
    if (known?.trades.some((trade) => trade.isBlock !== true)) return
    const last = known?.mids.at(-1)
    const isLate = last !== undefined && sample.timeMs < last.timeMs
    if (!isLate && last?.price === sample.price) return
    const bucket = this.#bucketAt(sample.timeMs)
    const mids = [...bucket.mids, sample]
    bucket.mids = extremes(isLate ? mids.sort((a, b) => a.timeMs - b.timeMs) : mids)
  }

  /** A candle of 5m that is known already. A `whole` one holds every trade of its time: later trades are part of it already. */
  fix(candle: MarketCandle, isWhole: boolean): void {
    const bucket = this.#bucketAt(candle.openTimeMs)
    bucket.isWhole = isWhole
    bucket.candle = candle
    bucket.isDirty = false
    bucket.trades = tradesOf(candle, this.#volume)
    bucket.mids = candle.basis === 'mid' ? midsOf(candle) : []
  }

  take(): readonly ChangedCandle[] {
    if (this.#dirty.size === 0) return NOTHING
    const taken: ChangedCandle[] = []
    for (const start of this.#dirty)
      for (const candle of this.#candleAt(start)) taken.push({ interval: BASE_INTERVAL, candle })
    for (const interval of LONGER) {
      const starts = new Set([...this.#dirty].map((start) => candleStart(start, interval)))
      for (const start of starts) {
        const candle = this.#longer(start, interval)
        if (candle !== undefined) taken.push({ interval, candle })
      }
    }
    this.#dirty.clear()
    return taken
  }

  /** The candles that hold an instant, to be written once more as closed. */
  at(timeMs: number, interval: CandleInterval): MarketCandle | undefined {
    return interval === BASE_INTERVAL
      ? this.#candleAt(candleStart(timeMs, BASE_INTERVAL))[0]
      : this.#longer(timeMs, interval)
  }

  #bucketAt(timeMs: number): Bucket {
    const start = candleStart(timeMs, BASE_INTERVAL)
    this.#dirty.add(start)
    const known = this.#buckets.get(start)
    if (known !== undefined) {
      known.isDirty = true
      return known
    }
    const bucket: Bucket = { trades: [], mids: [], candle: undefined, isDirty: true, isWhole: false }
    this.#buckets.set(start, bucket)
    return bucket
  }

  #candleAt(start: number): MarketCandle[] {
    const bucket = this.#buckets.get(start)
    if (bucket === undefined) return []
    if (bucket.isDirty) {
      const [candle] = buildMarketCandles({
        interval: BASE_INTERVAL,
        trades: bucket.trades,
        mids: bucket.mids,
        volume: this.#volume,
      })
      bucket.candle = candle
      bucket.isDirty = false
    }
    return bucket.candle === undefined ? [] : [bucket.candle]
  }

  #longer(start: number, interval: CandleInterval): MarketCandle | undefined {
    const from = candleStart(start, interval)
    const finer: MarketCandle[] = []
    for (let at = from; at < from + INTERVAL_MS[interval]; at += BASE_MS) finer.push(...this.#candleAt(at))
    return rollUpMarketCandles(interval, finer)[0]
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
