/**
 * The past of one market in a range of time: stored rows stay, what the venue has beside them is added.
 *
 *   stored candles and trades ──▶ restored, never replaced
 *   the venue's own candles (yes/no) ──▶ candles that are not stored, open interest
 *   the venue's trades ──▶ trades, and the candles that they make
 */
import { buildContractCandles } from '../../core/contract-candles.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { scanRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { ContractCandleObservation } from '../../venues/observation.ts'
import type { HistoryRange, Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { PastOpenInterest } from './backfill-open-interest.ts'
import { BASE_INTERVAL, type PredictionPlan } from './market-feeds.ts'
import { firstTradeMs, lastTradeMs, windowOf } from './market-times.ts'
import { MarketRecorder } from './record-market.ts'
import { marketCandleOfRow } from './restore-market.ts'
import { type RestoredTrades, restoreTrades } from './restore-trades.ts'

/** The open interest at the beginning of the range is that of the last candle before it. */
const CANDLES_BEFORE_MS = 3_600_000

export interface MarketBackfill {
  readonly plan: PredictionPlan
  readonly venue: Pick<Venue, 'history'>
  readonly series: SeriesStore
  readonly writer: RowWriter
  readonly range: HistoryRange
  readonly signal: AbortSignal
}

export async function backfillMarket(
  parts: MarketBackfill,
  market: MarketInput,
  interest: PastOpenInterest,
): Promise<void> {
  const { plan, venue, writer, range, signal } = parts
  const { symbol, marketId } = market
  const window = windowOf(market)
  const recorder = new MarketRecorder({
    plan,
    market,
    writer,
    referencePrice: () => null,
    booksReceivedToMs: () => 0,
  })
  const part = {
    fromMs: candleStart(Math.max(range.fromMs, firstTradeMs(plan, window)), BASE_INTERVAL),
    toMs: Math.min(range.toMs, lastTradeMs(plan, window) + 1),
  }
  const restored = restoreTrades(recorder, !plan.hasTokens)
  const fixed = await restoreStored(parts, recorder, restored, part)
  const requestedFromMs = Math.max(
    candleStart(window.startMs, BASE_INTERVAL),
    part.fromMs - CANDLES_BEFORE_MS,
  )
  const finer: ContractCandleObservation[] = []
  if (!plan.hasTokens) {
    finer.push(...(await requestCandles(parts, market, { fromMs: requestedFromMs, toMs: part.toMs })))
    const inPart = finer.filter((candle) => candle.openTimeMs >= part.fromMs)
    for (const candle of buildContractCandles({ interval: BASE_INTERVAL, finer: inPart }))
      if (!fixed.has(`${marketId}:${candle.openTimeMs}`)) recorder.fix(marketId, candle, true)
  }
  // A contract whose volume is 0 has no trades; one whose volume is left out may have some.
  if (plan.hasTokens || market.volume == null || Number(market.volume) > 0) {
    const trades = venue.history({ topic: 'trades', symbol, market: marketId, range: part }, { signal })
    for await (const page of trades)
      for (const row of page.observations) if (row.kind === 'trade') restored.received(row)
  }
  restored.done()
  if (plan.hasOpenInterest) await interest.contract(market, finer, requestedFromMs)
  // Long after its end every candle is closed.
  recorder.show(part.toMs + 2 * INTERVAL_MS['1d'])
  await writer.ready()
}

/** Gives the candles that are stored. Trades are identified by their ids: stored times may be finer than the venue's. */
async function restoreStored(
  { plan, series }: MarketBackfill,
  recorder: MarketRecorder,
  trades: RestoredTrades,
  { fromMs, toMs }: HistoryRange,
): Promise<Set<string>> {
  const { symbol, marketId } = recorder.market
  const range = { from: fromMs, to: toMs }
  const filters = { instruments: recorder.instruments }
  const fixed = new Set<string>()
  const candles = candleFeed(plan.source, symbol, BASE_INTERVAL)
  for await (const row of scanRows(series, candles, range, filters)) {
    const candle = marketCandleOfRow(row)
    const instrument = row.token_id ?? marketId
    fixed.add(`${instrument}:${candle.openTimeMs}`)
    recorder.fix(instrument, candle, false)
  }
  for await (const row of scanRows(series, feedOf('trades', plan.source, symbol), range, filters)) {
    const openMs = candleStart(Date.parse(row.timestamp), BASE_INTERVAL)
    trades.stored(row, fixed.has(`${row.token_id ?? marketId}:${openMs}`))
  }
  return fixed
}

async function requestCandles(
  { venue, signal }: MarketBackfill,
  { symbol, marketId: market }: MarketInput,
  range: HistoryRange,
): Promise<ContractCandleObservation[]> {
  const found: ContractCandleObservation[] = []
  const request = { topic: 'contract_candles', symbol, market, interval: '1m', range } as const
  for await (const page of venue.history(request, { signal }))
    for (const row of page.observations) if (row.kind === 'contract_candle') found.push(row)
  return found
}
