/** One prediction market: its books become snapshots, its trades trades and candles. */
import type { Feed } from '../../core/feed.ts'
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import { anyMidOf, type MarketCandle, midOf } from '../../core/market-candles.ts'
import { composeUpDown, composeYesNo } from '../../core/market-snapshot.ts'
import type { OrderBook } from '../../core/order-book.ts'
import type { CandleInput, CandleMarket } from '../../core/rows/candle.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { RowError } from '../../core/rows/row-error.ts'
import type { UpDownSnapshotInput, YesNoSnapshotInput } from '../../core/rows/snapshot.ts'
import type {
  DataObservation,
  MarketTickerObservation,
  MidObservation,
  TradeObservation,
} from '../../venues/observation.ts'
import { checkMarketTrade } from '../shared/check-trade.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import { sequenceOf } from '../shared/sequence.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { createMarketCandleBuilder, type MarketCandleBuilder } from './build-market-candles.ts'
import { createTradeDeduplicator } from './deduplicate-trades.ts'
import { createLatestBefore } from './latest-before.ts'
import { type PredictionPlan, snapshotFeed } from './market-feeds.ts'
import { type MarketSampler, sampleMarket } from './sample-market.ts'

/** Books are sampled from so long before the window on: a market that has not begun is of little use. */
export const SAMPLE_BEFORE_MS = 60_000
/** A candle is closed so long after its end: trades arrive late, those on a chain later still. */
const CLOSE_AFTER_MS = 30_000

export interface MarketRecorder {
  readonly sampler: MarketSampler
  readonly startMs: number
  readonly endMs: number
  readonly instruments: readonly string[]
  market: MarketInput
  /** What was paid in all trades that are known; of markets with tokens. */
  readonly traded: string
  observe(observation: DataObservation): void
  /** False for a trade that is known by its id. */
  trade(observation: TradeObservation): boolean
  /** A trade that is stored already; with its candle known as a whole it is not counted again. */
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
  const { plan, writer } = options
  const { marketId, symbol, source } = options.market
  const tokens = options.market.tokens ?? []
  const startMs = options.market.startTime ?? 0
  const endMs = options.market.endTime ?? 0
  const instruments = plan.hasTokens ? tokens.map(({ tokenId }) => tokenId) : [marketId]
  const candles = new Map<string, MarketCandleBuilder>(
    instruments.map((each) => [each, createMarketCandleBuilder(plan.volume)]),
  )
  const trades = createTradeDeduplicator(plan.hasTokens)
  const lastPrices = new Map(instruments.map((each) => [each, createLatestBefore<string>()]))
  /** Candles that were shown open: written once more when they have ended. */
  const open = new Map<string, { instrument: string; interval: CandleInterval; openTimeMs: number }>()
  /** Candles with a trade that cannot be stored. */
  const broken = new Set<string>()
  const tradeFeed = feedOf('trades', source, symbol)
  const booksFeed = snapshotFeed(plan, symbol, options.market.marketType ?? '24h')
  const figures = createLatestBefore<Pick<MarketTickerObservation, 'lastPrice' | 'volume' | 'openInterest'>>()
  /** The books of the last row. */
  let sampled: readonly OrderBook[] = []

  const sampler = sampleMarket({
    instruments,
    receivedToMs: options.lastBookMs,
    onSample(gridMs, isCarried) {
      if (gridMs < startMs - SAMPLE_BEFORE_MS || gridMs > endMs) return false
      const books = instruments.flatMap((instrument) => sampler.book(instrument) ?? [])
      if (!isCarried && isSame(sampled, books)) return false
      const row = compose(gridMs)
      if (row === undefined) return false
      sampled = books.map((book) => book.copy())
      writer.put(booksFeed as Feed<'snapshots'>, [row])
      for (const instrument of instruments) sampleMid(instrument, gridMs)
      return true
    },
  })

  function compose(timeMs: number): UpDownSnapshotInput | YesNoSnapshotInput | undefined {
    const [first = '', second = ''] = instruments
    const book = sampler.book(first)
    if (book === undefined) return undefined
    const lastPrice = (instrument: string) => lastPrices.get(instrument)?.at(timeMs) ?? null
    if (!plan.hasTokens) {
      const known = figures.at(timeMs)
      return composeYesNo(timeMs, {
        ticker: marketId,
        book,
        lastPrice: lastPrice(first) ?? known?.lastPrice ?? null,
        volume: known?.volume ?? null,
        openInterest: known?.openInterest ?? null,
      })
    }
    const down = sampler.book(second)
    if (down === undefined) return undefined
    return composeUpDown(timeMs, {
      marketId,
      slug: recorder.market.slug ?? null,
      question: recorder.market.question ?? null,
      tokenUp: first,
      tokenDown: second,
      up: book,
      down,
      lastUp: lastPrice(first),
      lastDown: lastPrice(second),
      referencePrice: options.referencePrice(timeMs),
    })
  }

