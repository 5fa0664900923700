/** One prediction market: its books become snapshots, its trades become trades and candles. */
import type { MarketCandle } from '../../core/market-candles.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { TradeInput } from '../../core/rows/trade.ts'
import type { DataObservation, MidObservation, TradeObservation } from '../../venues/observation.ts'
import { checkMarketTrade } from '../shared/check-trade.ts'
import { feedOf } from '../shared/feeds.ts'
import { sequenceOf } from '../shared/sequence.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { StoredCandle } from './build-market-candles.ts'
import { TradeDeduplicator } from './deduplicate-trades.ts'
import { LatestBefore } from './latest-before.ts'
import type { PredictionPlan } from './market-feeds.ts'
import { type MarketWindow, windowOf } from './market-times.ts'
import type { MarketSampler } from './sample-market.ts'
import { MarketCandleWriter } from './write-market-candles.ts'
import { type LastTrade, MarketSnapshotWriter } from './write-market-snapshots.ts'

interface MarketRecorderOptions {
  readonly plan: PredictionPlan
  readonly market: MarketInput
  readonly writer: RowWriter
  /** The price of the asset at an instant. */
  readonly referencePrice: (timeMs: number) => string | null
  /** Until when the books of all markets of the symbol were received. */
  readonly booksReceivedToMs: () => number
  /** Called when a trade of size 0 is left out. */
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

/** Volumes have two decimals. */
function missingOf(volume: MarketInput['volume'], size: number): number {
  const missing = volume == null ? 0 : Number(volume) - size
  return Math.max(0, Math.round(missing * 100) / 100)
}

/** The parts that record a market. */
interface RecordingParts {
  readonly trades: TradeDeduplicator
  readonly lastTrades: ReadonlyMap<string, LatestBefore<LastTrade>>
  readonly candles: MarketCandleWriter
  readonly snapshots: MarketSnapshotWriter
  /** Trades that were only put so far. */
  readonly put: Set<string>
  /** Stored trades that are counted once the venue shows whether they set a price. */
  readonly unmarked: Map<string, TradeObservation>
}

/**
 * Thousands of recorders are held at a time, so they are objects of one shape without closures. Most markets begin
 * hours later, so the parts that record one are created when something of it is received.
 */
export class MarketRecorder implements MarketWindow {
  readonly startMs: number
  /** The end of a market may move. */
  endMs: number
  readonly instruments: readonly string[]
  market: MarketInput
  readonly #options: MarketRecorderOptions
  #made: RecordingParts | undefined
  #listedVolume: MarketInput['volume']
  #listedMs = 0
  #missedToMs = Number.NEGATIVE_INFINITY

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

