import { MARKET_TYPES, type MarketInput, type MarketType } from '../../core/rows/market.ts'
import type { MarketRow } from '../../core/rows/schemas.ts'
import type { Topic } from '../../venues/channel.ts'
import type { DoubtedTime } from '../../venues/doubted-time.ts'
import type { BookLostReason, DataObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { COVERAGE_MARGIN_MS } from '../shared/dispatch-observations.ts'
import { feedOf } from '../shared/feeds.ts'
import type { LiveRecorder } from '../shared/live-recorder.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { type BackfilledMarket, backfillTrades } from './backfill-trades.ts'
import { checkWindows, LISTED_WITHIN_MS, type WindowChecker } from './check-windows.ts'
import { closeEndedCandles, type EndedCandles } from './close-ended-candles.ts'
import { withReferences, withVolume } from './complete-market.ts'
import { DoubtedVolumes } from './doubted-volumes.ts'
import { FinalBooks } from './final-books.ts'
import { finalizeMarkets } from './finalize-markets.ts'
import type { RunningMarket } from './follow-unresolved-markets.ts'
import {
  type FollowedMarket,
  isDone,
  isUntraded,
  lackingOf,
  needsOwnSweep,
  tradesFinalMs,
} from './followed-market.ts'
import { candleFeeds, catalogueKey, snapshotFeed, windowsKey } from './market-feeds.ts'
import {
  firstTradeMs,
  followedRange,
  isListedWithAll,
  isRunning,
  lastTradeMs,
  mayHaveRows,
  SAMPLE_BEFORE_MS,
} from './market-times.ts'
import { mergeKnown } from './merge-market.ts'
import { ReceivedBooks } from './received-books.ts'
import { ReceivedTrades } from './received-trades.ts'
import { MarketRecorder } from './record-market.ts'
import { type OpenInterestRecorder, recordOpenInterest } from './record-open-interest.ts'
import { createReferencePrices, type ReferencePrices } from './reference-prices.ts'
import { createMarketRestorer, type MarketRestorer, type RestoreMarketsParts } from './restore-markets.ts'
import { SAMPLE_GRACE_MS } from './sample-market.ts'
import { SampledMarkets } from './sampled-markets.ts'

const SECOND_MS = 1_000
/** Reasons that mean that frames of the socket were lost. */
const LOST_FRAMES: ReadonlySet<BookLostReason> = new Set(['sequence_gap', 'frozen', 'silence', 'damaged'])
const FINALIZE_EVERY_MS = 10_000
/** Trades of tokens are listed with the whole second of their block, some seconds after they were streamed. */
const TOKEN_TRADES_APART_MS = 10_000
const BACKFILL_EVERY_MS = 15_000
const BACKFILL_AGAIN_MS = 60_000
/**
 * Books count as complete for this long after the last one was received. If the process ends during a silence that was
 * not noticed yet, the time of the silence is therefore not observed.
 */
const BOOKS_COMPLETE_FOR_MS = 10_000
/** By then the ticks around an instant have arrived. */
const TICKS_AFTER_MS = 3_000
/** By then the ticks are dropped (reference-prices.ts), so a price that was not found never will be. */
const TICKS_KEPT_MS = 30 * 60_000
const haveTicks = (timeMs: number, nowMs: number) =>
  nowMs >= timeMs + TICKS_AFTER_MS && nowMs < timeMs + TICKS_KEPT_MS

/** The time between two ends of a market, as far as it is over. */
const between = (oneMs: number, otherMs: number, nowMs: number): HistoryRange => ({
  fromMs: Math.min(oneMs, otherMs),
  toMs: Math.min(Math.max(oneMs, otherMs), nowMs),
})

export interface SymbolMarketsParts extends RestoreMarketsParts {
  readonly writer: RowWriter
  readonly tracker: CoverageTracker
}

export interface MarketsRecorder extends LiveRecorder {
  /** Takes a market of an earlier run. It does not count as a list of the current markets. */
  unresolved(market: MarketInput): void
  /** Whether the market was listed in this run. */
  isFollowed(marketId: string): boolean
  /** Markets of an earlier run that should be running, so lists that lack them are not whole. */
  expect(running: readonly RunningMarket[]): void
  /** Called when the unresolved markets of an earlier run were listed. */
  listedUnresolved(): void
  readonly size: number
  /** How often a window that should have been running was not listed. */
  readonly unlisted: number
  /** Trades of size 0, which were left out. */
  readonly emptyTrades: number
}

export function recordMarkets(parts: SymbolMarketsParts): MarketsRecorder {
  return new SymbolMarkets(parts)
}

class SymbolMarkets implements MarketsRecorder {
  readonly #parts: SymbolMarketsParts
  readonly #startedMs: number
  readonly #markets = new Map<string, FollowedMarket>()
  readonly #sampled: SampledMarkets
  readonly #restorer: MarketRestorer
  readonly #references: ReferencePrices
  readonly #interest: OpenInterestRecorder
  readonly #windows: WindowChecker
  readonly #endedCandles: EndedCandles
  readonly #books = new ReceivedBooks()
  readonly #finalBooks: FinalBooks
  readonly #trades: ReceivedTrades
  readonly #doubts = new DoubtedVolumes()
  readonly #unlisted = new Map<number, DoubtedTime>()
  /** Pseudo channels of all feeds that count as observed only while books are received. */
  readonly #receivedKeys: readonly string[]
  #hasListed = false
  #listedMs: number | undefined
  #hasUnresolved = false
  #emptyTrades = 0
  #nextBackfillMs = 0
  #backfills = 0
  #shownMs = 0
  #finalizedMs = 0
  /** All trades before this instant were final at some time. */
  #finalMs = 0

  constructor(parts: SymbolMarketsParts) {
    const { plan, symbol, store, writer, tracker, clock, signal } = parts
    this.#parts = parts
    this.#startedMs = clock.now()
    this.#receivedKeys = [...MARKET_TYPES.map((type) => windowsKey(symbol, type)), catalogueKey(symbol)]
    this.#restorer = createMarketRestorer(parts, (followed, stored) => this.#readStored(followed, stored))
    this.#sampled = new SampledMarkets(this.#markets)
    this.#references = createReferencePrices(plan.usualSettlement)
    this.#interest = recordOpenInterest({ plan, symbol, startedMs: this.#startedMs, writer, tracker })
    const shared = { plan, symbol, tracker, clock, markets: this.#markets }
    this.#finalBooks = new FinalBooks({ ...shared, series: store.series, interest: this.#interest, signal })
    this.#trades = new ReceivedTrades({ ...shared, startedMs: this.#startedMs, shownMs: () => this.#shownMs })
    this.#windows = checkWindows({
      symbol,
      endless: plan.endless,
      tracker: {
        ...tracker,
        failed: (...loss) => {
          // If the channel is already down, candles were shown when it went down.
          if (tracker.isUp(loss[0])) this.#showBeforeLoss()
          tracker.failed(...loss)
        },
      },
      markets: (atMs) => this.#sampled.at(atMs),
      feedOf: (type) => snapshotFeed(plan, symbol, type),
    })
    const isKept = (marketId: string) => this.#markets.has(marketId)
    this.#endedCandles = closeEndedCandles({
      plan,
      symbol,
      series: store.series,
      writer,
      clock,
      signal,
      isKept,
    })
    this.#limitCandles(0)
  }

  get size(): number {
    return this.#markets.size
  }

  get unlisted(): number {
    return this.#windows.unlisted
  }

  get emptyTrades(): number {
    return this.#emptyTrades
  }

  observe(observation: DataObservation): void {
    switch (observation.kind) {
      case 'market':
        this.#hasListed = true
        this.#receivedMarket(observation.market)
        this.#receivedFigures(observation)
        break
      case 'unread_markets':
        this.#windows.unread(observation.marketTypes, this.#parts.clock.now())
        break
      case 'trade':
        this.#trades.received(observation)
        break
      case 'swept':
        this.#trades.swept(observation.instrument)
        break
      case 'swept_to':
        void this.#trades.sweptTo(observation.toMs)
        break
      case 'trades_lost':
        this.#trades.lost(observation.fromMs, observation.toMs)
        this.#missedTrades(observation.toMs)
        break
      case 'reference_price':
        this.#references.receive(observation)
        break
      case 'open_interest':
        // Figures of a market that is not followed any more would be kept forever.
        if (this.#markets.has(observation.instrument)) this.#interest.received(observation)
        // Arrives with every list, even if nothing of the market has changed.
        if (observation.isListed) this.#receivedFigures(observation)
        break
      case 'figures_lost':
        this.#interest.missedOf(observation.instrument)
        break
      case 'book_snapshot':
      case 'book_delta':
      case 'book_lost':
        this.#markets.get(observation.leg?.marketId ?? observation.instrument)?.recorder.observe(observation)
        if (observation.kind !== 'book_lost') this.#books.received(observation.receivedMs)
        // Figures have no numbers; if a book lost a frame of its socket, figures may have been lost too.
        else if (LOST_FRAMES.has(observation.reason)) this.#interest.doubted()
        break
      case 'market_ticker':
        this.#markets.get(observation.instrument)?.recorder.observe(observation)
    }
  }

  unresolved(market: MarketInput): void {
    this.#receivedMarket(market)
  }

  isFollowed(marketId: string): boolean {
    return this.#markets.has(marketId)
  }

  expect(running: readonly RunningMarket[]): void {
    this.#finalBooks.expect(running)
  }

  listedUnresolved(): void {
    this.#hasUnresolved = true
  }

  answered(topic: Topic, atMs: number): void {
    if (topic === 'markets') this.#listedMs = atMs
  }

  gap(_topic: Topic, fromMs: number): void {
    if (Number.isFinite(fromMs)) this.#showBeforeLoss()
  }

  begins(topic: Topic, atMs: number): void {
    if (topic === 'open_interest') this.#interest.doubted()
    if (topic === 'trades') this.#missedTrades(atMs)
  }

  doubted(topic: Topic): void {
    if (topic === 'open_interest') this.#interest.doubted()
  }

  show(nowMs: number, receivedToMs: number): void {
    const { plan } = this.#parts
    if (nowMs - this.#shownMs >= plan.publishEveryMs)
      this.#showCandles(nowMs, receivedToMs - COVERAGE_MARGIN_MS)
    // Applies before the first book too: a subscription that never sent one proves nothing, but retracts nothing of
    // earlier runs.
    const completeToMs = Math.max(this.#startedMs, this.#books.lastMs + BOOKS_COMPLETE_FOR_MS)
    for (const key of this.#receivedKeys) this.#parts.tracker.limitChannel(key, completeToMs)
    for (const followed of this.#markets.values()) {
      if (plan.hasTokens && followed.isReady) this.#complete(followed, nowMs)
      if (!isDone(followed, nowMs)) continue
      const { marketId } = followed.recorder.market
      this.#markets.delete(marketId)
      this.#sampled.changed()
      this.#interest.drop(marketId)
    }
    if (plan.hasOpenInterest) this.#interest.show(nowMs, (timeMs) => this.#openAt(timeMs, nowMs))
  }

  sample(nowMs: number): void {
    for (const { sampler } of this.#sampled.at(nowMs)) sampler.tick(nowMs)
  }

  judge(nowMs: number): void {
    if (!this.#hasListed || this.#listedMs === undefined) return
    const before = this.#windows.unlisted
    this.#windows.judge(nowMs, this.#listedMs)
    const { log, symbol } = this.#parts
    if (this.#windows.unlisted > before)
      log.warn({ symbol }, 'the venue lists no window where one should run')
  }

  async close(nowMs: number): Promise<void> {
    const { plan, symbol, store, writer, clock, signal } = this.#parts
    await this.#backfill(nowMs)
    if (nowMs - this.#finalizedMs < FINALIZE_EVERY_MS) return
    this.#finalizedMs = nowMs
    if (this.#hasListed && this.#hasUnresolved) await this.#endedCandles.close(nowMs)
    const tradesMs = this.#tradesFinalMs(nowMs)
    this.#finalMs = Math.max(this.#finalMs, tradesMs)
    // Contracts of an earlier run may have closed before their listed time, or be missing in the lists.
    const isReading = !plan.hasTokens && (this.#restorer.isReading || !this.#hasUnresolved)
    const booksMs = isReading ? 0 : this.#finalBooks.advance(nowMs, this.#listedMs)
    finalizeMarkets({
      plan,
      symbol,
      writer,
      series: store.series,
      booksMs,
      tradesMs,
      closedTo: this.#endedCandles.closedTo,
    })
    await clock.sleep(SECOND_MS, signal)
  }

  #missedTrades(toMs: number): void {
    for (const { recorder } of this.#markets.values()) recorder.missedTrades(toMs)
  }

  /** Candles were last shown seconds ago, and a loss ends their coverage, so they are shown up to the loss first. */
  #showBeforeLoss(): void {
    const { writer, clock } = this.#parts
    if (writer.stats().failure !== null) return
    const nowMs = clock.now()
    this.sample(nowMs)
    this.#showCandles(nowMs, nowMs - SAMPLE_GRACE_MS)
  }

  #showCandles(nowMs: number, completeToMs: number): void {
    this.#shownMs = nowMs
    for (const { recorder, isReady } of this.#markets.values()) if (isReady) recorder.show(nowMs)
    this.#limitCandles(completeToMs)
  }

  /** Streamed midpoints cannot be requested again, so candles are observed no further than they were shown. */
  #limitCandles(shownToMs: number): void {
    const { plan, symbol, tracker } = this.#parts
    let toMs = shownToMs
    for (const { isReady, window, followedMs } of this.#markets.values())
      if (!isReady && followedMs < window.endMs) toMs = Math.min(toMs, followedMs)
    for (const feed of candleFeeds(plan, symbol)) tracker.limit(feed, toMs)
    // Gaps of candles are closed with those of the trades, so both begin at the same instant.
    if (plan.hasTokens) tracker.limit(feedOf('trades', plan.source, symbol), toMs)
  }

  #receivedMarket(seen: MarketInput): void {
    const before = this.#markets.get(seen.marketId)
    const followed = before === undefined || this.#hasTokensNow(before, seen) ? this.#follow(seen) : before
    const { recorder } = followed
    if (before !== undefined) recorder.market = before.recorder.market
    recorder.market = mergeKnown(seen, recorder.market)
    followed.hasVolume = seen.volume != null
    const { plan, clock, catalogue } = this.#parts
    const endMs = seen.endTime ?? recorder.endMs
    if (endMs !== recorder.endMs) this.#moveEnd(followed, endMs)
    if (isListedWithAll(plan, followed.window, clock.now()))
      this.#windows.knows(recorder.market.marketType ?? null, followed.firstEndMs)
    if (followed.isReady) catalogue.put(recorder.market)
  }

  #receivedFigures({ instrument, receivedMs }: DataObservation): void {
    const followed = this.#markets.get(instrument)
    if (followed !== undefined) followed.figuresMs = Math.max(followed.figuresMs, receivedMs)
  }

  /**
   * A market closes later than first listed, or earlier. It was not sampled between its old end and now, or was
   * sampled although it had closed; whatever is final of that time stays as it is.
   */
  #moveEnd(followed: FollowedMarket, endMs: number): void {
    const { recorder } = followed
    const nowMs = this.#parts.clock.now()
    const missed = between(recorder.endMs, endMs, nowMs)
    recorder.endMs = endMs
    this.#sampled.changed()
    if (endMs > nowMs)
      followed.ready = followed.ready.then(() => {
        followed.isSwept = false
      })
    this.#finalBooks.missed(recorder.market.marketType ?? null, missed)
  }

  /** The end of a market moved while nothing was recorded, or after the last list that an earlier run received. */
  async #readStored({ recorder, followedMs }: FollowedMarket, stored: MarketRow): Promise<void> {
    const { market_type: storedType, end_time: endTime } = stored
    const type = (storedType ?? recorder.market.marketType ?? null) as MarketType | null
    if (endTime === null) return
    await this.#finalBooks.known
    this.#finalBooks.missed(type, between(Date.parse(endTime), recorder.endMs, followedMs))
  }

  /**
   * A market may be listed without its tokens just after its creation; its recorder starts again when they are known.
   */
  #hasTokensNow({ recorder }: FollowedMarket, seen: MarketInput): boolean {
    return this.#parts.plan.hasTokens && recorder.instruments.length === 0 && (seen.tokens?.length ?? 0) > 0
  }

  #follow(market: MarketInput): FollowedMarket {
    const { plan, writer, clock } = this.#parts
    const recorder: MarketRecorder = new MarketRecorder({
      plan,
      market,
      writer,
      referencePrice: (timeMs) => this.#references.before(recorder.market, timeMs),
      booksReceivedToMs: () => this.#books.toMs(clock.now()),
      onEmptyTrade: () => {
        this.#emptyTrades += 1
      },
    })
    const nowMs = clock.now()
    recorder.missedTrades(nowMs)
    const hasPast = mayHaveRows(plan, recorder, { startedMs: this.#startedMs, nowMs })
    const followed: FollowedMarket = {
      recorder,
      followedMs: nowMs,
      firstEndMs: recorder.endMs,
      figuresMs: 0,
      hasVolume: false,
      window: recorder,
      // A market that is listed again because of an old gap was swept before.
      isListedLate:
        recorder.endMs >= this.#startedMs &&
        recorder.endMs < nowMs &&
        lastTradeMs(plan, recorder) > this.#finalMs,
      ready: Promise.resolve(),
      isReady: !hasPast,
      isRestored: !hasPast,
      isSwept: false,
    }
    this.#markets.set(market.marketId, followed)
    this.#sampled.changed()
    this.#lostBeforeListed(recorder, nowMs)
    if (hasPast)
      followed.ready = this.#restorer
        .restore(followed)
        .then(() => this.#restoredType(followed, market.marketType))
    return followed
  }

  /** A market that a list left out at first is already running: its trades were not streamed, and sums lack it. */
  #lostBeforeListed({ startMs, endMs }: MarketRecorder, nowMs: number): void {
    const { plan, symbol, tracker } = this.#parts
    if (this.#listedMs === undefined || startMs >= nowMs || endMs <= nowMs) return
    const sinceMs = Math.max(startMs, this.#startedMs)
    tracker.unproven(feedOf('trades', plan.source, symbol), Math.max(sinceMs, this.#finalMs), nowMs)
    if (!plan.hasOpenInterest) return
    // At the instant at which a contract opens, it has no open interest.
    const missedMs = sinceMs === startMs ? startMs + 1 : sinceMs
    this.#interest.missed(Math.max(missedMs, this.#finalBooks.beforeMs), nowMs)
  }

  /** The end of a contract moved in an earlier run, so until now this run sampled it under another duration. */
  #restoredType({ recorder, followedMs }: FollowedMarket, before: MarketInput['marketType']): void {
    const { plan, symbol, tracker, clock } = this.#parts
    const type = recorder.market.marketType
    if (type == null || before == null || type === before) return
    tracker.lost(snapshotFeed(plan, symbol, type), followedMs, clock.now(), 'not_observed')
  }

  /** `nowMs` is later: a contract whose end is over by then may have closed since. */
  #openAt(timeMs: number, nowMs: number): string[] {
    const open: string[] = []
    for (const { recorder } of this.#markets.values())
      if (isRunning(recorder, timeMs) && (recorder.market.status === 'open' || recorder.endMs <= nowMs))
        open.push(recorder.market.marketId)
    return open
  }

  /** Adds what the venue leaves out of a market. */
  #complete({ recorder, isSwept, isRestored }: FollowedMarket, nowMs: number): void {
    const { market, startMs, endMs } = recorder
    const isUnpriced =
      (market.referencePriceStart == null && haveTicks(startMs, nowMs)) ||
      (market.referencePriceEnd == null && haveTicks(endMs, nowMs))
    if (!isUnpriced && !isSwept) return
    const priceAt = (timeMs: number) =>
      nowMs < timeMs + TICKS_AFTER_MS ? null : this.#references.at(market, timeMs)
    const priced = withReferences(market, { start: () => priceAt(startMs), end: () => priceAt(endMs) })
    const completed = isSwept && isRestored ? withVolume(priced, () => recorder.traded) : priced
    if (completed === market) return
    recorder.market = completed
    this.#parts.catalogue.put(completed)
  }

  async #backfill(nowMs: number): Promise<void> {
    const listedMs = this.#listedMs
    if (!this.#hasUnresolved || listedMs === undefined || nowMs < this.#nextBackfillMs) return
    // Empty lists after a start do not prove that nothing was traded in the gaps of an earlier run.
    if (!this.#hasListed) return
    if (nowMs - listedMs > LISTED_WITHIN_MS) return
    this.#nextBackfillMs = nowMs + BACKFILL_EVERY_MS
    const { plan, symbol, venue, store, tracker, clock, log, signal } = this.#parts
    try {
      await backfillTrades({
        feed: feedOf('trades', plan.source, symbol),
        candleFeeds: candleFeeds(plan, symbol),
        hasMids: plan.hasTokens,
        symbol,
        venue,
        coverage: store.coverage,
        tracker,
        listedMs,
        isKnownTo: (toMs) => this.#windows.isKnownTo(toMs),
        listedApartMs: plan.hasTokens ? TOKEN_TRADES_APART_MS : 0,
        endless: plan.endless,
        doubts: this.#doubts,
        unlisted: this.#unlisted,
        turn: this.#backfills++,
        nowMs,
        signal,
        onMarket: (market) => this.#receivedMarket(market),
        markets: () => [...this.#markets.values()].map((followed) => this.#toBackfill(followed)),
      })
    } catch (error) {
      if (signal.aborted) throw error
      this.#nextBackfillMs = clock.now() + BACKFILL_AGAIN_MS
      log.warn({ symbol, err: error }, 'missed trades could not be requested yet')
    }
  }

  #toBackfill(followed: FollowedMarket): BackfilledMarket {
    const { recorder, window, isSwept } = followed
    const { plan, clock } = this.#parts
    return {
      market: recorder.market,
      traded: followedRange(plan, window),
      firstMs: firstTradeMs(plan, window),
      needsOwnSweep: needsOwnSweep(followed, this.#startedMs),
      isUntraded: (toMs) => !plan.hasTokens && followed.hasVolume && isUntraded(followed, toMs),
      isSwept,
      unproven: followed.unproven,
      lacking: () => lackingOf(plan, followed, this.#restorer.recordedFromMs),
      lackingListed: () => recorder.lackingListed,
      proven: (isComplete) => this.#trades.proven(followed, isComplete),
      swept: () => this.#trades.swept(recorder.market.marketId),
      trade: (observation) => this.#trades.received(observation),
      priced: { fromMs: window.startMs - SAMPLE_BEFORE_MS, toMs: window.endMs },
      mid: (observation) => recorder.mid(observation),
      show: () => recorder.show(clock.now()),
      ready: () => followed.ready,
    }
  }

  /** Nothing is final before the markets have been listed. */
  #tradesFinalMs(nowMs: number): number {
    if (!this.#hasListed || !this.#hasUnresolved) return 0
    return tradesFinalMs({
      markets: this.#markets.values(),
      sweptToMs: this.#trades.sweptToMs,
      hasEarlierRun: this.#restorer.hasEarlierRun,
      startedMs: this.#startedMs,
      nowMs,
      firstTradeMs: (window) => firstTradeMs(this.#parts.plan, window),
    })
  }
}
