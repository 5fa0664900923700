/**
 * The candles of one instrument of a prediction market, from the first trade to the last sweep.
 *
 *   trades, midpoints ──▶ buckets of 5 minutes ──▶ candle of 5m ──▶ 15m … 1d
 *                              ▲
 *                    a candle that is already known (stored, or the venue's own) replaces its bucket
 *
 * Late data changes its bucket and all longer candles; `take` returns what has changed since the last call. A longer
 * candle is joined from its older buckets, whose join is remembered, and its newest bucket, which is the one that
 * changes. A bucket with only block trades has no price and therefore gives no candle; its volume still counts in the
 * longer ones.
 */
import { add, type Decimal, ZERO } from '../../core/decimal.ts'
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import {
  type JoinedCandles,
  joinedCandle,
  joinedOf,
  joinMarketCandles,
  type MarketCandle,
  type MarketTrade,
  type MidSample,
  marketCandle,
  TradedPrices,
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

/** What is known of a stored candle besides its prices. */
export interface StoredCandle {
  /** When its first price was seen; without it, at its start. */
  readonly openMs?: number
  /** When its last price was seen; without it, at its end if it has trades, else at its start. */
  readonly closeMs?: number
  /** Everything before this instant is final; a final candle is not written again as long as nothing changes it. */
  readonly finalBeforeMs?: number
}

interface Bucket {
  traded: TradedPrices
  /** The first, lowest, highest and last midpoint in order of time, which is all that a candle needs. */
  mids: MidSample[]
  candle: MarketCandle | undefined
  isDirty: boolean
  isWhole: boolean
}

/** The buckets of a longer candle that lie before its newest one. */
interface OlderBuckets {
  readonly fromMs: number
  readonly newestMs: number
  readonly rollUp: JoinedCandles | undefined
  /** The volume of the buckets without a price. */
  readonly priceless: Decimal
}

export class MarketCandleBuilder {
  readonly #volume: VolumeUnit
  readonly #buckets = new Map<number, Bucket>()
  readonly #dirty = new Set<number>()
  /** The start of the newest bucket. */
  #newestMs = Number.NEGATIVE_INFINITY
  /** By interval: the older buckets of the longer candle that was last computed. */
  readonly #older = new Map<CandleInterval, OlderBuckets>()

  constructor(volume: VolumeUnit) {
    this.#volume = volume
  }

  trade(trade: MarketTrade): void {
    if (this.#buckets.get(candleStart(trade.timeMs, BASE_INTERVAL))?.isWhole) return
    this.#bucketAt(trade.timeMs).traded.add(trade)
  }

  mid(sample: MidSample): void {
    const start = candleStart(sample.timeMs, BASE_INTERVAL)
    const known = this.#buckets.get(start)
    if (known !== undefined && known.traded.priced > 0) return
    const last = known?.mids.at(-1)
    const isLate = last !== undefined && sample.timeMs < last.timeMs
    if (!isLate && last?.price === sample.price) return
    const bucket = this.#bucketAt(sample.timeMs)
    const mids = [...bucket.mids, sample]
    bucket.mids = extremes(isLate ? mids.sort((a, b) => a.timeMs - b.timeMs) : mids)
  }

  /**
   * Sets a 5m candle that is already known. A whole candle contains every trade of its time, so later trades are
   * ignored.
   */
  fix(candle: MarketCandle, isWhole: boolean, stored: StoredCandle = {}): void {
    const isUnchanged = isFinalCandle(candle, stored) && !this.#dirty.has(candle.openTimeMs)
    const bucket = this.#bucketAt(candle.openTimeMs)
    if (isUnchanged) this.#dirty.delete(candle.openTimeMs)
    bucket.isWhole = isWhole
    bucket.candle = candle
    bucket.traded = new TradedPrices(this.#volume)
    for (const trade of tradesOf(candle, this.#volume, stored)) bucket.traded.add(trade)
    // Midpoints that were received before a running candle was known come after it.
    const seen = candle.basis === 'mid' ? bucket.mids : []
    const mids = candle.basis === 'mid' ? [...midsOf(candle, stored), ...seen] : []
    bucket.mids = extremes(mids.sort((a, b) => a.timeMs - b.timeMs))
    bucket.isDirty = seen.length > 0
  }

  take(): readonly ChangedCandle[] {
    if (this.#dirty.size === 0) return NOTHING
    const taken: ChangedCandle[] = []
    for (const start of this.#dirty) {
      const candle = this.#candleAt(start)
      if (candle !== undefined) taken.push({ interval: BASE_INTERVAL, candle })
    }
    for (const interval of LONGER)
      for (const start of this.#dirtyStarts(interval)) {
        const candle = this.#longer(start, interval)
        if (candle !== undefined) taken.push({ interval, candle })
      }
    this.#dirty.clear()
    return taken
  }

  /** The candle that contains an instant, to be written once more as closed. */
  at(timeMs: number, interval: CandleInterval): MarketCandle | undefined {
    return interval === BASE_INTERVAL
      ? this.#candleAt(candleStart(timeMs, BASE_INTERVAL))
      : this.#longer(timeMs, interval)
  }

  #bucketAt(timeMs: number): Bucket {
    const start = candleStart(timeMs, BASE_INTERVAL)
    this.#dirty.add(start)
    if (start < this.#newestMs) this.#older.clear()
    else this.#newestMs = start
    const known = this.#buckets.get(start)
    if (known !== undefined) {
      known.isDirty = true
      return known
    }
    const traded = new TradedPrices(this.#volume)
    const bucket: Bucket = { traded, mids: [], candle: undefined, isDirty: true, isWhole: false }
    this.#buckets.set(start, bucket)
    return bucket
  }

  #dirtyStarts(interval: CandleInterval): Iterable<number> {
    if (this.#dirty.size > 1) return new Set([...this.#dirty].map((start) => candleStart(start, interval)))
    return this.#dirty
  }

  #candleAt(start: number): MarketCandle | undefined {
    const bucket = this.#buckets.get(start)
    if (bucket === undefined) return undefined
    if (bucket.isDirty) {
      bucket.candle = marketCandle(start, bucket.traded, bucket.mids)
      bucket.isDirty = false
    }
    return bucket.candle
  }

  #longer(timeMs: number, interval: CandleInterval): MarketCandle | undefined {
    const fromMs = candleStart(timeMs, interval)
    let newestMs = Math.min(this.#newestMs, fromMs + INTERVAL_MS[interval] - BASE_MS)
    while (newestMs > fromMs && !this.#buckets.has(newestMs)) newestMs -= BASE_MS
    const older = this.#olderBuckets(fromMs, newestMs, interval)
    const newest = this.#candleAt(newestMs)
    const last = newest === undefined ? undefined : joinedOf(newest)
    const joined = joinedOrEither(older.rollUp, last)
    if (joined === undefined) return undefined
    const priceless = add(older.priceless, this.#pricelessAt(newestMs))
    return joinedCandle(fromMs, { ...joined, volume: add(joined.volume, priceless) })
  }

  #olderBuckets(fromMs: number, newestMs: number, interval: CandleInterval): OlderBuckets {
    const known = this.#older.get(interval)
    if (known?.fromMs === fromMs && known.newestMs === newestMs) return known
    let rollUp: JoinedCandles | undefined
    let priceless = ZERO
    for (let at = fromMs; at < newestMs; at += BASE_MS) {
      const candle = this.#candleAt(at)
      if (candle === undefined) priceless = add(priceless, this.#pricelessAt(at))
      else rollUp = joinedOrEither(rollUp, joinedOf(candle))
    }
    const older = { fromMs, newestMs, rollUp, priceless }
    this.#older.set(interval, older)
    return older
  }

  /** The volume of a bucket that gives no candle. */
  #pricelessAt(start: number): Decimal {
    const bucket = this.#buckets.get(start)
    return bucket === undefined || this.#candleAt(start) !== undefined ? ZERO : bucket.traded.volume
  }
}

export const isFinalCandle = ({ openTimeMs }: MarketCandle, { finalBeforeMs = 0 }: StoredCandle): boolean =>
  openTimeMs + BASE_MS <= finalBeforeMs

function joinedOrEither(
  first: JoinedCandles | undefined,
  second: JoinedCandles | undefined,
): JoinedCandles | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return joinMarketCandles(first, second)
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
function tradesOf(candle: MarketCandle, volume: VolumeUnit, stored: StoredCandle): MarketTrade[] {
  if (candle.basis === 'mid') return []
  const startMs = stored.openMs ?? candle.openTimeMs
  const endMs = stored.closeMs ?? candle.openTimeMs + BASE_MS - 1
  const price = (timeMs: number, text: string): MarketTrade => ({ timeMs, price: text, size: '0' })
  // A block trade, which sets no price, carries the whole volume; a volume in money is a size at a price of 1.
  const amount: MarketTrade = {
    timeMs: endMs,
    price: volume === 'money' ? '1' : candle.close,
    size: candle.volume,
    isBlock: true,
  }
  return [
    price(startMs, candle.open),
    price(startMs, candle.high),
    price(startMs, candle.low),
    price(endMs, candle.close),
    amount,
  ]
}

/** Usually placed at the start of the candle, so that a candle that is still running continues after them. */
function midsOf(candle: MarketCandle, { openMs = candle.openTimeMs, closeMs }: StoredCandle): MidSample[] {
  return [
    { timeMs: openMs, price: candle.open },
    { timeMs: openMs + 1, price: candle.high },
    { timeMs: openMs + 1, price: candle.low },
    { timeMs: closeMs ?? openMs + 2, price: candle.close },
  ]
}
