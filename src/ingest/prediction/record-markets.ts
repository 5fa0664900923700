/**
 * The prediction markets of one symbol: the catalogue lists them, each has a recorder of its own.
 *
 *   market ──▶ catalogue, with the prices that it began and ended with
 *   book_snapshot, book_delta, book_lost ──▶ snapshots; a market in its window without a live book is a gap
 *   trade ──▶ trades, candles          open_interest ──▶ at each grid point, per contract and summed
 */
import type { MarketInput, MarketType } from '../../core/rows/market.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { DataObservation, TradeObservation } from '../../venues/observation.ts'
import type { Venue } from '../../venues/venue.ts'
import type { BackfillPace } from '../shared/backfill-pace.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import type { LiveRecorder } from '../shared/run-live.ts'
import type { CoverageTracker } from '../shared/track-coverage.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { type BackfilledMarket, backfillTrades } from './backfill-trades.ts'
import { checkWindows, LISTED_WITHIN_MS } from './check-windows.ts'
import { closeEndedCandles } from './close-ended-candles.ts'
import { withReferences, withVolume } from './complete-market.ts'
import { finalizeMarkets } from './finalize-markets.ts'
import { createLatestBefore, type LatestBefore } from './latest-before.ts'
import { BASE_INTERVAL, MARKETS_BACK_MS, type PredictionPlan, snapshotFeed } from './market-feeds.ts'
import { SAMPLE_BEFORE_MS } from './market-times.ts'
import { marketOfRow, mergeKnown } from './merge-market.ts'
import { type MarketRecorder, recordMarket } from './record-market.ts'
import { recordOpenInterest } from './record-open-interest.ts'
import { createReferencePrices } from './reference-prices.ts'
import { restoreMarket } from './restore-market.ts'
import type { MarketWriter } from './write-markets.ts'

const SECOND_MS = 1_000
/** The recorder of a market is kept until its last sweep is surely over. */
const KEPT_AFTER_END_MS = 30 * 60_000
const FINALIZE_EVERY_MS = 10_000
/**
 * Trades that the stream lost are found by a round over all markets, every few minutes, and by the sweeps until a
 * quarter of an hour after the close; later where the venue is down.
 */
const TRADES_FINAL_AFTER_MS = 16 * 60_000
/** A market that could not be swept for a day is not waited for any longer. */
const SWEPT_WITHIN_MS = 25 * 3_600_000
const BACKFILL_EVERY_MS = 15_000
const BACKFILL_AGAIN_MS = 60_000
/** The ticks around an instant have arrived after this. */
const TICKS_AFTER_MS = 3_000

export interface SymbolMarketsParts {
  readonly plan: PredictionPlan
  readonly symbol: AssetSymbol
  readonly venue: Venue
  readonly store: EnvironmentStore
  readonly writer: RowWriter
  readonly catalogue: MarketWriter
  readonly tracker: CoverageTracker
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly pace?: BackfillPace | undefined
}

interface Kept {
  readonly recorder: MarketRecorder
  /** What an earlier run and the venue know of it is counted. */
  ready: Promise<void>
  isReady: boolean
  /** What was traded before we listened is known. */
  isRestored: boolean
  /** All of its trades were received after its close. */
  isSwept: boolean
}

export interface MarketsRecorder extends LiveRecorder {
  /** A market of an earlier run. It does not show which markets exist now. */
  left(market: MarketInput): void
  /** The unresolved markets of an earlier run were listed. */
  knowsUnresolved(): void
  readonly size: number
  /** How often a window that should have run was not listed. */
  readonly unlisted: number
  /** Trades of size 0, which were left out. */
  readonly emptyTrades: number
}

