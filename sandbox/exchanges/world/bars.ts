/**
 * Candles of one market, at any interval and for any instant, equal to the sums of its trades. Coarse bars
 * are put together from days, hours, minutes and seconds; closed days and hours are remembered.
 */
import { Lru } from '../../../src/kit/lru.ts'
import { type BarInterval, barOpen, barStep } from './bar-interval.ts'
import type { Tape } from './tape.ts'
import { GENESIS_MS, type Sums } from './trade.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** A year of hours is some 2 MB per market, and only markets whose history is read fill it. */
const REMEMBERED_HOURS = 10_000
const REMEMBERED_DAYS = 3_000

/** A candle in ticks and lots; a bar without trades is flat at the last price before it. */
export interface Bar {
  openMs: number
  /** Inclusive, as the venues print it. */
  closeMs: number
  open: number
  high: number
  low: number
  close: number
  lots: number
  buyLots: number
  quote: bigint
  buyQuote: bigint
  trades: number
  fills: number
  /** First raw fill, -1 when there was none. */
  firstFill: number
}

export interface Bars {
  /** Everything that traded in from ≤ time < to. */
  total(fromMs: number, toMs: number): Bar
  /** The bar that opens at an instant, as it looked at `nowMs` (trades up to and including that instant). */
  at(openMs: number, interval: BarInterval, nowMs: number): Bar
  /** The price of the last trade before an instant, in ticks. */
  lastPrice(timeMs: number): number
}

export function createBars(tape: Tape): Bars {
  const hours = new Lru<number, Bar>({ maxEntries: REMEMBERED_HOURS })
  const days = new Lru<number, Bar>({ maxEntries: REMEMBERED_DAYS })

  function lastPrice(timeMs: number): number {
    for (let endMs = timeMs; endMs > GENESIS_MS; ) {
      const startMs = Math.max(GENESIS_MS, Math.floor((endMs - 1) / 10_000) * 10_000)
      const sums = tape.sum(startMs, endMs)
      if (sums.trades > 0) return sums.close
      endMs = startMs
    }
    return tape.bidAt(GENESIS_MS)
  }

  function hour(openMs: number): Bar {
    const known = hours.get(openMs)
    if (known !== undefined) return known
    const bar = blank(openMs, openMs + HOUR_MS)
    for (let at = openMs; at < openMs + HOUR_MS; at += MINUTE_MS) addSums(bar, tape.sum(at, at + MINUTE_MS))
    hours.set(openMs, bar)
    return bar
  }

  function day(openMs: number): Bar {
    const known = days.get(openMs)
    if (known !== undefined) return known
    const bar = blank(openMs, openMs + DAY_MS)
    for (let at = openMs; at < openMs + DAY_MS; at += HOUR_MS) addBar(bar, hour(at))
    days.set(openMs, bar)
    return bar
  }

  function total(fromMs: number, toMs: number): Bar {
    const bar = blank(fromMs, toMs)
    let at = Math.max(fromMs, GENESIS_MS)
    while (at < toMs) {
      if (at % DAY_MS === 0 && at + DAY_MS <= toMs) {
        addBar(bar, day(at))
        at += DAY_MS
      } else if (at % HOUR_MS === 0 && at + HOUR_MS <= toMs) {
        addBar(bar, hour(at))
        at += HOUR_MS
      } else {
        const endMs = Math.min(toMs, (Math.floor(at / MINUTE_MS) + 1) * MINUTE_MS)
        addSums(bar, tape.sum(at, endMs))
        at = endMs
      }
    }
    if (bar.trades === 0) bar.open = bar.high = bar.low = bar.close = lastPrice(fromMs)
    return bar
  }

  return {
    total,
    lastPrice,
    at(openMs, interval, nowMs) {
      const nextMs = barStep(openMs, interval, 1)
      const bar = total(openMs, Math.min(nextMs, Math.max(nowMs + 1, openMs)))
      bar.closeMs = nextMs - 1
      return bar
    },
  }
}

/** The opens of the bars a range touches: both ends inclusive by open time, never before the genesis. */
export function barOpens(
  interval: BarInterval,
  range: { fromMs?: number | undefined; toMs?: number | undefined; limit: number; nowMs: number },
): number[] {
  const firstMs = barOpen(GENESIS_MS, interval)
  const lastMs = barOpen(Math.min(range.toMs ?? range.nowMs, range.nowMs), interval)
  const opens: number[] = []
  if (range.fromMs === undefined) {
    for (let at = lastMs; at >= firstMs && opens.length < range.limit; at = barStep(at, interval, -1))
      opens.push(at)
    return opens.reverse()
  }
  const floor = barOpen(range.fromMs, interval)
  let at = Math.max(firstMs, floor === range.fromMs ? floor : barStep(floor, interval, 1))
  for (; at <= lastMs && opens.length < range.limit; at = barStep(at, interval, 1)) opens.push(at)
  return opens
}

function blank(openMs: number, endMs: number): Bar {
  return {
    openMs,
    closeMs: endMs - 1,
    open: 0,
    high: 0,
    low: 0,
    close: 0,
    lots: 0,
    buyLots: 0,
    quote: 0n,
    buyQuote: 0n,
    trades: 0,
    fills: 0,
    firstFill: -1,
  }
}

function addBar(bar: Bar, part: Bar): void {
  if (part.trades === 0) return
  bar.quote += part.quote
  bar.buyQuote += part.buyQuote
  addCommon(bar, part)
}

function addSums(bar: Bar, part: Sums): void {
  if (part.trades === 0) return
  bar.quote += BigInt(part.quote)
  bar.buyQuote += BigInt(part.buyQuote)
  addCommon(bar, part)
}

function addCommon(bar: Bar, part: Omit<Sums, 'quote' | 'buyQuote'>): void {
  if (bar.trades === 0) {
    bar.open = part.open
    bar.high = part.high
    bar.low = part.low
    bar.firstFill = part.firstFill
  } else {
    if (part.high > bar.high) bar.high = part.high
    if (part.low < bar.low) bar.low = part.low
  }
  bar.close = part.close
  bar.lots += part.lots
  bar.buyLots += part.buyLots
  bar.trades += part.trades
  bar.fills += part.fills
}
