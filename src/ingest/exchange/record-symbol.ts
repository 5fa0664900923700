/**
 * Records one symbol of one exchange: observations in, rows out. A separate part handles each kind of row; this class
 * passes observations, gaps and the ticks of the live run to them.
 *
 *   candle ──▶ minutes, seconds · aggregate_trade ──▶ follower ──▶ seconds, flow · trade ──▶ trades, seconds
 *   funding, open_interest ──▶ derivatives · best_bid_ask ──▶ ticker · exchange_book ──▶ books
 */
import type { Feed } from '../../core/feed.ts'
import type { RowInputs } from '../../core/rows/row-kinds.ts'
import type { CoverageStore } from '../../store/coverage.ts'
import type { Topic } from '../../venues/channel.ts'
import type {
  AggregateTradeObservation,
  DataObservation,
  ExchangeBookObservation,
  LiquidationObservation,
  TradeObservation,
} from '../../venues/observation.ts'
import { checkTrade } from '../shared/check-trade.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import type { LiveRecorder } from '../shared/live-recorder.ts'
import { sequenceOf } from '../shared/sequence.ts'
import { DerivativesProgress } from './await-derivatives.ts'
import { tradeFact } from './backfill-trade-candles.ts'
import { candleOfKline } from './candle.ts'
import { closeCountedSeconds } from './close-counted-seconds.ts'
import { closeFlow, type FlowCloser } from './close-flow.ts'
import { closeMinutes, type FinalBefore, type MinuteCloser } from './close-minutes.ts'
import { closeNumberedSeconds } from './close-numbered-seconds.ts'
import type { SecondCloser } from './close-seconds.ts'
import { closeVenueSeconds } from './close-venue-seconds.ts'
import { followTrades, type TradeFollower } from './follow-trades.ts'
import { observeStreamed, type StreamedFeeds } from './observe-streamed.ts'
import { proveMinutes } from './prove-minutes.ts'
import { fundingRow, putFunding } from './request-derivatives.ts'
import type { UnclosedTrades } from './resume.ts'
import { type BookSampler, sampleBook } from './sample-book.ts'
import { TickerSampler } from './sample-ticker.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MAX_PAUSE_MS = 8_000
/** Full books come about every 5.4 s, and two of them may be late. */
const BOOK_STALE_MS = 12_000
const BOOK_GRACE_MS = 1_500
/** Rows that are never requested again become final after this time. */
const SETTLED_AFTER_MS = 60_000

interface SymbolRecorderOptions {
  /** Live recording starts here; everything before comes from the backfill. */
  readonly fromMs: number
  readonly onError: (error: unknown) => void
  readonly finalBefore?: FinalBefore
  /** Trades of the previous run whose seconds are not closed. */
  readonly left?: UnclosedTrades | undefined
}

export class SymbolRecorder implements LiveRecorder {
  private readonly parts: SymbolParts
  private readonly feeds: ReturnType<typeof feedsOf>
  private readonly hasNumberedSeconds: boolean
  /** Trades of the previous run, as `time:id`. */
  private readonly left: ReadonlySet<string>
  private readonly follower: TradeFollower | undefined
  private readonly derivatives: DerivativesProgress
  private readonly minutes: MinuteCloser
  private readonly seconds: SecondCloser
  private readonly flow: FlowCloser | undefined
  private readonly books = sampleBook({ staleAfterMs: BOOK_STALE_MS, graceMs: BOOK_GRACE_MS })
  private readonly ticker = new TickerSampler()
  private readonly streamed: StreamedFeeds
  private hasBegun = false
  /** When the next minutes were last found unpublished; they are requested again after `pauseMs`. */
  private pausedMs = Number.NEGATIVE_INFINITY
  private pauseMs = SECOND_MS
  /**
   * When each kind of observation was last received. The silence since then may be an undetected fault, and data that
   * such a fault would retract must not become final.
   */
  private readonly receivedMs = new Map<DataObservation['kind'], number>()

