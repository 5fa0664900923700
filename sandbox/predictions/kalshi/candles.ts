/** Candles of a strike market. They are stamped with their end; days end at midnight in New York. */
import type { Life, Print } from '../world/life.ts'
import { fromNewYork, newYorkOffsetMs } from '../world/new-york.ts'
import type { StrikeMarket } from '../world/strikes.ts'
import { contracts, dollars } from './text.ts'
import { openInterestOf, volumeUntil } from './view.ts'

export const PERIODS = [1, 60, 1_440] as const
export type Period = (typeof PERIODS)[number]

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const SLOTS_PER_STEP = 5

/** Ends of the bars that overlap fromMs < end ≤ toMs, in order. */
export function barEnds(period: Period, fromMs: number, toMs: number): number[] {
  const ends: number[] = []
  const first =
    period === 1_440 ? dayEnd(fromMs) : Math.ceil(fromMs / (period * MINUTE_MS)) * period * MINUTE_MS
  for (let end = first; end <= toMs; end = period === 1_440 ? dayEnd(end + 1) : end + period * MINUTE_MS)
    ends.push(end)
  return ends
}

/** The first New York midnight at or after an instant. */
function dayEnd(timeMs: number): number {
  const wall = timeMs + newYorkOffsetMs(timeMs)
  return fromNewYork(Math.ceil(wall / DAY_MS) * DAY_MS)
}

const barStart = (period: Period, endMs: number): number =>
  period === 1_440 ? dayEnd(endMs - DAY_MS - 2 * 3_600_000) : endMs - period * MINUTE_MS

interface Names {
  /** `open_dollars`, or plain `open` in the historical tier. */
  readonly price: (name: string) => string
  readonly volume: string
  readonly interest: string
}
const LIVE: Names = { price: (name) => `${name}_dollars`, volume: 'volume_fp', interest: 'open_interest_fp' }
const HISTORICAL: Names = { price: (name) => name, volume: 'volume', interest: 'open_interest' }

export function candlesOf(options: {
  market: StrikeMarket
  life: Life
  period: Period
  fromMs: number
  toMs: number
  nowMs: number
  isHistorical: boolean
}): Record<string, unknown>[] {
  const { market, life, period } = options
  const names = options.isHistorical ? HISTORICAL : LIVE
  const { openMs, closeMs } = market.event
  return barEnds(period, options.fromMs, options.toMs)
    .filter((endMs) => {
      const startMs = barStart(period, endMs)
      return endMs > openMs && startMs < closeMs && startMs < options.nowMs
    })
    .map((endMs) => candle(life, barStart(period, endMs), Math.min(endMs, options.nowMs), endMs, names))
}

function candle(
  life: Life,
  startMs: number,
  lastMs: number,
  endMs: number,
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
  const [before, until] = [life.printsUntil(life.slotAt(startMs)), life.printsUntil(last)]
  const prints = life.prints.slice(before, until)
  const previous = life.prints[before - 1]
  const volume = prints.reduce((sum, print) => sum + print.size, 0)
  return {
    end_period_ts: Math.floor(endMs / 1_000),
    yes_bid: ohlc(bids, names),
    yes_ask: ohlc(asks, names),
    price: {
      ...(prints.length === 0 ? empty(names) : traded(prints, volume, names)),
      [names.price('previous')]: previous === undefined ? null : dollars(previous.price),
    },
    [names.volume]: contracts(volume),
    [names.interest]: contracts(openInterestOf(volumeUntil(life, last))),
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

function traded(prints: readonly Print[], volume: number, names: Names): Record<string, string> {
  const prices = prints.map((print) => print.price)
  const mean = prints.reduce((sum, print) => sum + print.price * print.size, 0) / volume
  return { ...ohlc(prices, names), [names.price('mean')]: dollars(mean) }
}

const empty = (names: Names): Record<string, null> =>
  Object.fromEntries(['open', 'low', 'high', 'close', 'mean'].map((name) => [names.price(name), null]))