export function recordMarkets(parts: SymbolMarketsParts): MarketsRecorder {
  const { plan, symbol, store, writer, catalogue, tracker, clock, log, signal } = parts
  const startedMs = clock.now()
  const markets = new Map<string, Kept>()
  const references = createReferencePrices(plan.usualSettlement)
  const interest = new Map<string, LatestBefore<string>>()
  const passGrid = recordOpenInterest({ plan, symbol, writer })
  const isKept = (marketId: string) => markets.has(marketId)
  const endedCandles = closeEndedCandles({
    plan,
    symbol,
    series: store.series,
    writer,
    clock,
    signal,
    isKept,
  })
  const recordedFrom = store.coverage
    .read([candleFeed(plan.source, symbol, BASE_INTERVAL)], startedMs - 2 * MARKETS_BACK_MS, startedMs)
    .then(({ observed }) => observed[0]?.from)
  let hasEarlierRun = true
  let restores: Promise<unknown> = recordedFrom.then(
    (fromMs) => {
      hasEarlierRun = fromMs !== undefined
    },
    () => {},
  )
  const tradeFeed = feedOf('trades', plan.source, symbol)
  /** What an earlier run has called final stays so. */
  const settledMs = Promise.resolve(store.series.finality([tradeFeed])).then(([known]) => known?.before ?? 0)
  settledMs.catch(() => {})
  /** All trades before this were received, of every market that the venue lists. */
  let sweptToMs = 0
  let lastBookMs = 0
  let hasListed = false
  let listedMs: number | undefined
  let hasUnresolved = false
  let backfillMs = 0
  let shownMs = 0
  let finalizedMs = 0
  let emptyTrades = 0

  function receivedMarket(seen: MarketInput): void {
    const before = markets.get(seen.marketId)
    const kept = before === undefined || hasTokensNow(before, seen) ? keep(seen) : before
    const { recorder } = kept
    if (before !== undefined) recorder.market = before.recorder.market
    recorder.market = mergeKnown(seen, recorder.market)
    if (isListedWithAll(recorder)) windows.knows(seen.marketType ?? null, recorder.endMs)
    // A list may be older than the stream: its figure counts only until the stream sends one.
    if (seen.openInterest != null && !interest.has(seen.marketId))
      receivedInterest(seen.marketId, 0, String(seen.openInterest))
    if (kept.isReady) catalogue.put(recorder.market)
  }

  /** Just after its creation a market may be listed without its tokens; what records them begins with them. */
  const hasTokensNow = ({ recorder }: Kept, seen: MarketInput) =>
    plan.hasTokens && recorder.instruments.length === 0 && (seen.tokens?.length ?? 0) > 0

  function receivedInterest(marketId: string, timeMs: number, openInterest: string): void {
    const known = interest.get(marketId) ?? createLatestBefore<string>()
    known.received(timeMs, openInterest)
    interest.set(marketId, known)
  }

  /** A market that is traded a day ahead is sent alone: those before it may still be unknown. */
  function isListedWithAll({ startMs, endMs }: MarketRecorder): boolean {
    const lengthMs = endMs - startMs
    return !plan.hasTokens || startMs <= clock.now() + plan.followed.beforeMs + lengthMs
  }

  function keep(market: MarketInput): Kept {
    const recorder = recordMarket({
      plan,
      market,
      writer,
      referencePrice: (timeMs) => references.before(market, timeMs),
      lastBookMs: () => lastBookMs,
      onEmptyTrade: () => {
        emptyTrades += 1
      },
    })
    // What is met after its end may be stored already: by an earlier run, or before it was forgotten. So may the
    // early trades of one that has not begun.
    const hadBegun = recorder.startMs - plan.tradesBeforeMs < startedMs || recorder.endMs < clock.now()
    const kept: Kept = {
      recorder,
      ready: Promise.resolve(),
      isReady: !hadBegun,
      isRestored: !hadBegun,
      isSwept: false,
    }
    markets.set(market.marketId, kept)
    if (!hadBegun) return kept
    kept.ready = restores.then(async () => {
      try {
        if (tradedRange(recorder).toMs <= (await settledMs)) kept.isSwept = true
        const stored = await store.markets.get(market.marketId, { source: plan.source, symbol })
        if (stored !== undefined) recorder.market = mergeKnown(recorder.market, marketOfRow(stored.market))
        catalogue.put(recorder.market)
        const { series } = store
        const recordedFromMs = await recordedFrom
        const about = { plan, recorder, series, venue: parts.venue, recordedFromMs, signal }
        await parts.pace?.(signal)
        await restoreMarket({ ...about, settledMs: await settledMs, nowMs: clock.now() })
        kept.isRestored = true
      } catch (error) {
        if (!signal.aborted)
          log.warn({ market: market.marketId, err: error }, 'the past of a market could not be restored')
      } finally {
        kept.isReady = true
        // With what the venue sent meanwhile.
        catalogue.put(recorder.market)
      }
    })
    restores = kept.ready
    return kept
  }

  function receivedTrade(observation: TradeObservation): void {
    const kept = markets.get(observation.leg?.marketId ?? observation.instrument)
    if (kept === undefined) return
    // Trades of the stream are new; requested ones may be known from an earlier run.
    if (observation.isSwept !== true || kept.isReady) kept.recorder.trade(observation)
    else kept.ready = kept.ready.then(() => void kept.recorder.trade(observation))
  }

  function receivedSwept(marketId: string): void {
    const kept = markets.get(marketId)
    if (kept === undefined) return
    kept.ready = kept.ready.then(() => {
      kept.isSwept = true
    })
  }

  /** Takes effect when everything received before it is counted. */
  async function receivedSweptTo(toMs: number): Promise<void> {
    await Promise.all([...markets.values()].map(({ ready }) => ready))
    sweptToMs = Math.max(sweptToMs, toMs)
  }

  function observe(observation: DataObservation): void {
    switch (observation.kind) {
      case 'market':
        hasListed = true
        receivedMarket(observation.market)
        break
      case 'trade':
        receivedTrade(observation)
        break
      case 'swept':
        receivedSwept(observation.instrument)
        break
      case 'swept_to':
        void receivedSweptTo(observation.toMs)
        break
      case 'reference_price':
        references.receive(observation)
        break
      case 'open_interest':
        receivedInterest(observation.instrument, observation.venueTimeMs, observation.openInterest)
        break
      case 'book_snapshot':
      case 'book_delta':
      case 'book_lost':
        markets.get(observation.leg?.marketId ?? observation.instrument)?.recorder.observe(observation)
        if (observation.kind !== 'book_lost') lastBookMs = observation.receivedMs
        break
      case 'market_ticker':
        markets.get(observation.instrument)?.recorder.observe(observation)
    }
  }

  const running = (timeMs: number, type?: MarketType, beforeMs = 0) =>
    [...markets.values()]
      .map(({ recorder }) => recorder)
      .filter(
        ({ startMs, endMs, market }) =>
          startMs - beforeMs <= timeMs &&
          timeMs < endMs &&
          (type === undefined || market.marketType === type),
      )

  const windows = checkWindows({
    symbol,
    endless: plan.endless,
    tracker,
    running,
    feedOf: (type) => snapshotFeed(plan, symbol, type),
  })

  /** When trades of a market are recorded; long markets are followed from one length before they begin. */
  function tradedRange({ startMs, endMs }: MarketRecorder): BackfilledMarket['traded'] {
    const { beforeMs, afterMs } = plan.followed
    const lengthMs = endMs - startMs
    const earlyMs = plan.hasTokens && lengthMs > 15 * 60_000 ? lengthMs : 0
    return { fromMs: startMs - beforeMs - earlyMs, toMs: endMs + afterMs }
  }

  function* backfilled(): Generator<BackfilledMarket> {
    for (const kept of markets.values()) {
      const { recorder } = kept
      yield {
        market: recorder.market,
        traded: tradedRange(recorder),
        firstMs: recorder.startMs - plan.tradesBeforeMs,
        isUnresolved: isUnresolved(kept),
        isUntraded: !plan.hasTokens && Number(recorder.market.volume ?? 0) === 0,
        isSwept: kept.isSwept,
        swept: () => receivedSwept(recorder.market.marketId),
        trade: receivedTrade,
        priced: { fromMs: recorder.startMs - SAMPLE_BEFORE_MS, toMs: recorder.endMs },
        mid: (observation) => recorder.mid(observation),
        show: () => recorder.show(clock.now()),
        settled: () => kept.ready,
      }
    }
  }

  async function mend(nowMs: number): Promise<void> {
    if (!hasUnresolved || listedMs === undefined || nowMs < backfillMs || nowMs - listedMs > LISTED_WITHIN_MS)
      return
    backfillMs = nowMs + BACKFILL_EVERY_MS
    const { coverage } = store
    // Candles of contracts are requested elsewhere.
    const candleFeeds = plan.hasTokens
      ? COARSE_INTERVALS.map((interval) => candleFeed(plan.source, symbol, interval))
      : []
    const about = {
      feed: tradeFeed,
      candleFeeds,
      symbol,
      venue: parts.venue,
      coverage,
      tracker,
      listedMs,
      nowMs,
      signal,
    }
    try {
      await backfillTrades({ ...about, onMarket: receivedMarket, markets: backfilled })
    } catch (error) {
      if (signal.aborted) throw error
      backfillMs = clock.now() + BACKFILL_AGAIN_MS
      log.warn({ symbol, err: error }, 'missed trades could not be requested yet')
    }
  }

  function fill({ recorder, isSwept, isRestored }: Kept, nowMs: number): void {
    const { market, startMs, endMs } = recorder
    const priceAt = (timeMs: number) =>
      nowMs < timeMs + TICKS_AFTER_MS ? null : references.at(market, timeMs)
    const priced = withReferences(market, { start: () => priceAt(startMs), end: () => priceAt(endMs) })
    const filled = isSwept && isRestored ? withVolume(priced, () => recorder.traded) : priced
    if (filled === market) return
    recorder.market = filled
    catalogue.put(filled)
  }

  /** It ended while nothing was recorded, or its past could not be requested: only its own sweep is complete. */
  const isUnresolved = ({ recorder, isRestored }: Kept) => recorder.endMs < startedMs || !isRestored

  /** No trade before this will be found any more. The very first start makes nothing before it final. */
  function tradesFinalMs(nowMs: number): number {
    if (!hasListed || !hasUnresolved) return 0
    const unswept = (hasEarlierRun ? [...markets.values()] : [])
      .filter((kept) => isUnresolved(kept) && !kept.isSwept && nowMs < kept.recorder.endMs + SWEPT_WITHIN_MS)
      .map(({ recorder }) => recorder.startMs - plan.tradesBeforeMs)
    return Math.max(0, Math.min(nowMs - TRADES_FINAL_AFTER_MS, sweptToMs, ...unswept))
  }

  return {
    observe,
    left: receivedMarket,
    gap() {},
    begins() {},
    show(nowMs) {
      const isDue = nowMs - shownMs >= plan.publishEveryMs
      if (isDue) shownMs = nowMs
      for (const [marketId, kept] of markets) {
        const { recorder, isReady, isSwept } = kept
        if (plan.hasTokens && isReady) fill(kept, nowMs)
        if (isDue && isReady) recorder.show(nowMs)
        const keptMs = isSwept ? KEPT_AFTER_END_MS : SWEPT_WITHIN_MS
        if (!isReady || nowMs < recorder.endMs + keptMs) continue
        markets.delete(marketId)
        interest.delete(marketId)
      }
      if (plan.hasOpenInterest)
        passGrid(nowMs, (timeMs) =>
          running(timeMs)
            .filter(({ market }) => market.status === 'open')
            .map(({ market: { marketId } }) => ({
              marketId,
              openInterest: interest.get(marketId)?.at(timeMs) ?? null,
            })),
        )
    },
    sample(nowMs) {
      for (const { recorder } of markets.values()) recorder.sampler.tick(nowMs)
      if (!hasListed || listedMs === undefined) return
      const before = windows.unlisted
      windows.judge(nowMs, listedMs)
      if (windows.unlisted > before) log.warn({ symbol }, 'the venue lists no window where one should run')
    },
    answered(dataset, atMs) {
      if (dataset === 'markets') listedMs = atMs
    },
    knowsUnresolved() {
      hasUnresolved = true
    },
    async close(nowMs) {
      await mend(nowMs)
      if (nowMs - finalizedMs < FINALIZE_EVERY_MS) return
      finalizedMs = nowMs
      if (hasListed && hasUnresolved) await endedCandles.close(nowMs)
      const { closedTo } = endedCandles
      finalizeMarkets({
        plan,
        symbol,
        writer,
        series: store.series,
        nowMs,
        tradesMs: tradesFinalMs(nowMs),
        closedTo,
      })
      await clock.sleep(SECOND_MS, signal)
    },
    get size() {
      return markets.size
    },
    get unlisted() {
      return windows.unlisted
    },
    get emptyTrades() {
      return emptyTrades
    },
  }
}