  constructor(parts: SymbolParts, options: SymbolRecorderOptions) {
    const { plan, venue, symbol, clock, signal } = parts
    const { fromMs, onError } = options
    this.parts = parts
    this.feeds = feedsOf(parts)
    this.hasNumberedSeconds = plan.secondsFrom === 'aggregate_trades'
    this.left = new Set(options.left?.trades.map(({ timeMs, id }) => `${timeMs}:${id}`))
    const follower =
      plan.hasFlow || this.hasNumberedSeconds
        ? followTrades({
            ...{ venue, symbol, clock, signal, onError },
            onTrade: (trade) => this.takeNumbered(trade),
            onGap: (from, to) => this.missNumbered(from, to),
          })
        : undefined
    const proverOf = (lengthMs: number) => follower && proveMinutes(parts, { follower, lengthMs, onError })
    const derivatives = new DerivativesProgress(parts, fromMs)
    const prover = this.hasNumberedSeconds ? proverOf(SECOND_MS) : undefined
    if (plan.secondsFrom === 'candles') this.seconds = closeVenueSeconds(parts)
    else if (prover === undefined) this.seconds = closeCountedSeconds(parts, derivatives, options.left)
    else this.seconds = closeNumberedSeconds(parts, derivatives, prover)
    const flowProver = plan.hasFlow ? proverOf(MINUTE_MS) : undefined
    this.flow = flowProver && follower && closeFlow(parts, fromMs, flowProver, follower)
    this.minutes = closeMinutes(parts, fromMs, options.finalBefore)
    this.streamed = observeStreamed(parts)
    this.follower = follower
    this.derivatives = derivatives
  }

  /** Trades are complete from here on; the backfill of counts and seconds ends here. */
  get tradesFromMs(): number | undefined {
    return this.follower?.startMs
  }

  /** Minutes before this instant are closed, and so is the flow built from them. */
  get closedToMs(): number {
    return Math.min(this.minutes.closedToMs, this.flow?.closedToMs ?? this.minutes.closedToMs)
  }

  /** Seconds before this instant are closed or left to the backfill; undefined before the first. */
  get secondsToMs(): number | undefined {
    return this.seconds.closedToMs
  }

  /** Minutes before this instant have the counts of live recording; those that lack them are left to the backfill. */
  get countedToMs(): number | undefined {
    return this.flow?.closedToMs
  }

  /** Called when the counts of past minutes are stored; the backfill requests more of them from `countsFromMs` on. */
  async startFlow(coverage: CoverageStore, countsFromMs: number): Promise<void> {
    await this.flow?.start(coverage, countsFromMs)
  }

  pursue(): void {
    this.follower?.tick()
  }

  observe(observation: DataObservation): void {
    const { parts } = this
    this.receivedMs.set(observation.kind, observation.receivedMs)
    if (observation.kind === 'exchange_book') {
      this.takeBook(observation)
      return
    }
    this.streamed.receive(observation)
    switch (observation.kind) {
      case 'candle':
        if (observation.interval === '1s') this.seconds.receive(observation)
        else {
          this.minutes.receive(observation)
          this.seconds.minute(candleOfKline(observation), observation.receivedMs)
        }
        return
      case 'aggregate_trade':
        parts.counts.trades += 1
        // An invalid trade is treated as lost: its number is missing, so the venue is asked for it.
        if (checkTrade(observation) !== 'bad') this.follower?.push(observation)
        return
      case 'trade':
        parts.counts.trades += 1
        this.takeTrade(observation)
        return
      case 'funding':
        putFunding(parts, [fundingRow(observation)])
        return
      case 'open_interest':
        this.derivatives.receive(observation)
        return
      case 'liquidation':
        parts.writer.put(this.feeds.liquidations, [liquidationRow(observation)])
        return
      case 'best_bid_ask':
        this.ticker.received(observation)
    }
  }

  gap(topic: Topic, fromMs: number, toMs: number): void {
    if (topic === 'trades' && this.parts.plan.secondsFrom === 'trades') this.seconds.gap(fromMs, toMs)
    if (!Number.isFinite(fromMs)) return
    this.loseDropped()
    if (topic === 'candles') this.showMinutes()
    if (topic === 'trades' || topic === 'aggregate_trades') this.seconds.show()
    if (topic === 'book') this.putBooks(this.books.cut(fromMs))
    if (topic === 'best_bid_ask') {
      this.parts.writer.put(this.feeds.ticker, this.ticker.cut(fromMs))
      this.showStreamed()
    }
  }

  begins(topic: Topic, atMs: number): void {
    this.streamed.begins(topic)
    // The venue also sends trades from before the subscription, which do not make up whole seconds.
    if (topic === 'trades' && this.parts.plan.secondsFrom === 'trades')
      this.seconds.begin(Math.ceil(atMs / SECOND_MS) * SECOND_MS)
  }

