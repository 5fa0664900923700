/**
 * Restores a market that had begun before this run: from what an earlier run stored, and from what the venue still
 * has.
 *
 *   stored candles of 5m that are closed ──▶ used as they are; of tokens, whose trades are all stored, built again while
 *                                         a trade may still be found: no candle shows when its prices were traded
 *   those without a trade that are open or not
 *   final                             ──▶ their midpoints exist nowhere else: used until a trade is found, perhaps one that
 *                                         was stored just before the end, and the candle with it was not
 *   open ones with volume (yes/no)    ──▶ the volume may be a block trade's, which has no price: their prices are used like
 *                                         midpoints, until a trade with a price is counted
 *   stored trades after them          ──▶ counted
 *   the venue's trades                ──▶ stored and counted where they are new
 *   the venue's own candles (yes/no)     ──▶ for the time before, where nothing was recorded: after an outage from the
 *                                         last known candle, at the very first start for the current hour
 */

import { buildContractCandles } from '../../core/contract-candles.ts'
import { candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { MarketCandle } from '../../core/market-candles.ts'
import type { CandleRow } from '../../core/rows/schemas.ts'
import { scanRows } from '../../store/scan-rows.ts'
import type { SeriesStore } from '../../store/series.ts'
import type { ContractCandleObservation } from '../../venues/observation.ts'
import type { Venue } from '../../venues/venue.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { BASE_INTERVAL, MARKETS_BACK_MS, type PredictionPlan } from './market-feeds.ts'
import { LISTED_AFTER_MS } from './market-times.ts'
import type { MarketRecorder } from './record-market.ts'
import { restoreTrades } from './restore-trades.ts'

export async function restoreMarket(options: {
  plan: PredictionPlan
  recorder: MarketRecorder
  series: SeriesStore
  venue: Venue
  /** Everything from here on is received live. */
  nowMs: number
  /** Since when the symbol is recorded; undefined at the very first start. */
  recordedFromMs: number | undefined
  /** Trades before this were final when we started; later ones may have been lost unnoticed. */
  finalBeforeMs: number
  signal: AbortSignal
  /** Reads from the store until that succeeds: with half of what is stored, candles would be wrong for good. */
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
  const filters = { instruments: recorder.instruments }

  const fixed = new Set<string>()
  let storedToMs: number | undefined
  const candles = candleFeed(plan.source, symbol, BASE_INTERVAL)
  const trades = feedOf('trades', plan.source, symbol)
  const stored = await patiently(async () => ({
    candles: await Array.fromAsync(scanRows(series, candles, range, filters)),
    trades: await Array.fromAsync(scanRows(series, trades, range, filters)),
  }))
  for (const row of stored.candles) {
    const candle = marketCandleOfRow(row)
    const instrument = row.token_id ?? marketId
    if (!row.closed) {
      if (candle.basis === 'mid' || !plan.hasTokens)
        recorder.fix(instrument, { ...candle, basis: 'mid' }, false)
      continue
    }
    const endMs = candle.openTimeMs + INTERVAL_MS[BASE_INTERVAL]
    storedToMs = Math.max(storedToMs ?? 0, endMs)
    if (endMs > finalBeforeMs && candle.basis === 'mid') recorder.fix(instrument, candle, false)
    else if (endMs <= finalBeforeMs || !plan.hasTokens) {
      fixed.add(`${instrument}:${candle.openTimeMs}`)
      recorder.fix(instrument, candle, !plan.hasTokens && endMs <= finalBeforeMs)
    }
  }
  const isFixed = (instrument: string, timeMs: number) =>
    fixed.has(`${instrument}:${candleStart(timeMs, BASE_INTERVAL)}`)
  const restored = restoreTrades(recorder, !plan.hasTokens)
  for (const row of stored.trades)
    restored.stored(row, isFixed(row.token_id ?? marketId, Date.parse(row.timestamp)))
  try {
    // A volume that is left out does not prove that nothing was traded.
    if (volume == null || Number(volume) > 0) await requestFromVenue()
  } finally {
    restored.done()
  }

  async function requestFromVenue(): Promise<void> {
    // A yes/no contract may be a day old, and there are hundreds. So at the very first start only the venue's own candles of
    // the current hour and the trades of the current candle are requested; earlier ones are before our start.
    // The newest candles are built from trades: the venue's own may lack the last of them and would count as whole.
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
    // Within the first candle of the hour, or right after the last known one, there is none to request.
    if (!plan.hasTokens && Math.max(recorder.startMs, sinceMs) < settledMs) {
      const finer: ContractCandleObservation[] = []
      const request = { topic: 'contract_candles', symbol, market: marketId, interval: '1m' } as const
      const candles = venue.history({ ...request, range: { fromMs: sinceMs, toMs: settledMs } }, { signal })
      for await (const { observations } of candles)
        for (const row of observations) if (row.kind === 'contract_candle') finer.push(row)
      for (const candle of buildContractCandles({ interval: BASE_INTERVAL, finer }))
        if (!isFixed(marketId, candle.openTimeMs)) recorder.fix(marketId, candle, true)
    }
    if (range.fromMs >= range.toMs) return
    const trades = venue.history({ topic: 'trades', symbol, market: marketId, range }, { signal })
    for await (const { observations } of trades)
      for (const row of observations) if (row.kind === 'trade') restored.received(row)
  }
}

export function marketCandleOfRow(row: CandleRow): MarketCandle {
  const volume = row.volume ?? 0
  return {
    openTimeMs: Date.parse(row.timestamp),
    open: String(row.open),
    high: String(row.high),
    low: String(row.low),
    close: String(row.close),
    volume: String(volume),
    basis: volume > 0 ? 'trade' : 'mid',
    samples: 1,
  }
}
