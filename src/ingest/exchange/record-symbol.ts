/** Records one symbol of one exchange: observations in, rows out. */
import { INTERVAL_MS } from '../../core/interval.ts'
import type { AggregateTradeObservation, DataObservation } from '../../venues/observation.ts'
import { checkTrade } from '../shared/check-trade.ts'
import { candleFeed, feedOf, requestedKey } from '../shared/feeds.ts'
import type { LiveRecorder } from '../shared/run-live.ts'
import { sequenceOf } from '../shared/sequence.ts'
import { tradeFact } from './backfill-trade-candles.ts'
import { closeFlow } from './close-flow.ts'
import { closeMinutes } from './close-minutes.ts'
import { closeSeconds } from './close-seconds.ts'
import { followTrades, type TradeFollower } from './follow-trades.ts'
import { proveMinutes } from './prove-minutes.ts'
import {
  fundingRow,
  putFunding,
  putOpenInterest,
  requestFunding,
  requestOpenInterest,
} from './request-derivatives.ts'
import type { UnclosedTrades } from './resume.ts'
import { sampleBook } from './sample-book.ts'
import { TickerSampler } from './sample-ticker.ts'
import type { SymbolParts } from './symbol-parts.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const GRID_MS = INTERVAL_MS['5m']
/** How long a minute waits for a settled rate before it is closed without it. */
const PATIENCE_MS = 30_000
/** Whole books come about every 5.4 s: two of them may be late. */
const BOOK_STALE_MS = 12_000
const BOOK_GRACE_MS = 1_500
/** An observation of open interest counts for a grid point at most this much later. */
const INTEREST_FRESH_MS = 30_000
/** Rows that are never requested again are final after this. */
const SETTLED_AFTER_MS = 60_000
/** Requested samples are published some minutes late; later than this is a fault. */
const ASKED_LATE_MS = 10 * MINUTE_MS
/** A settled rate can be requested after this. */
const FUNDING_SETTLED_MS = 62_000

export interface SymbolRecorder extends LiveRecorder {
  /** The counts of past minutes are stored. */
  startFlow(): Promise<void>
  /** The live side records from here on; before it the backfill does. */
  readonly fromMs: number
  /** Trades are whole from here on; the backfill of counts and seconds ends here. */
  readonly tradesFromMs: number | undefined
  /** Minutes before this are closed, and the flow that they make. */
  readonly closedToMs: number
  /** Seconds before this are closed, or left to the backfill; undefined before the first. */
  readonly secondsToMs: number | undefined
  follower: TradeFollower | undefined
}

