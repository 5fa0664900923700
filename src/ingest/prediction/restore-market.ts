/**
 * Restores a market that had begun before this run, from what an earlier run stored and from what the venue still has.
 *
 *   final candles of 5m               ──▶ used as they are
 *   other candles with trades         ──▶ used as they are if stored trades show when their prices were traded
 *                                         (contained-trades.ts), because more trades may be found. If not, those of
 *                                         tokens are built again from the stored trades
 *   candles without a trade that are
 *   open or not final                 ──▶ used until a trade is found, because their midpoints exist nowhere else; the
 *                                         trade may have been stored just before the end, without its candle. The
 *                                         midpoints of a closed one lie in the time that was observed
 *   other candles with trades
 *   (yes/no)                          ──▶ the volume may be that of a block trade, which has no price; so their prices
 *                                         are used like midpoints, until a trade with a price is counted. Closed ones
 *                                         of which not all trades are stored are used as they are
 *   stored trades that they lack      ──▶ counted
 *   the venue's trades                ──▶ stored and counted if they are new
 *   the venue's own candles (yes/no)  ──▶ for the time in which nothing was recorded: after an outage from the last
 *                                         known candle, at the very first start for the current hour
 */

import { buildContractCandles } from '../../core/contract-candles.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { MarketCandle } from '../../core/market-candles.ts'
import type { CandleRow, TradeRow } from '../../core/rows/schemas.ts'
import type { CoverageStore, Gap } from '../../store/coverage.ts'
import { type ExactRow, scanExactRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { ContractCandleObservation } from '../../venues/observation.ts'
import type { Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import type { StoredCandle } from './build-market-candles.ts'
import { containedTrades } from './contained-trades.ts'
import { BASE_INTERVAL, MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'
import { LISTED_AFTER_MS } from './market-times.ts'
import type { MarketRecorder } from './record-market.ts'
import { restoreTrades } from './restore-trades.ts'

export async function restoreMarket(options: {
  plan: PredictionPlan
  recorder: MarketRecorder
  series: SeriesStore
  coverage: CoverageStore
  venue: Venue
  /** Everything from here on is received live. */
  nowMs: number
  /** Since when the symbol has been recorded; undefined at the very first start. */
  recordedFromMs: number | undefined
  /** Trades before this instant were final when we started; later ones may have been lost unnoticed. */
  finalBeforeMs: number
  /** Whether the volume is that of the newest list. */
  hasVolume: boolean
  signal: AbortSignal
  /**
   * Repeats a read from the store until it succeeds, because with only half of the stored rows candles would stay
   * wrong.
   */
  patiently: <T>(read: () => Promise<T>) => Promise<T>
}): Promise<void> {
  const { plan, recorder, series, venue, nowMs, recordedFromMs, finalBeforeMs, signal, patiently } = options
  const { symbol, marketId, volume } = recorder.market
  if (recorder.instruments.length === 0) return
  const fromMs = candleStart(
    Math.max(recorder.startMs - MARKETS_BACK_MS, nowMs - 2 * MARKETS_BACK_MS),
    BASE_INTERVAL,
  )
  const range = { from: fromMs, to: nowMs }
  const gapsFromMs = Math.min(nowMs, Math.max(fromMs, candleStart(finalBeforeMs, BASE_INTERVAL)))
  const filters = { instruments: recorder.instruments }

  const fixed = new Set<string>()
  let storedToMs: number | undefined
  const candles = candleFeed(plan.source, symbol, BASE_INTERVAL)
  const trades = feedOf('trades', plan.source, symbol)
  const stored = await patiently(async () => ({
    candles: await Array.fromAsync(scanExactRows(series, candles, range, filters)),
    trades: await Array.fromAsync(scanExactRows(series, trades, range, filters)),
    // Midpoints of contracts are never requested.
    gaps: plan.hasTokens ? (await options.coverage.read([candles], gapsFromMs, nowMs)).gaps : [],
  }))
  const candleOf = (row: ExactRow<CandleRow | TradeRow>) =>
    `${row.token_id ?? marketId}:${candleStart(Date.parse(row.timestamp), BASE_INTERVAL)}`
  const tradesOf = Map.groupBy(stored.trades, candleOf)
  /** Stored trades that a candle contains, and whether they set no price. */
  const contained = new Map<string, { isBlock: boolean }>()
  for (const row of stored.candles) {
    const candle = marketCandleOfRow(row)
    const instrument = row.token_id ?? marketId
    const endMs = candle.openTimeMs + INTERVAL_MS[BASE_INTERVAL]
    if (row.closed) storedToMs = Math.max(storedToMs ?? 0, endMs)
    if (row.closed && endMs <= finalBeforeMs) {
      fixed.add(candleOf(row))
      recorder.fix(instrument, candle, !plan.hasTokens, { finalBeforeMs })
      continue
    }
    const asMids = () => {
      const seen = row.closed ? observedPart(candle, stored.gaps) : {}
      recorder.fix(instrument, { ...candle, basis: 'mid' }, false, seen)
    }
    if (candle.basis === 'mid') {
      asMids()
      continue
    }
    const inCandle = containedTrades(row, tradesOf.get(candleOf(row)) ?? [], plan.volume, !plan.hasTokens)
    if (typeof inCandle === 'object') {
      const isBlock = inCandle.priced === undefined
      for (const each of inCandle.trades) contained.set(each.trade_id, { isBlock })
      if (inCandle.priced === undefined) asMids()
      else recorder.fix(instrument, candle, false, inCandle.priced)
    } else if (!plan.hasTokens && row.closed && inCandle === 'unstored') {
      fixed.add(candleOf(row))
      // Our own candles have no more than their stored trades, so this is the venue's own, which is whole.
      recorder.fix(instrument, candle, true)
    } else if (!plan.hasTokens) asMids()
  }
  const restored = restoreTrades(recorder, !plan.hasTokens)
  for (const row of stored.trades) {
    const known = contained.get(row.trade_id)
    if (known?.isBlock) restored.block(row)
    else restored.stored(row, known !== undefined || fixed.has(candleOf(row)))
  }
  let sentToMs = 0
  try {
    // A volume that is left out, or older, does not prove that nothing was traded.
    if (!options.hasVolume || volume == null || Number(volume) > 0) {
      await requestFromVenue()
      sentToMs = nowMs - LISTED_AFTER_MS
    }
  } finally {
    restored.done(sentToMs)
  }

  async function requestFromVenue(): Promise<void> {
    // A yes/no contract may be a day old, and there are hundreds. So at the very first start, only the venue's own
    // candles of the current hour and the trades of the current candle are requested; earlier ones are before our
    // start. The newest candles are built from trades, because the venue's own may lack the last of them and would
    // count as whole.
    const settledMs = candleStart(nowMs - LISTED_AFTER_MS, BASE_INTERVAL)
    const missedMs = storedToMs ?? recordedFromMs
    const sinceMs = candleStart(
      Math.max(recorder.startMs, missedMs ?? candleStart(nowMs, '1h')),
      BASE_INTERVAL,
    )
    const unsureMs = Math.max(finalBeforeMs, recordedFromMs ?? settledMs)
    const tradesMs =
      missedMs === undefined ? settledMs : Math.max(recorder.startMs, Math.min(sinceMs, settledMs, unsureMs))
    const fromMs = Math.min(tradesMs, restored.firstMs())
    const range = { fromMs: plan.hasTokens ? 0 : fromMs, toMs: nowMs }
    // In the first candle of the hour, or right after the last known candle, there is no candle to request.
    if (!plan.hasTokens && Math.max(recorder.startMs, sinceMs) < settledMs) {
      const finer: ContractCandleObservation[] = []
      const request = { topic: 'contract_candles', symbol, market: marketId, interval: '1m' } as const
      const candles = venue.history({ ...request, range: { fromMs: sinceMs, toMs: settledMs } }, { signal })
      for await (const { observations } of candles)
        for (const row of observations) if (row.kind === 'contract_candle') finer.push(row)
      for (const candle of buildContractCandles({ interval: BASE_INTERVAL, finer }))
        if (!fixed.has(`${marketId}:${candle.openTimeMs}`)) recorder.fix(marketId, candle, true)
    }
    if (range.fromMs >= range.toMs) return
    const trades = venue.history({ topic: 'trades', symbol, market: marketId, range }, { signal })
    for await (const { observations } of trades)
      for (const row of observations) if (row.kind === 'trade') restored.received(row)
  }
}

/**
 * When the first and the last midpoint of a closed candle were observed. Midpoints requested for a gap within the candle
 * lie between them; if the candle began or ended in the gap, they come first or last.
 */
function observedPart({ openTimeMs }: MarketCandle, gaps: readonly Gap[]): StoredCandle {
  const lastMs = openTimeMs + INTERVAL_MS[BASE_INTERVAL] - 1
  const gapAt = (timeMs: number) => gaps.find(({ from, to }) => from <= timeMs && timeMs < to)
  const openMs = gapAt(openTimeMs)?.to ?? openTimeMs
  const closeMs = (gapAt(lastMs)?.from ?? lastMs + 1) - 1
  return openMs + 2 <= closeMs ? { openMs, closeMs } : {}
}

export function marketCandleOfRow(row: ExactRow<CandleRow>): MarketCandle {
  const volume = row.volume ?? '0'
  return {
    openTimeMs: Date.parse(row.timestamp),
    open: row.open,
    high: row.high,
    low: row.low,
    close: row.close,
    volume,
    basis: Number(volume) > 0 ? 'trade' : 'mid',
    samples: 1,
  }
}
