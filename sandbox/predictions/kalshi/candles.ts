/** Candles of a strike market. They are stamped with their end; days end at midnight in New York. */
import type { Life, MarketTrade } from '../world/life.ts'
import { fromNewYork, newYorkOffsetMs } from '../world/new-york.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { contracts, dollars, openInterestOf } from './payloads.ts'

const PERIODS = [1, 60, 1_440] as const
type Period = (typeof PERIODS)[number]

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const SLOTS_PER_STEP = 5

interface CandleQuery {
  /** Minutes. */
  readonly period: Period
  readonly fromMs: number
  readonly toMs: number
}

export function parseCandleQuery(query: URLSearchParams): CandleQuery | undefined {
  const period = PERIODS.find((one) => String(one) === query.get('period_interval'))
  const second = (name: string) => Number(query.get(name) ?? Number.NaN)
  const [start, end] = [second('start_ts'), second('end_ts')]
  if (period === undefined || !Number.isFinite(start) || !Number.isFinite(end) || end < start)
    return undefined
  return { period, fromMs: start * 1_000, toMs: end * 1_000 }
}

/** Ends of the candles that overlap fromMs < end ≤ toMs, in order. */
function candleEnds({ period, fromMs, toMs }: CandleQuery): number[] {
  const ends: number[] = []
  const lengthMs = period * MINUTE_MS
  const isDay = period === 1_440
  const first = isDay ? dayEnd(fromMs) : Math.ceil(fromMs / lengthMs) * lengthMs
  for (let end = first; end <= toMs; end = isDay ? dayEnd(end + 1) : end + lengthMs) ends.push(end)
  return ends
}

/** The first New York midnight at or after an instant. */
function dayEnd(timeMs: number): number {
  const wall = timeMs + newYorkOffsetMs(timeMs)
  return fromNewYork(Math.ceil(wall / DAY_MS) * DAY_MS)
}

const candleStart = (period: Period, endMs: number): number =>
  period === 1_440 ? dayEnd(endMs - DAY_MS - 2 * 3_600_000) : endMs - period * MINUTE_MS

interface Names {
  /** `open_dollars`, or plain `open` in the historical tier. */
  readonly price: (name: string) => string
  readonly volume: string
  readonly interest: string
}
const LIVE: Names = { price: (name) => `${name}_dollars`, volume: 'volume_fp', interest: 'open_interest_fp' }
const HISTORICAL: Names = { price: (name) => name, volume: 'volume', interest: 'open_interest' }

export function candlesOf(
  market: StrikeMarket,
  life: Life,
  query: CandleQuery,
  about: { nowMs: number; isHistorical: boolean },
): Record<string, unknown>[] {
  const names = about.isHistorical ? HISTORICAL : LIVE
  const { openMs, closeMs } = market.event
  return candleEnds(query).flatMap((endMs) => {
    const startMs = candleStart(query.period, endMs)
    const exists = endMs > openMs && startMs < closeMs && startMs < about.nowMs
    return exists ? [candle(life, { startMs, lastMs: Math.min(endMs, about.nowMs), endMs }, names)] : []
  })
}

function candle(
  life: Life,
  { startMs, lastMs, endMs }: { startMs: number; lastMs: number; endMs: number },
  names: Names,
): Record<string, unknown> {
  const clamp = (slot: number) => Math.max(0, Math.min(life.lastSlot, slot))
  const [first, last] = [clamp(life.slotAt(startMs)), clamp(life.slotAt(lastMs))]
  const bids: number[] = []
  const asks: number[] = []
  for (let slot = first; ; slot = Math.min(last, slot - (slot % SLOTS_PER_STEP) + SLOTS_PER_STEP)) {
    bids.push(life.bid(slot))
    asks.push(life.ask(slot))
    if (slot >= last) break
  }
  const [before, until] = [life.tradesUntil(life.slotAt(startMs)), life.tradesUntil(last)]
  const trades = life.trades(before, until)
  const previous = life.trade(before - 1)
  const volume = life.volume(before, until)
  return {
    end_period_ts: Math.floor(endMs / 1_000),
    yes_bid: ohlc(bids, names),
    yes_ask: ohlc(asks, names),
    price: {
      ...(trades.length === 0 ? empty(names) : traded(trades, volume, names)),
      [names.price('previous')]: previous === undefined ? null : dollars(previous.price),
    },
    [names.volume]: contracts(volume),
    [names.interest]: contracts(openInterestOf(life.volume(0, until))),
  }
}

function ohlc(values: readonly number[], names: Names): Record<string, string> {
  return {
    [names.price('open')]: dollars(values[0] ?? 0),
    [names.price('low')]: dollars(Math.min(...values)),
    [names.price('high')]: dollars(Math.max(...values)),
    [names.price('close')]: dollars(values.at(-1) ?? 0),
  }
}

function traded(trades: readonly MarketTrade[], volume: number, names: Names): Record<string, string> {
  const prices = trades.map((trade) => trade.price)
  const mean = trades.reduce((sum, trade) => sum + trade.price * trade.size, 0) / volume
  return { ...ohlc(prices, names), [names.price('mean')]: dollars(mean) }
}

const empty = (names: Names): Record<string, null> =>
  Object.fromEntries(['open', 'low', 'high', 'close', 'mean'].map((name) => [names.price(name), null]))
