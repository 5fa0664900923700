/**
 * A manual backfill of prediction markets: what their venue still has of the past.
 *
 *   markets that were traded in the range are listed ──▶ catalogue, with their winners
 *   the trades of each ──▶ trades, candles          the venue's own candles of each contract ──▶ candles, open interest
 *
 * No venue publishes past books, so there are none. Candles of Up/Down markets come from their trades
 * alone, so the time without trades stays a gap of the candles.
 */
import { buildContractCandles } from '../../core/contract-candles.ts'
import type { Feed } from '../../core/feed.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { CandleRow } from '../../core/rows/candle.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { TradeRow } from '../../core/rows/trade.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { ContractCandleObservation } from '../../venues/observation.ts'
import type { HistoryRange } from '../../venues/venue.ts'
import { COARSE_INTERVALS, candleFeed, feedOf } from '../shared/feeds.ts'
import type { BackfillResult, ManualBackfill } from '../shared/manual-backfill.ts'
import { openRowWriter } from '../shared/open-row-writer.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { uncovered } from '../shared/uncovered.ts'
import { type PastOpenInterest, pastOpenInterest } from './backfill-open-interest.ts'
import { BASE_INTERVAL, type PredictionPlan } from './market-feeds.ts'
import { marketOfRow, mergeKnown } from './merge-market.ts'
import { type MarketRecorder, recordMarket } from './record-market.ts'
import { candleOfRow, readStored } from './restore-market.ts'
import { type RestoredTrades, restoreTrades } from './restore-trades.ts'
import { createMarketWriter } from './write-markets.ts'

const DAY_MS = 86_400_000
/** The longest market, from its first trade to its end. */
const MAX_MS = 50 * 3_600_000
/** The open interest at the beginning of the range is that of the last candle before it. */
const CANDLES_BEFORE_MS = 3_600_000
const RETRY = { baseMs: 1_000, capMs: 30_000 }
const TRIES = 4

