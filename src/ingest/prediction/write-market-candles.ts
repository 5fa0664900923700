/**
 * How the candles of one market reach the store.
 *
 *   changed ──▶ written open ──`CLOSE_AFTER_MS` after its end──▶ written closed; late data writes it again
 *   contains a trade that cannot be stored ──▶ refused, because it cannot be right, until a valid trade replaces it
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { MarketCandle, MidSample } from '../../core/market-candles.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import { COARSE_INTERVALS, candleFeed } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { isFinalCandle, MarketCandleBuilder, type StoredCandle } from './build-market-candles.ts'
import type { PredictionPlan } from './market-feeds.ts'

/** Trades arrive late, on-chain trades even later. */
const CLOSE_AFTER_MS = 30_000

interface CandlePlace {
  readonly instrument: string
  readonly interval: CandleInterval
  readonly openTimeMs: number
}

const nameOf = ({ instrument, interval, openTimeMs }: CandlePlace) =>
  `${instrument}:${interval}:${openTimeMs}`

const isCandleClosed = (
  { interval, openTimeMs }: Pick<CandlePlace, 'interval' | 'openTimeMs'>,
  nowMs: number,
): boolean => nowMs >= openTimeMs + INTERVAL_MS[interval] + CLOSE_AFTER_MS

interface CandleWriterOptions {
  readonly plan: PredictionPlan
  readonly instruments: readonly string[]
  /** The market as it is known now. */
  readonly market: () => MarketInput
  readonly writer: Pick<RowWriter, 'put' | 'refuse'>
}

export class MarketCandleWriter {
  readonly #options: CandleWriterOptions
  readonly #builders: ReadonlyMap<string, MarketCandleBuilder>
  /** Candles that were written open, and are written once more when they have ended. */
  readonly #open = new Map<string, CandlePlace>()
  /** Refused candles, each with the trades that caused it. */
  readonly #refused = new Map<string, Set<string>>()

  constructor(options: CandleWriterOptions) {
    this.#options = options
    this.#builders = new Map(
      options.instruments.map((instrument) => [instrument, new MarketCandleBuilder(options.plan.volume)]),
    )
  }

  trade(observation: TradeObservation): void {
    const { instrument, price, size, venueTimeMs: timeMs, isBlock } = observation
    if (this.#refused.size > 0) this.#accept(observation.id)
    const trade = { timeMs, price, size, ...(isBlock === true ? { isBlock } : {}) }
    this.#builders.get(instrument)?.trade(trade)
  }

  mid(instrument: string, sample: MidSample): void {
    this.#builders.get(instrument)?.mid(sample)
  }

  /** Sets a 5m candle that is already known. */
  fix(instrument: string, candle: MarketCandle, isWhole: boolean, stored: StoredCandle = {}): void {
    this.#builders.get(instrument)?.fix(candle, isWhole, stored)
    if (!isFinalCandle(candle, stored)) return
    // A longer candle that contains it may have been stored open, and is closed even if nothing more is traded.
    for (const interval of COARSE_INTERVALS) {
      const place = { instrument, interval, openTimeMs: candleStart(candle.openTimeMs, interval) }
      if (place.openTimeMs + INTERVAL_MS[interval] > (stored.finalBeforeMs ?? 0))
        this.#open.set(nameOf(place), place)
    }
  }

  /** Takes a trade that cannot be stored; no candle of its time is written. */
  refuseAt({ id, instrument, venueTimeMs }: TradeObservation): void {
    for (const interval of COARSE_INTERVALS) {
      const place = { instrument, interval, openTimeMs: candleStart(venueTimeMs, interval) }
      const name = nameOf(place)
      this.#refused.set(name, (this.#refused.get(name) ?? new Set()).add(id))
      this.#refuse(place)
    }
  }

  /** Puts the candles that have changed or ended. */
  show(nowMs: number): void {
    for (const [instrument, builder] of this.#builders)
      for (const { interval, candle } of builder.take()) this.#put(instrument, interval, candle, nowMs)
    for (const place of this.#open.values()) {
      if (!isCandleClosed(place, nowMs)) continue
      const { instrument, interval, openTimeMs } = place
      const candle = this.#builders.get(instrument)?.at(openTimeMs, interval)
      if (candle !== undefined) this.#put(instrument, interval, candle, nowMs)
    }
  }

  #accept(tradeId: string): void {
    for (const [name, trades] of this.#refused)
      if (trades.delete(tradeId) && trades.size === 0) this.#refused.delete(name)
  }

  #refuse({ interval, openTimeMs }: CandlePlace): void {
    const { plan, market, writer } = this.#options
    writer.refuse(candleFeed(plan.source, market().symbol, interval), openTimeMs)
  }

  #put(instrument: string, interval: CandleInterval, candle: MarketCandle, nowMs: number): void {
    const place = { instrument, interval, openTimeMs: candle.openTimeMs }
    const name = nameOf(place)
    if (this.#refused.has(name)) {
      this.#refuse(place)
      this.#open.delete(name)
      return
    }
    const closed = isCandleClosed(place, nowMs)
    if (closed) this.#open.delete(name)
    else this.#open.set(name, place)
    const { plan, writer } = this.#options
    const { symbol, marketId, slug, question, tokens } = this.#options.market()
    const token = tokens?.find(({ tokenId }) => tokenId === instrument)
    const market = {
      marketId,
      slug: slug ?? null,
      tokenId: token?.tokenId ?? null,
      outcome: token?.outcome ?? (plan.hasTokens ? null : 'yes'),
      question: question ?? null,
    }
    const { openTimeMs: time, high, low, close, volume } = candle
    const row = { time, open: candle.open, high, low, close, volume, closed, market }
    writer.put(candleFeed(plan.source, symbol, interval), [row])
  }
}