  /** A book is in force until the next one, and so is a figure of open interest. The frame may have been the next one. */
  doubted(topic: Topic): void {
    if (topic === 'book' || topic === 'open_interest') this.streamed.doubted(topic)
  }

  show(nowMs: number, receivedToMs: number): void {
    this.followTrades()
    this.showMinutes()
    this.seconds.show()
    this.loseDropped()
    this.parts.writer.put(this.feeds.ticker, this.ticker.take(receivedToMs))
    this.derivatives.show(nowMs, receivedToMs)
    this.showStreamed()
  }

  sample(_nowMs: number, receivedToMs: number): void {
    this.loseDropped()
    this.putBooks(this.books.sample(receivedToMs))
  }

  async close(nowMs: number): Promise<void> {
    const toMs = Math.floor((nowMs - this.parts.plan.closeAfterMs) / MINUTE_MS) * MINUTE_MS
    if (toMs > this.minutes.closedToMs) {
      const knownMs = await this.derivatives.request(toMs, nowMs)
      if (knownMs > this.minutes.closedToMs && Math.abs(nowMs - this.pausedMs) >= this.pauseMs) {
        const beforeMs = this.minutes.closedToMs
        await this.closeMinutes(knownMs)
        // The venue has not published the minute yet; a request every second would use up its budget.
        const isClosed = this.minutes.closedToMs > beforeMs
        this.pauseMs = isClosed ? SECOND_MS : Math.min(2 * this.pauseMs, MAX_PAUSE_MS)
        // After a closed minute there is no pause, even if the clock is set back meanwhile.
        this.pausedMs = isClosed ? Number.NEGATIVE_INFINITY : nowMs
      }
      this.finalizeStreamed(nowMs - SETTLED_AFTER_MS)
    }
    this.flow?.close(nowMs)
    await this.seconds.close(nowMs)
  }

  private async closeMinutes(toMs: number): Promise<void> {
    const { venue, symbol, signal } = this.parts
    const { minutes } = this
    const range = { fromMs: minutes.closedToMs, toMs }
    const request = { topic: 'candles', symbol, interval: '1m', range, isUrgent: true } as const
    for await (const answer of venue.history(request, { signal })) {
      const page = minutes.held(answer)
      const beforeMs = minutes.closedToMs
      const candles = minutes.take(page, this.derivatives.unknownFrom(MINUTE_MS))
      this.flow?.minutes(candles, page.missing, beforeMs, minutes.closedToMs)
      const unknown = [
        ...page.missing.map((lost) => lost.range),
        ...candles.refused.map(({ openMs }) => ({ fromMs: openMs, toMs: openMs + MINUTE_MS })),
      ]
      if (minutes.closedToMs > beforeMs)
        this.seconds.minutes(candles.good, unknown, { fromMs: beforeMs, toMs: minutes.closedToMs })
      if (page !== answer) return
    }
  }

  private finalizeStreamed(settledMs: number): void {
    const { plan, writer } = this.parts
    const finalTo = (...kinds: DataObservation['kind'][]) =>
      Math.min(settledMs, Math.max(...kinds.map((kind) => this.receivedMs.get(kind) ?? 0)))
    if (plan.hasTicker)
      writer.final(this.feeds.ticker, Math.min(finalTo('best_bid_ask'), this.ticker.waitingMs))
    if (plan.hasSnapshots) writer.final(this.feeds.snapshots, finalTo('exchange_book'))
    // Minute candles come over the same socket.
    if (plan.hasLiquidations) writer.final(this.feeds.liquidations, finalTo('liquidation', 'candle'))
  }

  private showMinutes(): void {
    const changedMs = this.minutes.show()
    this.flow?.show(this.minutes.open(), changedMs)
  }

  private showStreamed(): void {
    this.streamed.show({ ticker: this.ticker.waitingMs, snapshots: this.books.waitingMs })
  }

  private followTrades(): void {
    const { follower } = this
    if (follower === undefined) return
    this.pursue()
    if (!this.hasBegun && follower.startMs !== undefined) {
      this.hasBegun = true
      this.flow?.begin(follower.startMs)
      if (this.hasNumberedSeconds) {
        this.seconds.begin(follower.startMs)
        // The first trade may come minutes after the subscription; what happened in between is unknown here.
        this.parts.tracker.startAt(this.feeds.seconds, follower.startMs)
      }
    }
    if (this.hasNumberedSeconds) this.parts.tracker.limit(this.feeds.seconds, follower.provenMs)
  }