  /**
   * How many pieces the venue counts beyond those of the known trades up to an instant, that of its count: later trades
   * would hide that earlier ones are missing. Only if it counts pieces.
   */
  lackingTo(timeMs: number): number {
    return missingOf(this.market.volume, this.#parts.trades.sizeTo(timeMs))
  }

  /** The same for the volume that was listed before the first trade was counted. */
  get lackingListed(): number {
    return missingOf(this.#listedVolume, this.#parts.trades.sizeTo(this.#listedMs))
  }

  /** Trades are counted from here on; the current volume comes from a list that was received at this instant. */
  countFrom(listedMs: number): void {
    this.#listedVolume = this.market.volume
    this.#listedMs = listedMs
  }

  observe(observation: DataObservation): void {
    this.#parts.snapshots.observe(observation)
  }

  /** Trades before this instant may have been lost. */
  missedTrades(toMs: number): void {
    this.#missedToMs = Math.max(this.#missedToMs, toMs)
  }

  /** Returns false for a trade that is already counted, or has size 0. */
  trade(observation: TradeObservation): boolean {
    let recorded = observation
    const verdict = checkMarketTrade(observation)
    const unmarked = this.#made?.unmarked.get(observation.id)
    if (verdict === 'good' && unmarked !== undefined) {
      this.#parts.unmarked.delete(observation.id)
      this.#countAdded(observation.isBlock === true ? { ...unmarked, isBlock: true } : unmarked)
      return true
    }
    if (verdict === 'empty') {
      this.#options.onEmptyTrade?.()
      return false
    }
    if (verdict === 'bad') {
      // An invalid answer must not take away a trade that was received before.
      if (this.#parts.trades.has(observation)) return false
      // The store refuses the trade, so the candles that contain it cannot be right.
      this.#parts.candles.refuseAt(observation)
    } else {
      const counted = this.#count(observation)
      if (counted === undefined) return false
      recorded = counted
    }
    const { source, symbol, marketId } = this.market
    this.#options.writer.put(feedOf('trades', source, symbol), [marketTradeRow(recorded, marketId)])
    return true
  }

  /** Writes a trade that will be counted later. */
  put(observation: TradeObservation): void {
    if (checkMarketTrade(observation) !== 'good') return
    this.#parts.put.add(observation.id)
    const { instrument, price, venueTimeMs: timeMs } = observation
    if (observation.isBlock !== true)
      this.#parts.lastTrades.get(instrument)?.received(timeMs, { timeMs, price })
    const { source, symbol, marketId } = this.market
    this.#options.writer.put(feedOf('trades', source, symbol), [marketTradeRow(observation, marketId)])
  }

  /** Takes a trade that is already stored; it is not counted again if its candle is known. */
  known(observation: TradeObservation, isInCandle: boolean): void {
    if (isInCandle) this.#parts.trades.add(observation)
    else this.#count(observation)
  }

  hasPut(tradeId: string): boolean {
    return this.#made?.put.has(tradeId) === true
  }

  /** Takes a stored trade of which it is not known whether it was negotiated away from the book and sets no price. */
  unmarked(observation: TradeObservation): void {
    if (this.#parts.trades.add(observation) !== undefined)
      this.#parts.unmarked.set(observation.id, observation)
  }

  /** The venue has sent all trades before an instant, so the others set a price. Returns whether there are any. */
  countUnmarked(beforeMs: number): boolean {
    const unmarked = this.#made?.unmarked.values().filter(({ venueTimeMs }) => venueTimeMs < beforeMs)
    const due = [...(unmarked ?? [])]
    for (const trade of due) {
      this.#parts.unmarked.delete(trade.id)
      this.#countAdded(trade)
    }
    return due.length > 0
  }

  /** Sets a 5m candle that is already known. */
  fix(instrument: string, candle: MarketCandle, isWhole: boolean, stored: StoredCandle = {}): void {
    const { candles, lastTrades } = this.#parts
    candles.fix(instrument, candle, isWhole, stored)
    // The volume of a contract may be that of trades without a price.
    const knownMs = this.#options.plan.hasTokens ? candle.openTimeMs : undefined
    const closeMs = stored.closeMs ?? knownMs
    if (candle.basis === 'trade' && closeMs !== undefined)
      lastTrades.get(instrument)?.received(closeMs, { timeMs: closeMs, price: candle.close })
  }

  /** Takes a midpoint that was requested afterwards. */
  mid({ instrument, venueTimeMs: timeMs, price }: MidObservation): void {
    this.#parts.candles.mid(instrument, { timeMs, price })
  }

  /** Puts the candles that have changed or ended. */
  show(nowMs: number): void {
    this.#made?.candles.show(nowMs)
  }

  /** Returns the trade under its final id, or undefined if it is already counted. */
  #count(observation: TradeObservation): TradeObservation | undefined {
    const added = this.#parts.trades.add(observation)
    if (added !== undefined) this.#countAdded(added)
    return added
  }

  #countAdded(observation: TradeObservation): void {
    const { candles, lastTrades } = this.#parts
    candles.trade(observation)
    const { instrument, price, venueTimeMs: timeMs } = observation
    if (observation.isBlock !== true) lastTrades.get(instrument)?.received(timeMs, { timeMs, price })
  }

  get #parts(): RecordingParts {
    this.#made ??= this.#make()
    return this.#made
  }

  #make(): RecordingParts {
    const { plan, writer, referencePrice, booksReceivedToMs } = this.#options
    const lastTrades = new Map(this.instruments.map((each) => [each, new LatestBefore<LastTrade>()]))
    const parts = { plan, instruments: this.instruments, market: () => this.market, window: this, writer }
    const candles = new MarketCandleWriter(parts)
    const snapshots = new MarketSnapshotWriter({
      ...parts,
      lastTrade: (instrument, timeMs) => lastTrades.get(instrument)?.at(timeMs),
      missedToMs: () => this.#missedToMs,
      referencePrice,
      booksReceivedToMs,
      onMid: (instrument, sample) => candles.mid(instrument, sample),
    })
    const trades = new TradeDeduplicator(plan.hasTokens)
    return { trades, lastTrades, candles, snapshots, put: new Set(), unmarked: new Map() }
  }
}
