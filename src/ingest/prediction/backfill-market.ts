/**
 * Fills the past of one market in a range of time: stored rows stay, and what the venue has beyond them is added.
 *
 *   stored candles and trades ──▶ restored, never replaced
 *   the venue's own candles (yes/no) ──▶ candles that are not stored, open interest
 *   the venue's trades ──▶ trades, and the candles built from them
 *
 * If the answers do not cover the range, or have less than the venue counts, the backfill fails, because otherwise the
 * market would count as complete. Only a volume that the venue's own candles contradict too is ignored.
 */
import { buildContractCandles } from '../../core/contract-candles.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import { scanExactRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { ContractCandleObservation, DataObservation } from '../../venues/observation.ts'
import type { HistoryRange, HistoryRequest, Venue } from '../../venues/venue.ts'
import { checkMarketTrade } from '../shared/check-trade.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import type { PastOpenInterest } from './backfill-open-interest.ts'
import { BASE_INTERVAL, type PredictionPlan } from './market-feeds.ts'
import { firstTradeMs, lastTradeMs, windowOf } from './market-times.ts'
import { MarketRecorder } from './record-market.ts'
import { marketCandleOfRow } from './restore-market.ts'
import { type RestoredTrades, restoreTrades } from './restore-trades.ts'

/** The open interest at the start of the range comes from the last candle before it. */
const CANDLES_BEFORE_MS = 3_600_000
/** Volumes have two decimals. */
const TOLERANCE = 0.005

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
  /**
   * Called if the trades do not add up to the volume; `isContradicted` if the venue's own candles do not either. Throws
   * if the trades are not accepted.
   */
  onLacking: (pieces: number, isContradicted: boolean) => void,
): Promise<void> {
  const { plan, writer, range } = parts
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
  const mayBeTraded = plan.hasTokens || market.volume == null || Number(market.volume) > 0
  let isTraded = false
  const refused = new Map<string, number>()
  if (mayBeTraded)
    await requestAll(parts, { topic: 'trades', symbol, market: marketId, range: part }, (row) => {
      if (row.kind !== 'trade') return
      isTraded = true
      if (checkMarketTrade(row) === 'bad') refused.set(row.id, Math.max(0, Number(row.size) || 0))
      restored.received(row)
    })
  restored.done(part.toMs)
  const isWhole = part.fromMs <= firstTradeMs(plan, window) && part.toMs > lastTradeMs(plan, window)
  if (mayBeTraded && isWhole && plan.volume === 'pieces') {
    const sum = (sizes: Iterable<number>) => [...sizes].reduce((total, size) => total + size, 0)
    const lacking = recorder.lackingTo(Number.POSITIVE_INFINITY) - sum(refused.values())
    const total = Number(market.volume ?? 0)
    // The candles are a second count of what was traded; only trades and candles together contradict the volume.
    const inCandles = sum(finer.map(({ volume }) => Number(volume)))
    const isContradicted = isTraded && Math.abs(inCandles - (total - lacking)) <= TOLERANCE
    if (lacking > TOLERANCE) onLacking(lacking, isContradicted)
  }
  const hasTraded = isTraded || (isWhole && Number(market.volume ?? 0) > 0)
  if (!plan.hasTokens && hasTraded && finer.length === 0) throw new Error('trades, and no candle of them')
  if (plan.hasOpenInterest) await interest.contract(market, finer, requestedFromMs)
  // Long after its end, so that every candle is closed.
  recorder.show(part.toMs + 2 * INTERVAL_MS['1d'])
  await writer.ready()
}

/**
 * Returns the stored candles. Trades are identified by their ids, because stored times may be finer than the venue's.
 */
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
  const [final] = await series.finality([candles])
  const finalBeforeMs = final?.before ?? 0
  for await (const row of scanExactRows(series, candles, range, filters)) {
    const candle = marketCandleOfRow(row)
    const instrument = row.token_id ?? marketId
    fixed.add(`${instrument}:${candle.openTimeMs}`)
    recorder.fix(instrument, candle, false, { finalBeforeMs })
  }
  for await (const row of scanExactRows(series, feedOf('trades', plan.source, symbol), range, filters)) {
    const openMs = candleStart(Date.parse(row.timestamp), BASE_INTERVAL)
    trades.stored(row, fixed.has(`${row.token_id ?? marketId}:${openMs}`))
  }
  return fixed
}

async function requestCandles(
  parts: MarketBackfill,
  { symbol, marketId: market }: MarketInput,
  range: HistoryRange,
): Promise<ContractCandleObservation[]> {
  const found: ContractCandleObservation[] = []
  const request = { topic: 'contract_candles', symbol, market, interval: '1m', range } as const
  await requestAll(parts, request, (row) => {
    if (row.kind === 'contract_candle') found.push(row)
  })
  return found
}

/** Throws if the answers do not cover the whole range. */
async function requestAll(
  { venue, signal }: MarketBackfill,
  request: HistoryRequest,
  onRow: (row: DataObservation) => void,
): Promise<void> {
  const { topic, range } = request
  let coveredMs = range.fromMs
  for await (const { observations, covered } of venue.history(request, { signal })) {
    observations.forEach(onRow)
    if (covered !== null && covered.fromMs <= coveredMs) coveredMs = Math.max(coveredMs, covered.toMs)
  }
  if (coveredMs < range.toMs)
    throw new Error(`the venue sent its ${topic} up to ${new Date(coveredMs).toISOString()} only`)
}