  private takeNumbered(trade: AggregateTradeObservation): void {
    const verdict = checkTrade(trade)
    if (verdict === 'empty') {
      this.parts.counts.emptyTrades += 1
      return
    }
    if (verdict === 'bad') {
      this.missNumbered(trade.venueTimeMs, trade.venueTimeMs)
      return
    }
    const fact = tradeFact(trade)
    this.flow?.trade(fact)
    if (this.hasNumberedSeconds) this.seconds.trade(fact)
  }

  private missNumbered(fromMs: number, toMs: number): void {
    this.flow?.gap(fromMs, toMs)
    if (this.hasNumberedSeconds) this.missSeconds(fromMs, toMs)
  }

  private takeTrade(trade: TradeObservation): void {
    const { counts, writer } = this.parts
    const verdict = checkTrade(trade)
    if (verdict === 'empty') {
      counts.emptyTrades += 1
      this.seconds.empty(trade.venueTimeMs)
      return
    }
    writer.put(this.feeds.trades, [tradeRow(trade)])
    // The venue sends its last trades again to a new subscriber, and trades of the previous run are already in their
    // second.
    if (this.left.size > 0 && this.left.has(`${trade.venueTimeMs}:${trade.id}`)) return
    // The store refuses the trade, so the second that it belongs to lacks it.
    if (verdict === 'bad') {
      this.missSeconds(trade.venueTimeMs, trade.venueTimeMs)
      return
    }
    const { venueTimeMs: timeMs, price, size, side } = trade
    this.seconds.trade({ timeMs, price, size, side, fills: 1 })
  }

  /** A row has every level that the venue publishes, never the few of a fast book. */
  private takeBook(observation: ExchangeBookObservation): void {
    const { venueTimeMs: timeMs, bids, asks } = observation
    if (this.books.receive({ timeMs, bids, asks })) this.streamed.receive(observation)
    // A book that is too old to be sampled proves nothing; coverage resumes with the next one that is in time.
    else this.streamed.begins('book')
  }

  /** Marks the seconds from one instant to another, both included, as lacking trades. */
  private missSeconds(fromMs: number, toMs: number): void {
    const openMs = Math.floor(fromMs / SECOND_MS) * SECOND_MS
    const endMs = Math.ceil((toMs + 1) / SECOND_MS) * SECOND_MS
    this.seconds.gap(openMs, endMs)
    this.parts.tracker.lost(this.feeds.seconds, openMs, endMs, 'not_observed')
  }

  /** Reports received data that was dropped before the store accepted it, before anything later counts as observed. */
  private loseDropped(): void {
    const lose = (feed: Feed, lost: { fromMs: number; toMs: number } | undefined) => {
      if (lost !== undefined) this.parts.tracker.lost(feed, lost.fromMs, lost.toMs, 'not_observed')
    }
    lose(this.feeds.ticker, this.ticker.takeLost())
    lose(this.feeds.snapshots, this.books.takeLost())
  }

  private putBooks(rows: ReturnType<BookSampler['sample']>): void {
    if (rows.length === 0) return
    this.parts.writer.put(
      this.feeds.snapshots,
      rows.map(({ timeMs, book }) => ({
        time: timeMs,
        book: {
          bids: book.bids.map(([price, size]) => [price, size] as const),
          asks: book.asks.map(([price, size]) => [price, size] as const),
        },
      })),
    )
  }
}

function feedsOf({ plan: { source }, symbol }: SymbolParts) {
  return {
    seconds: candleFeed(source, symbol, '1s'),
    snapshots: feedOf('snapshots', source, symbol),
    ticker: feedOf('ticker', source, symbol),
    trades: feedOf('trades', source, symbol),
    liquidations: feedOf('liquidations', source, symbol),
  } satisfies Record<string, Feed>
}

function tradeRow({ venueTimeMs, id, price, size, side }: TradeObservation): RowInputs['trades'] {
  return { time: venueTimeMs, seq: sequenceOf(id), tradeId: id, price, size, side }
}

function liquidationRow(observation: LiquidationObservation): RowInputs['liquidations'] {
  return {
    time: observation.venueTimeMs,
    seq: sequenceOf(observation.key ?? ''),
    side: observation.positionSide,
    quantity: observation.quantity,
    price: observation.price,
    avgPrice: observation.averagePrice,
  }
}