  function sampleMid(instrument: string, timeMs: number): void {
    const book = sampler.book(instrument)
    if (book === undefined) return
    // The middle of a wide book is no price of a token; for a contract the venue's own candles use it too.
    const price = (plan.hasTokens ? midOf : anyMidOf)(book.best('bids'), book.best('asks'))
    if (price !== null) candles.get(instrument)?.mid({ timeMs, price })
  }

  function count(observation: TradeObservation, isStored = false): boolean {
    if (!trades.add(observation, isStored)) return false
    const { instrument, price, size, venueTimeMs: timeMs } = observation
    candles
      .get(instrument)
      ?.trade({ timeMs, price, size, ...(observation.isBlock === true ? { isBlock: true } : {}) })
    if (observation.isBlock !== true) lastPrices.get(instrument)?.received(timeMs, price)
    return true
  }

  function candleOf(
    instrument: string,
    interval: CandleInterval,
    candle: MarketCandle,
    nowMs: number,
  ): CandleInput {
    const token = tokens.find(({ tokenId }) => tokenId === instrument)
    const closed = nowMs >= candle.openTimeMs + INTERVAL_MS[interval] + CLOSE_AFTER_MS
    const key = `${instrument}:${interval}:${candle.openTimeMs}`
    if (closed) open.delete(key)
    else open.set(key, { instrument, interval, openTimeMs: candle.openTimeMs })
    const { slug, question } = recorder.market
    const market: CandleMarket = {
      marketId,
      slug: slug ?? null,
      tokenId: token?.tokenId ?? null,
      outcome: token?.outcome ?? (plan.hasTokens ? null : 'yes'),
      question: question ?? null,
    }
    const { openTimeMs: time, high, low, close, volume } = candle
    return { time, open: candle.open, high, low, close, volume, closed, market }
  }

  function breakCandles({ instrument, venueTimeMs }: TradeObservation): void {
    for (const interval of COARSE_INTERVALS) {
      const openMs = candleStart(venueTimeMs, interval)
      broken.add(`${instrument}:${interval}:${openMs}`)
      refuse(interval, openMs)
    }
  }

  const refuse = (interval: CandleInterval, openMs: number) =>
    writer.refuse(
      candleFeed(plan.source, symbol, interval),
      openMs,
      new RowError('trades', 'one of them cannot be stored'),
    )

  function put(instrument: string, interval: CandleInterval, candle: MarketCandle, nowMs: number): void {
    if (broken.has(`${instrument}:${interval}:${candle.openTimeMs}`)) {
      refuse(interval, candle.openTimeMs)
      open.delete(`${instrument}:${interval}:${candle.openTimeMs}`)
      return
    }
    writer.put(candleFeed(plan.source, symbol, interval), [candleOf(instrument, interval, candle, nowMs)])
  }

  const recorder: MarketRecorder = {
    sampler,
    startMs,
    endMs,
    instruments,
    market: options.market,
    get traded() {
      return trades.money
    },
    observe(observation) {
      switch (observation.kind) {
        case 'book_snapshot':
          sampler.snapshot(observation)
          break
        case 'book_delta':
          sampler.change(observation)
          break
        case 'book_lost':
          sampler.lost(observation)
          sampled = []
          break
        case 'market_ticker':
          figures.received(observation.venueTimeMs, observation)
      }
    },
    trade(observation) {
      const verdict = checkMarketTrade(observation)
      if (verdict === 'empty') {
        options.onEmptyTrade?.()
        return false
      }
      // The store refuses it, so the candles that hold it cannot be right.
      if (verdict === 'bad') breakCandles(observation)
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
    fix(instrument, candle, isWhole) {
      candles.get(instrument)?.fix(candle, isWhole)
    },
    mid({ instrument, venueTimeMs: timeMs, price }) {
      candles.get(instrument)?.mid({ timeMs, price })
    },
    show(nowMs) {
      for (const [instrument, kept] of candles)
        for (const { interval, candle } of kept.take()) put(instrument, interval, candle, nowMs)
      for (const { instrument, interval, openTimeMs } of [...open.values()]) {
        if (nowMs < openTimeMs + INTERVAL_MS[interval] + CLOSE_AFTER_MS) continue
        const candle = candles.get(instrument)?.at(openTimeMs, interval)
        if (candle !== undefined) put(instrument, interval, candle, nowMs)
      }
    },
  }
  return recorder
}

function isSame(before: readonly OrderBook[], after: readonly OrderBook[]): boolean {
  return before.length === after.length && after.every((book, index) => before[index]?.equals(book))
}
