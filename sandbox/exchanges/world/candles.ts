/**
 * Candles of one market, at any interval and for any instant, equal to the sums of its trades. Long candles are
 * assembled from days, hours, minutes and seconds; closed days and hours are cached.
 */
import { type CandleInterval, candleStart, INTERVAL_MS } from '../../../src/core/interval.ts'
import { Lru } from '../../../src/kit/lru.ts'
import type { Tape } from './tape.ts'
import { GENESIS_MS, type Sums } from './trade.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** A month of hours and a year of days take about 400 kB per market. */
const REMEMBERED_HOURS = 750
const REMEMBERED_DAYS = 400

/** A candle in ticks and lots; a candle without trades is flat at the last price before it. */
export interface Candle {
  openMs: number
  /** Inclusive, as on the venues. */
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
  /** The first raw fill, or -1 if there was none. */
  firstFill: number
}

export type Candles = ReturnType<typeof createCandles>

export function createCandles(tape: Tape) {
  const hours = new Lru<number, Candle>({ maxEntries: REMEMBERED_HOURS })
  const days = new Lru<number, Candle>({ maxEntries: REMEMBERED_DAYS })

  function lastPrice(timeMs: number): number {
    for (let endMs = timeMs; endMs > GENESIS_MS; ) {
      const startMs = Math.max(GENESIS_MS, Math.floor((endMs - 1) / 10_000) * 10_000)
      const sums = tape.sum(startMs, endMs)
      if (sums.trades > 0) return sums.close
      endMs = startMs
    }
    return tape.bidAt(GENESIS_MS)
  }

  function hour(openMs: number): Candle {
    const known = hours.get(openMs)
    if (known !== undefined) return known
    const candle = blank(openMs, openMs + HOUR_MS)
    for (let at = openMs; at < openMs + HOUR_MS; at += MINUTE_MS)
      addSums(candle, tape.sum(at, at + MINUTE_MS))
    hours.set(openMs, candle)
    return candle
  }

  function day(openMs: number): Candle {
    const known = days.get(openMs)
    if (known !== undefined) return known
    const candle = blank(openMs, openMs + DAY_MS)
    for (let at = openMs; at < openMs + DAY_MS; at += HOUR_MS) addCandle(candle, hour(at))
    days.set(openMs, candle)
    return candle
  }

  function total(fromMs: number, toMs: number): Candle {
    const candle = blank(fromMs, toMs)
    let at = Math.max(fromMs, GENESIS_MS)
    while (at < toMs) {
      if (at % DAY_MS === 0 && at + DAY_MS <= toMs) {
        addCandle(candle, day(at))
        at += DAY_MS
      } else if (at % HOUR_MS === 0 && at + HOUR_MS <= toMs) {
        addCandle(candle, hour(at))
        at += HOUR_MS
      } else {
        const endMs = Math.min(toMs, (Math.floor(at / MINUTE_MS) + 1) * MINUTE_MS)
        addSums(candle, tape.sum(at, endMs))
        at = endMs
      }
    }
    if (candle.trades === 0) candle.open = candle.high = candle.low = candle.close = lastPrice(fromMs)
    return candle
  }

  return {
    /** Everything that traded in from ≤ time < to. */
    total,
    /** The price of the last trade before an instant, in ticks. */
    lastPrice,
    /** The candle that opens at an instant, as it looked at `nowMs` (with trades up to and including that instant). */
    at(openMs: number, interval: CandleInterval, nowMs: number): Candle {
      const nextMs = openMs + INTERVAL_MS[interval]
      const candle = total(openMs, Math.min(nextMs, Math.max(nowMs + 1, openMs)))
      candle.closeMs = nextMs - 1
      return candle
    },
  }
}

/** The open times of the candles in a range: both ends inclusive by open time, never before the genesis. */
export function candleOpens(
  interval: CandleInterval,
  range: { fromMs?: number | undefined; toMs?: number | undefined; limit: number; nowMs: number },
): number[] {
  const lengthMs = INTERVAL_MS[interval]
  const lastMs = candleStart(Math.min(range.toMs ?? range.nowMs, range.nowMs), interval)
  const fromMs = range.fromMs ?? lastMs - (range.limit - 1) * lengthMs
  const opens: number[] = []
  let at = Math.max(candleStart(GENESIS_MS, interval), Math.ceil(fromMs / lengthMs) * lengthMs)
  for (; at <= lastMs && opens.length < range.limit; at += lengthMs) opens.push(at)
  return opens
}

/** The open times of the candles that closed in (from, to]. */
export function candlesClosed(interval: CandleInterval, fromMs: number, toMs: number): number[] {
  const lengthMs = INTERVAL_MS[interval]
  const opens: number[] = []
  for (let at = candleStart(fromMs, interval); at + lengthMs <= toMs; at += lengthMs) opens.push(at)
  return opens
}

function blank(openMs: number, endMs: number): Candle {
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

function addCandle(candle: Candle, part: Candle): void {
  if (part.trades === 0) return
  candle.quote += part.quote
  candle.buyQuote += part.buyQuote
  addCommon(candle, part)
}

function addSums(candle: Candle, part: Sums): void {
  if (part.trades === 0) return
  candle.quote += BigInt(part.quote)
  candle.buyQuote += BigInt(part.buyQuote)
  addCommon(candle, part)
}

function addCommon(candle: Candle, part: Omit<Sums, 'quote' | 'buyQuote'>): void {
  if (candle.trades === 0) {
    candle.open = part.open
    candle.high = part.high
    candle.low = part.low
    candle.firstFill = part.firstFill
  } else {
    if (part.high > candle.high) candle.high = part.high
    if (part.low < candle.low) candle.low = part.low
  }
  candle.close = part.close
  candle.lots += part.lots
  candle.buyLots += part.buyLots
  candle.trades += part.trades
  candle.fills += part.fills
}
