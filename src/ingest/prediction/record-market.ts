/** One prediction market: its books become snapshots, its trades trades and candles. */
import type { MarketCandle } from '../../core/market-candles.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { DataObservation, MidObservation, TradeObservation } from '../../venues/observation.ts'
import { checkMarketTrade } from '../shared/check-trade.ts'
import { feedOf } from '../shared/feeds.ts'
import { sequenceOf } from '../shared/sequence.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { createTradeDeduplicator } from './deduplicate-trades.ts'
import { createLatestBefore } from './latest-before.ts'
import type { PredictionPlan } from './market-feeds.ts'
import { type MarketWindow, windowOf } from './market-times.ts'
import type { MarketSampler } from './sample-market.ts'
import { createMarketCandleWriter } from './write-market-candles.ts'
import { createMarketSnapshotWriter } from './write-market-snapshots.ts'

export interface MarketRecorder extends MarketWindow {
  readonly sampler: MarketSampler
  readonly instruments: readonly string[]
  market: MarketInput
  /** Value of all known trades; only for markets with tokens. */
  readonly traded: string
  observe(observation: DataObservation): void
  /** False for a trade that is known by its id. */
  trade(observation: TradeObservation): boolean
  /** A trade that is stored already; it is not counted again if its candle is known. */
  known(observation: TradeObservation, isInCandle: boolean): void
  /** A candle of 5m that is known already. */
  fix(instrument: string, candle: MarketCandle, isWhole: boolean): void
  /** A midpoint that was requested afterwards. */
  mid(observation: MidObservation): void
  /** Puts the candles that have changed or ended. */
  show(nowMs: number): void
}

export function recordMarket(options: {
  plan: PredictionPlan
  market: MarketInput
  writer: RowWriter
  /** The price of the asset at an instant. */
  referencePrice: (timeMs: number) => string | null
  /** When a book of any market of the symbol was last received. */
  lastBookMs: () => number
  /** A trade of size 0 was left out. */
  onEmptyTrade?: () => void
}): MarketRecorder {
  const { plan, writer, referencePrice, lastBookMs } = options
  const { marketId, symbol, source, tokens } = options.market
  const instruments = plan.hasTokens ? (tokens ?? []).map(({ tokenId }) => tokenId) : [marketId]
  const trades = createTradeDeduplicator(plan.hasTokens)
  const lastPrices = new Map(instruments.map((each) => [each, createLatestBefore<string>()]))
  const tradeFeed = feedOf('trades', source, symbol)
  let market = options.market
  const parts = { plan, instruments, market: () => market, writer }
  const candles = createMarketCandleWriter(parts)
  const snapshots = createMarketSnapshotWriter({
    ...parts,
    lastPrice: (instrument, timeMs) => lastPrices.get(instrument)?.at(timeMs) ?? null,
    referencePrice,
    lastBookMs,
    onMid: candles.mid,
  })

  function count(observation: TradeObservation, isStored = false): boolean {
    if (!trades.add(observation, isStored)) return false
    candles.trade(observation)
    const { instrument, price, venueTimeMs: timeMs } = observation
    if (observation.isBlock !== true) lastPrices.get(instrument)?.received(timeMs, price)
    return true
  }

  return {
    ...windowOf(options.market),
    sampler: snapshots.sampler,
    instruments,
    get market() {
      return market
    },
    set market(known) {
      market = known
    },
    get traded() {
      return trades.money
    },
    observe: snapshots.observe,
    trade(observation) {
      const verdict = checkMarketTrade(observation)
      if (verdict === 'empty') {
        options.onEmptyTrade?.()
        return false
      }
      // The store refuses it, so the candles that hold it cannot be right.
      if (verdict === 'bad') candles.refuseAt(observation)
      else if (!count(observation)) return false
      const { leg } = observation
      writer.put(tradeFeed, [
        {
          time: observation.venueTimeMs,
          seq: sequenceOf(observation.id),
          tradeId: observation.id,
          price: observation.price,
          size: observation.size,
          side: observation.side,
          marketId,
          tokenId: leg?.tokenId ?? null,
          outcome: leg?.outcome ?? null,
        },
      ])
      return true
    },
    known(observation, isInCandle) {
      if (isInCandle) trades.add(observation, true)
      else count(observation, true)
    },
    fix: candles.fix,
    mid: ({ instrument, venueTimeMs: timeMs, price }) => candles.mid(instrument, { timeMs, price }),
    show: candles.show,
  }
}
