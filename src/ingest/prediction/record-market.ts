/** One prediction market: its books become snapshots, its trades trades and candles. */
import type { MarketCandle } from '../../core/market-candles.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { TradeInput } from '../../core/rows/trade.ts'
import type { DataObservation, MidObservation, TradeObservation } from '../../venues/observation.ts'
import { checkMarketTrade } from '../shared/check-trade.ts'
import { feedOf } from '../shared/feeds.ts'
import { sequenceOf } from '../shared/sequence.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { TradeDeduplicator } from './deduplicate-trades.ts'
import { LatestBefore } from './latest-before.ts'
import type { PredictionPlan } from './market-feeds.ts'
import { type MarketWindow, windowOf } from './market-times.ts'
import type { MarketSampler } from './sample-market.ts'
import { MarketCandleWriter } from './write-market-candles.ts'
import { MarketSnapshotWriter } from './write-market-snapshots.ts'

interface MarketRecorderOptions {
  readonly plan: PredictionPlan
  readonly market: MarketInput
  readonly writer: RowWriter
  /** The price of the asset at an instant. */
  readonly referencePrice: (timeMs: number) => string | null
  /** Until when the books of all markets of the symbol were received. */
  readonly booksReceivedToMs: () => number
  /** A trade of size 0 was left out. */
  readonly onEmptyTrade?: () => void
}

export const marketTradeRow = (trade: TradeObservation, marketId: string): TradeInput => ({
  time: trade.venueTimeMs,
  seq: sequenceOf(trade.id),
  tradeId: trade.id,
  price: trade.price,
  size: trade.size,
  side: trade.side,
  marketId,
  tokenId: trade.leg?.tokenId ?? null,
  outcome: trade.leg?.outcome ?? null,
})

/** What records a market. */
interface RecordingParts {
  readonly trades: TradeDeduplicator
  readonly lastPrices: ReadonlyMap<string, LatestBefore<string>>
  readonly candles: MarketCandleWriter
  readonly snapshots: MarketSnapshotWriter
}

/**
 * Thousands of them are held at a time, so they are objects of one shape without closures of their own; and most begin
 * hours later, so what records one is made when something of it is received.
 */
export class MarketRecorder implements MarketWindow {
  readonly startMs: number
  /** A contract's may move. */
  endMs: number
  readonly instruments: readonly string[]
  market: MarketInput
  readonly #options: MarketRecorderOptions
  #made: RecordingParts | undefined

  constructor(options: MarketRecorderOptions) {
    const { plan, market } = options
    const { startMs, endMs } = windowOf(market)
    this.startMs = startMs
    this.endMs = endMs
    this.market = market
    this.instruments = plan.hasTokens
      ? (market.tokens ?? []).map(({ tokenId }) => tokenId)
      : [market.marketId]
    this.#options = options
  }

  get sampler(): MarketSampler {
    return this.#parts.snapshots.sampler
  }

  /** Value of all known trades; only for markets with tokens. */
  get traded(): string {
    return this.#parts.trades.money
  }

  observe(observation: DataObservation): void {
    this.#parts.snapshots.observe(observation)
  }

  /** False for a trade that is known by its id. */
  trade(observation: TradeObservation): boolean {
    const verdict = checkMarketTrade(observation)
    if (verdict === 'empty') {
      this.#options.onEmptyTrade?.()
      return false
    }
    if (verdict === 'bad') {
      // An answer that makes no sense takes nothing away from what was received before.
      if (this.#parts.trades.has(observation)) return false
      // The store refuses it, so the candles that hold it cannot be right.
      this.#parts.candles.refuseAt(observation)
    } else if (!this.#count(observation)) return false
    const { source, symbol, marketId } = this.market
    this.#options.writer.put(feedOf('trades', source, symbol), [marketTradeRow(observation, marketId)])
    return true
  }

  /** Writes a trade that is counted later. */
  put(observation: TradeObservation): void {
    if (checkMarketTrade(observation) !== 'good') return
    const { source, symbol, marketId } = this.market
    this.#options.writer.put(feedOf('trades', source, symbol), [marketTradeRow(observation, marketId)])
  }

  /** A trade that is stored already; it is not counted again if its candle is known. */
  known(observation: TradeObservation, isInCandle: boolean): void {
    if (isInCandle) this.#parts.trades.add(observation, true)
    else this.#count(observation, true)
  }

  /** A candle of 5m that is known already. */
  fix(instrument: string, candle: MarketCandle, isWhole: boolean): void {
    this.#parts.candles.fix(instrument, candle, isWhole)
  }

  /** A midpoint that was requested afterwards. */
  mid({ instrument, venueTimeMs: timeMs, price }: MidObservation): void {
    this.#parts.candles.mid(instrument, { timeMs, price })
  }

  /** Puts the candles that have changed or ended. */
  show(nowMs: number): void {
    this.#made?.candles.show(nowMs)
  }

  #count(observation: TradeObservation, isStored = false): boolean {
    const { trades, candles, lastPrices } = this.#parts
    if (!trades.add(observation, isStored)) return false
    candles.trade(observation)
    const { instrument, price, venueTimeMs: timeMs } = observation
    if (observation.isBlock !== true) lastPrices.get(instrument)?.received(timeMs, price)
    return true
  }

  get #parts(): RecordingParts {
    this.#made ??= this.#make()
    return this.#made
  }

  #make(): RecordingParts {
    const { plan, writer, referencePrice, booksReceivedToMs } = this.#options
    const lastPrices = new Map(this.instruments.map((each) => [each, new LatestBefore<string>()]))
    const parts = { plan, instruments: this.instruments, market: () => this.market, window: this, writer }
    const candles = new MarketCandleWriter(parts)
    const snapshots = new MarketSnapshotWriter({
      ...parts,
      lastPrice: (instrument, timeMs) => lastPrices.get(instrument)?.at(timeMs) ?? null,
      referencePrice,
      booksReceivedToMs,
      onMid: (instrument, sample) => candles.mid(instrument, sample),
    })
    return { trades: new TradeDeduplicator(plan.hasTokens), lastPrices, candles, snapshots }
  }
}
