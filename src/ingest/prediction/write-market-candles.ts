/**
 * Candles of one market on their way to the store.
 *
 *   changed ──▶ written open ──`CLOSE_AFTER_MS` after its end──▶ written closed; late data writes it again
 *   holds a trade that cannot be stored ──▶ refused, since it cannot be right
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../core/interval.ts'
import type { MarketCandle, MidSample } from '../../core/market-candles.ts'
import type { MarketInput } from '../../core/rows/market.ts'
import type { TradeObservation } from '../../venues/observation.ts'
import { COARSE_INTERVALS, candleFeed } from '../shared/feeds.ts'
import type { RowWriter } from '../shared/write-rows.ts'
import { createMarketCandleBuilder } from './build-market-candles.ts'
import type { PredictionPlan } from './market-feeds.ts'

/** Trades arrive late, those on a chain even later. */
const CLOSE_AFTER_MS = 30_000

export interface MarketCandleWriter {
  trade(observation: TradeObservation): void
  mid(instrument: string, sample: MidSample): void
  /** A candle of 5m that is known already. */
  fix(instrument: string, candle: MarketCandle, isWhole: boolean): void
  /** A trade that cannot be stored: no candle of its time is written. */
  refuseAt(observation: TradeObservation): void
  /** Puts the candles that have changed or ended. */
  show(nowMs: number): void
}

interface CandlePlace {
  readonly instrument: string
  readonly interval: CandleInterval
  readonly openTimeMs: number
}

const nameOf = ({ instrument, interval, openTimeMs }: CandlePlace) =>
  `${instrument}:${interval}:${openTimeMs}`

const isCandleClosed = (
  { interval, openTimeMs }: Pick<CandlePlace, 'interval' | 'openTimeMs'>,
  nowMs: number,
): boolean => nowMs >= openTimeMs + INTERVAL_MS[interval] + CLOSE_AFTER_MS

export function createMarketCandleWriter(options: {
  plan: PredictionPlan
  instruments: readonly string[]
  /** As it is known now. */
  market: () => MarketInput
  writer: Pick<RowWriter, 'put' | 'refuse'>
}): MarketCandleWriter {
  const { plan, writer } = options
  const builders = new Map(
    options.instruments.map((instrument) => [instrument, createMarketCandleBuilder(plan.volume)]),
  )
  const tokens = options.market().tokens ?? []
  /** Written open: written once more when they have ended. */
  const open = new Map<string, CandlePlace>()
  const refused = new Set<string>()

  function refuse({ interval, openTimeMs }: CandlePlace): void {
    const feed = candleFeed(plan.source, options.market().symbol, interval)
    writer.refuse(feed, openTimeMs)
  }

  function put(instrument: string, interval: CandleInterval, candle: MarketCandle, nowMs: number): void {
    const place = { instrument, interval, openTimeMs: candle.openTimeMs }
    const name = nameOf(place)
    if (refused.has(name)) {
      refuse(place)
      open.delete(name)
      return
    }
    const closed = isCandleClosed(place, nowMs)
    if (closed) open.delete(name)
    else open.set(name, place)
    const { symbol, marketId, slug, question } = options.market()
    const token = tokens.find(({ tokenId }) => tokenId === instrument)
    const market = {
      marketId,
      slug: slug ?? null,
      tokenId: token?.tokenId ?? null,
      outcome: token?.outcome ?? (plan.hasTokens ? null : 'yes'),
      question: question ?? null,
    }
    const { openTimeMs: time, high, low, close, volume } = candle
    const row = { time, open: candle.open, high, low, close, volume, closed, market }
    writer.put(candleFeed(plan.source, symbol, interval), [row])
  }

  return {
    trade({ instrument, price, size, venueTimeMs: timeMs, isBlock }) {
      builders.get(instrument)?.trade({ timeMs, price, size, ...(isBlock === true ? { isBlock } : {}) })
    },
    mid: (instrument, sample) => builders.get(instrument)?.mid(sample),
    fix: (instrument, candle, isWhole) => builders.get(instrument)?.fix(candle, isWhole),
    refuseAt({ instrument, venueTimeMs }) {
      for (const interval of COARSE_INTERVALS) {
        const place = { instrument, interval, openTimeMs: candleStart(venueTimeMs, interval) }
        refused.add(nameOf(place))
        refuse(place)
      }
    },
    show(nowMs) {
      for (const [instrument, builder] of builders)
        for (const { interval, candle } of builder.take()) put(instrument, interval, candle, nowMs)
      for (const place of [...open.values()]) {
        if (!isCandleClosed(place, nowMs)) continue
        const { instrument, interval, openTimeMs } = place
        const candle = builders.get(instrument)?.at(openTimeMs, interval)
        if (candle !== undefined) put(instrument, interval, candle, nowMs)
      }
    },
  }
}