export async function backfillMarkets(
  options: ManualBackfill & { plan: PredictionPlan },
): Promise<BackfillResult> {
  const { plan, venue, store, clock, log } = options
  const signal = options.signal ?? new AbortController().signal
  const rows = openRowWriter({ venue, store, clock, log })
  const catalogue = createMarketWriter({ store, log })
  const tracker = createCoverageTracker({ feeds: [], coverage: store.coverage, writer: rows })
  const floor = (timeMs: number) => Math.floor(timeMs / DAY_MS) * DAY_MS
  // Today belongs to the running service, which backfills its own gaps.
  const range = {
    fromMs: floor(options.fromMs),
    toMs: Math.min(floor(options.toMs + DAY_MS - 1), floor(clock.now())),
  }
  const symbols = options.symbols.filter((symbol) => Object.hasOwn(venue.describe.symbols, symbol))
  const firstMs = (market: MarketInput) => (market.startTime ?? 0) - plan.tradesBeforeMs
  const lastMs = (market: MarketInput) => (market.endTime ?? 0) + plan.followed.afterMs

  async function listMarkets(symbol: AssetSymbol): Promise<MarketInput[]> {
    if (range.toMs <= range.fromMs) return []
    const found: MarketInput[] = []
    const ends = { fromMs: range.fromMs - plan.followed.afterMs, toMs: range.toMs + MAX_MS }
    for await (const page of venue.history({ topic: 'markets', symbol, range: ends }, { signal }))
      for (const row of page.observations) if (row.kind === 'market') found.push(row.market)
    return found.filter((market) => firstMs(market) < range.toMs && lastMs(market) > range.fromMs)
  }

  /** Stored rows are not replaced; trades are identified by their ids, since stored times may be finer than the venue's. */
  async function restore(
    recorder: MarketRecorder,
    trades: RestoredTrades,
    part: HistoryRange,
  ): Promise<Set<string>> {
    const { symbol, marketId } = recorder.market
    const about = { series: store.series, instruments: recorder.instruments, ...part }
    const fixed = new Set<string>()
    for (const row of await readStored<CandleRow>(candleFeed(plan.source, symbol, BASE_INTERVAL), about)) {
      const candle = candleOfRow(row)
      const instrument = row.token_id ?? marketId
      fixed.add(`${instrument}:${candle.openTimeMs}`)
      recorder.fix(instrument, candle, false)
    }
    for (const row of await readStored<TradeRow>(feedOf('trades', plan.source, symbol), about)) {
      const openMs = candleStart(Date.parse(row.timestamp), BASE_INTERVAL)
      trades.stored(row, fixed.has(`${row.token_id ?? marketId}:${openMs}`))
    }
    return fixed
  }

  async function fill(market: MarketInput, interest: PastOpenInterest): Promise<void> {
    const { symbol, marketId } = market
    const recorder = recordMarket({
      plan,
      market,
      writer: rows,
      referencePrice: () => null,
      lastBookMs: () => 0,
    })
    const part = {
      fromMs: candleStart(Math.max(range.fromMs, firstMs(market)), BASE_INTERVAL),
      toMs: Math.min(range.toMs, lastMs(market) + 1),
    }
    const restored = restoreTrades(recorder, !plan.hasTokens)
    const fixed = await restore(recorder, restored, part)
    const requestedFromMs = Math.max(
      candleStart(market.startTime ?? 0, BASE_INTERVAL),
      part.fromMs - CANDLES_BEFORE_MS,
    )
    const finer: ContractCandleObservation[] = []
    if (!plan.hasTokens) {
      const asked = { fromMs: requestedFromMs, toMs: part.toMs }
      const request = {
        topic: 'contract_candles',
        symbol,
        market: marketId,
        interval: '1m',
        range: asked,
      } as const
      for await (const page of venue.history(request, { signal }))
        for (const row of page.observations) if (row.kind === 'contract_candle') finer.push(row)
      const inPart = finer.filter((candle) => candle.openTimeMs >= part.fromMs)
      for (const candle of buildContractCandles({ interval: BASE_INTERVAL, finer: inPart }))
        if (!fixed.has(`${marketId}:${candle.openTimeMs}`)) recorder.fix(marketId, candle, true)
    }
    // A contract without volume has no trades; for an Up/Down market the volume may be left out.
    if (plan.hasTokens || Number(market.volume ?? 0) > 0) {
      const trades = venue.history({ topic: 'trades', symbol, market: marketId, range: part }, { signal })
      for await (const page of trades)
        for (const row of page.observations) if (row.kind === 'trade') restored.received(row)
    }
    restored.done()
    if (plan.hasOpenInterest) await interest.contract(market, finer, requestedFromMs)
    // Long after its end every candle is closed.
    recorder.show(part.toMs + 2 * INTERVAL_MS['1d'])
    await rows.ready()
  }

  async function remember(market: MarketInput): Promise<void> {
    const { marketId, symbol } = market
    const stored = await store.markets.get(marketId, { source: plan.source, symbol })
    catalogue.put(stored === undefined ? market : mergeKnown(market, marketOfRow(stored.market)))
  }

  async function fillPatiently(market: MarketInput, interest: PastOpenInterest): Promise<boolean> {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      try {
        await remember(market)
        await fill(market, interest)
        return true
      } catch (error) {
        if (signal.aborted) return false
        log.warn({ market: market.marketId, err: error }, 'the past of a market failed')
        await clock.sleep(backoffMs(RETRY, attempt), signal)
      }
    }
    return false
  }

  function confirm(feeds: readonly Feed[], failed: readonly HistoryRange[]): void {
    for (const feed of feeds)
      for (const { fromMs, toMs } of uncovered(range, failed)) tracker.confirm(feed, fromMs, toMs)
  }

  /** Trades are complete where every market was received in full; the candles of contracts are the venue's. */
  async function confirmAll(
    symbol: AssetSymbol,
    interest: PastOpenInterest,
    failed: readonly HistoryRange[],
  ): Promise<void> {
    const feeds = plan.hasTokens
      ? [feedOf('trades', plan.source, symbol)]
      : [
          feedOf('trades', plan.source, symbol),
          ...COARSE_INTERVALS.map((interval) => candleFeed(plan.source, symbol, interval)),
        ]
    confirm(feeds, failed)
    if (!plan.hasOpenInterest) return
    const lacking = await interest.sum(failed)
    confirm(
      COARSE_INTERVALS.map((interval) => feedOf('open_interest', plan.source, symbol, interval)),
      lacking,
    )
  }

  try {
    const lists = await Promise.all(
      symbols.map(async (symbol) => ({ symbol, markets: await listMarkets(symbol) })),
    )
    const total = lists.reduce((sum, { markets }) => sum + markets.length, 0)
    let done = 0
    let failures = 0
    const report = () => options.onProgress({ done: done + failures, total, step: 'markets' })
    report()
    await Promise.all(
      lists.map(async ({ symbol, markets }) => {
        const failed: HistoryRange[] = []
        const parts = { plan, symbol, series: store.series, writer: rows, range }
        const interest = pastOpenInterest(parts)
        for (const market of markets) {
          if (await fillPatiently(market, interest)) done += 1
          else {
            failures += 1
            failed.push({ fromMs: firstMs(market), toMs: lastMs(market) })
          }
          report()
        }
        if (range.toMs > range.fromMs && !signal.aborted)
          await confirmAll(
            symbol,
            interest,
            failed.sort((a, b) => a.fromMs - b.fromMs),
          )
      }),
    )
    await catalogue.flush()
    await rows.flush()
    const { inserted, corrected } = rows.stats()
    return { stretches: total, failed: failures, rowsInserted: inserted, rowsCorrected: corrected }
  } finally {
    await rows.close()
  }
}