export function recordSymbol(
  parts: SymbolParts,
  options: { fromMs: number; onError: (error: unknown) => void; left?: UnclosedTrades | undefined },
): SymbolRecorder {
  const { plan, symbol, writer, tracker, clock } = parts
  const { source } = plan
  const { fromMs } = options
  const needsNumbers = plan.hasFlow || plan.secondsFrom === 'aggregate_trades'
  const secondsFeed = candleFeed(source, symbol, '1s')
  const follower = needsNumbers
    ? followTrades({
        venue: parts.venue,
        symbol,
        clock,
        signal: parts.signal,
        onTrade: takeNumbered,
        onGap: missNumbered,
        onError: options.onError,
      })
    : undefined
  const proverOf = (lengthMs: number) =>
    follower && proveMinutes(parts, { follower, lengthMs, onError: options.onError })
  const minutes = closeMinutes(parts, fromMs)
  const secondsProver = plan.secondsFrom === 'aggregate_trades' ? proverOf(SECOND_MS) : undefined
  const seconds = closeSeconds(parts, knowsJoined, secondsProver)
  if (options.left !== undefined) seconds.resume(options.left)
  const left = new Set(options.left?.trades.map((trade) => `${trade.timeMs}:${trade.id}`))
  const flowProver = plan.hasFlow ? proverOf(MINUTE_MS) : undefined
  const flow = flowProver && follower && closeFlow(parts, fromMs, flowProver, follower)
  const sampler = sampleBook({ staleAfterMs: BOOK_STALE_MS, graceMs: BOOK_GRACE_MS })
  const ticker = new TickerSampler()
  const snapshotFeed = feedOf('snapshots', source, symbol)
  const tickerFeed = feedOf('ticker', source, symbol)
  const tradeFeed = feedOf('trades', source, symbol)
  const liquidationFeed = feedOf('liquidations', source, symbol)
  let interest: { receivedToMs: number; openInterest: string; valueUsd: string } | undefined
  let interestGridMs: number | undefined
  let fundingToMs = fromMs - 24 * HOUR_MS
  let interestToMs = fromMs - HOUR_MS
  let hasBegun = false
  const startedMs = clock.now()

  function takeNumbered(trade: AggregateTradeObservation): void {
    const verdict = checkTrade(trade)
    if (verdict === 'empty') {
      parts.counts.emptyTrades += 1
      return
    }
    if (verdict === 'bad') {
      missNumbered(trade.venueTimeMs, trade.venueTimeMs)
      return
    }
    const fact = tradeFact(trade)
    flow?.trade(fact)
    if (plan.secondsFrom === 'aggregate_trades') seconds.trade(fact)
  }

  function missNumbered(from: number, to: number): void {
    flow?.gap(from, to)
    if (plan.secondsFrom !== 'aggregate_trades') return
    const fromSecond = Math.floor(from / SECOND_MS) * SECOND_MS
    const endMs = Math.ceil((to + 1) / SECOND_MS) * SECOND_MS
    seconds.gap(fromSecond, endMs)
    tracker.lost(secondsFeed, fromSecond, endMs, 'not_observed')
  }

  /** A grid point has passed: the last observation before it is its sample. */
  function passGrid(nowMs: number): void {
    if (interest === undefined) return
    interestGridMs ??= Math.ceil(interest.receivedToMs / GRID_MS) * GRID_MS
    if (interestGridMs > nowMs) return
    if (
      interest.receivedToMs <= interestGridMs &&
      interestGridMs - interest.receivedToMs <= INTEREST_FRESH_MS
    )
      putOpenInterest(parts, [
        { time: interestGridMs, openInterest: interest.openInterest, openInterestUsd: interest.valueUsd },
      ])
    interestGridMs = Math.floor(nowMs / GRID_MS) * GRID_MS + GRID_MS
  }

  /** Whether the rate and the open interest that belong to a candle of this end will not change any more. */
  function knowsJoined(closeMs: number): boolean {
    if (parts.derivatives === undefined) return true
    if (plan.hasFunding && fundingToMs <= Math.floor((closeMs - 1) / HOUR_MS) * HOUR_MS) return false
    const gridMs = Math.floor(closeMs / GRID_MS) * GRID_MS
    if (plan.openInterest === 'requested') return interestToMs > gridMs
    return interestGridMs !== undefined && interestGridMs > gridMs
  }

  /** Rates are settled on the hour and published within a minute: the first minute of an hour waits for them. */
  async function knowsDerivatives(toMs: number, nowMs: number): Promise<boolean> {
    if (parts.derivatives === undefined) return true
    if (plan.openInterest === 'requested' && interestToMs <= Math.floor(toMs / GRID_MS) * GRID_MS) {
      interestToMs = await requestOpenInterest(parts, { fromMs: interestToMs, toMs: nowMs }, true)
      if (nowMs - interestToMs < ASKED_LATE_MS)
        tracker.up(requestedKey('open_interest', symbol), interestToMs)
    }
    const hourMs = Math.floor((toMs - 1) / HOUR_MS) * HOUR_MS
    // Once more when the hour of the start is settled: then nothing is missing between history and stream.
    const isJoined = fundingToMs > startedMs || nowMs < startedMs + FUNDING_SETTLED_MS
    if (!plan.hasFunding || (fundingToMs > hourMs && isJoined)) return true
    fundingToMs = await requestFunding(parts, { fromMs: fundingToMs, toMs: nowMs }, true)
    return fundingToMs > hourMs || nowMs - toMs > PATIENCE_MS
  }

  function observe(observation: DataObservation): void {
    switch (observation.kind) {
      case 'candle':
        if (observation.interval === '1s') seconds.receive(observation)
        else minutes.receive(observation)
        return
      case 'aggregate_trade':
        parts.counts.trades += 1
        follower?.push(observation)
        return
      case 'trade': {
        parts.counts.trades += 1
        const verdict = checkTrade(observation)
        if (verdict === 'empty') {
          parts.counts.emptyTrades += 1
          seconds.empty(observation.venueTimeMs)
          return
        }
        writer.put(tradeFeed, [
          {
            time: observation.venueTimeMs,
            seq: sequenceOf(observation.id),
            tradeId: observation.id,
            price: observation.price,
            size: observation.size,
            side: observation.side,
          },
        ])
        // A venue repeats its last trades to a new listener.
        if (left.size > 0 && left.has(`${observation.venueTimeMs}:${observation.id}`)) return
        // The store refuses it; the second that it belongs to lacks it.
        if (verdict === 'bad') {
          missSecond(observation.venueTimeMs)
          return
        }
        seconds.trade({
          timeMs: observation.venueTimeMs,
          price: observation.price,
          size: observation.size,
          side: observation.side,
          fills: 1,
        })
        return
      }
      case 'funding':
        putFunding(parts, [fundingRow(observation)])
        return
      case 'open_interest':
        if (plan.openInterest !== 'streamed' || observation.valueUsd === null) return
        passGrid(observation.receivedMs - 1)
        interest = {
          receivedToMs: observation.receivedMs,
          openInterest: observation.openInterest,
          valueUsd: observation.valueUsd,
        }
        return
      case 'liquidation':
        writer.put(liquidationFeed, [
          {
            time: observation.venueTimeMs,
            seq: sequenceOf(observation.key ?? ''),
            side: observation.positionSide,
            quantity: observation.quantity,
            price: observation.price,
            avgPrice: observation.averagePrice,
          },
        ])
        return
      case 'best_bid_ask':
        ticker.received(observation)
        return
      case 'exchange_book':
        // A row has every level that the venue publishes, never the few of a quick book.
        sampler.receive({ timeMs: observation.venueTimeMs, bids: observation.bids, asks: observation.asks })
    }
  }

  function missSecond(timeMs: number): void {
    const openMs = Math.floor(timeMs / SECOND_MS) * SECOND_MS
    seconds.gap(openMs, openMs + SECOND_MS)
    tracker.lost(secondsFeed, openMs, openMs + SECOND_MS, 'not_observed')
  }

  function putBooks(rows: ReturnType<typeof sampler.sample>): void {
    if (rows.length === 0) return
    writer.put(
      snapshotFeed,
      rows.map(({ timeMs, book }) => ({
        time: timeMs,
        book: {
          bids: book.bids.map(([price, size]) => [price, size] as const),
          asks: book.asks.map(([price, size]) => [price, size] as const),
        },
      })),
    )
  }

  return {
    observe,
    fromMs,
    follower,
    gap(dataset, from, to) {
      if (dataset === plan.secondsFrom && dataset === 'trades') seconds.gap(from, to)
      if (dataset === 'book' && Number.isFinite(from)) putBooks(sampler.cut(from))
    },
    begins(dataset, atMs) {
      // What is replayed of the time before is no whole second.
      if (dataset === 'trades' && plan.secondsFrom === 'trades')
        seconds.begin(Math.ceil(atMs / SECOND_MS) * SECOND_MS)
    },
    show(nowMs, receivedToMs) {
      follower?.tick()
      if (!hasBegun && follower?.startMs !== undefined) {
        hasBegun = true
        flow?.begin(follower.startMs)
        if (plan.secondsFrom === 'aggregate_trades') seconds.begin(follower.startMs)
      }
      if (follower !== undefined && plan.secondsFrom === 'aggregate_trades')
        tracker.limit(secondsFeed, follower.provenMs)
      minutes.show()
      seconds.show()
      flow?.show(minutes.open())
      writer.put(tickerFeed, ticker.take(receivedToMs))
      if (plan.openInterest === 'streamed') passGrid(receivedToMs)
      if (
        plan.openInterest === 'requested' &&
        nowMs - interestToMs > ASKED_LATE_MS &&
        tracker.isUp(requestedKey('open_interest', symbol))
      )
        tracker.failed(requestedKey('open_interest', symbol), interestToMs, 'venue_down')
    },
    sample: (_nowMs, receivedToMs) => putBooks(sampler.sample(receivedToMs)),
    async close(nowMs) {
      const toMs = Math.floor((nowMs - plan.closeAfterMs) / MINUTE_MS) * MINUTE_MS
      if (toMs > minutes.closedToMs) {
        if (!(await knowsDerivatives(toMs, nowMs))) return
        const range = { fromMs: minutes.closedToMs, toMs }
        const request = { topic: 'candles', symbol, interval: '1m', range, isUrgent: true } as const
        for await (const page of parts.venue.history(request, { signal: parts.signal })) {
          const beforeMs = minutes.closedToMs
          const candles = minutes.take(page)
          flow?.minutes(candles, beforeMs, minutes.closedToMs)
          if (minutes.closedToMs > beforeMs) seconds.minutes(candles.good, beforeMs, minutes.closedToMs)
        }
        const settledMs = nowMs - SETTLED_AFTER_MS
        if (plan.hasTicker) parts.writer.final(tickerFeed, settledMs)
        if (plan.hasSnapshots) parts.writer.final(snapshotFeed, settledMs)
        if (plan.hasLiquidations) parts.writer.final(liquidationFeed, settledMs)
      }
      flow?.close(nowMs)
      await seconds.close(nowMs)
    },
    startFlow: async () => flow?.start(),
    get tradesFromMs() {
      return follower?.startMs
    },
    get closedToMs() {
      return Math.min(minutes.closedToMs, flow?.closedToMs ?? minutes.closedToMs)
    },
    get secondsToMs() {
      return seconds.closedToMs
    },
  }
}
