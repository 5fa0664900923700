/** Payloads of the perpetual venue. Numbers are decimal strings in their shortest form, with at least one decimal. */
import type { CandleInterval } from '../../../src/core/interval.ts'
import { SLOT_MS, slotOf } from '../world/book.ts'
import type { Candle } from '../world/candles.ts'
import { short, shortBig } from '../world/fixed.ts'
import { hash32 } from '../world/hash.ts'
import type { Market } from '../world/markets.ts'
import { GENESIS_MS, type Trade } from '../world/trade.ts'
import type { MarketWorld } from '../world/world.ts'

const DAY_MS = 86_400_000
const ZERO_HASH = `0x${'0'.repeat(64)}`
const TRADERS = 200

const priceText = (market: Market, ticks: number): string => short(ticks, market.priceDecimals)
const sizeText = (market: Market, lots: number): string => short(lots, market.sizeDecimals)

/** A plain number with at most `decimals` decimals and without trailing zeros. */
export function decimalText(value: number, decimals: number): string {
  return short(Math.round(value * 10 ** decimals), decimals)
}

/** 50 bits of hash, not sequential, so ids do not reveal that one is missing. */
export function perpTradeId(seed: number, market: Market, id: number): number {
  return (
    (hash32(seed, market.stream + 60, id) & 0x3ffff) * 4_294_967_296 + hash32(seed, market.stream + 61, id)
  )
}

export function tradeRow(seed: number, market: Market, trade: Trade) {
  const random = hash32(seed, market.stream + 60, trade.id)
  return {
    coin: market.name,
    side: trade.takerBuys ? 'B' : 'A',
    px: priceText(market, trade.price),
    sz: sizeText(market, trade.lots),
    time: trade.timeMs,
    hash: random % 5 === 0 ? ZERO_HASH : `0x${hex(seed, market.stream + 62, trade.id, 8)}`,
    tid: perpTradeId(seed, market, trade.id),
    users: [trader(seed, random % TRADERS), trader(seed, (random >>> 8) % TRADERS)],
  }
}

const trader = (seed: number, index: number): string => `0x${hex(seed, 70, index, 5)}`

function hex(seed: number, stream: number, index: number, words: number): string {
  let text = ''
  for (let word = 0; word < words; word++)
    text += hash32(seed, stream + word * 97, index)
      .toString(16)
      .padStart(8, '0')
  return text
}

export const candleRow = (market: Market, interval: CandleInterval, candle: Candle) => ({
  t: candle.openMs,
  T: candle.closeMs,
  s: market.name,
  i: interval,
  o: priceText(market, candle.open),
  c: priceText(market, candle.close),
  h: priceText(market, candle.high),
  l: priceText(market, candle.low),
  v: sizeText(market, candle.lots),
  n: candle.trades,
})

/** The book of the 100 ms slot that contains an instant. */
export const bookRow = (entry: MarketWorld, timeMs: number, depth: number) => ({
  coin: entry.market.name,
  time: timeMs,
  levels: sidesOf(entry, timeMs, depth),
})

function sidesOf({ market, book }: MarketWorld, timeMs: number, depth: number) {
  const slot = slotOf(timeMs)
  const state = book.top(slot, depth)
  return [state.bids, state.asks].map((levels) =>
    levels.map(([px, lots]) => ({
      px: priceText(market, px),
      sz: sizeText(market, lots),
      n: book.orders(px, slot),
    })),
  )
}

/** Mark and oracle prices change every 3 s, funding every 5 s, the day's volumes every minute. */
export function contextRow(entry: MarketWorld, timeMs: number) {
  const { market, derivatives, tape } = entry
  const slowMs = Math.floor(timeMs / 3_000) * 3_000
  const day = dayUntil(entry, Math.floor(timeMs / 60_000) * 60_000)
  const priceDecimals = market.priceDecimals + 1
  const bid = tape.bidAt(slotOf(timeMs) * SLOT_MS)
  return {
    funding: decimalText(derivatives.runningRate(Math.floor(timeMs / 5_000) * 5_000), 10),
    openInterest: sizeText(market, derivatives.openInterest(timeMs)),
    prevDayPx: day.previousPrice,
    dayNtlVlm: day.quoteVolume,
    premium: decimalText(derivatives.premium(slowMs), 10),
    oraclePx: decimalText(derivatives.indexPrice(slowMs), priceDecimals),
    markPx: decimalText(derivatives.markPrice(slowMs), priceDecimals),
    // The mid of a one-tick spread lies between two ticks.
    midPx: short((2 * bid + 1) * 5, priceDecimals),
    impactPxs: [priceText(market, bid), priceText(market, bid + 1)],
    dayBaseVlm: day.baseVolume,
  }
}

/** The figures of the day before a minute. They are sent every second but change every minute. */
const DAYS = new WeakMap<MarketWorld, ReturnType<typeof sumDay>>()

function dayUntil(entry: MarketWorld, minuteMs: number) {
  const known = DAYS.get(entry)
  if (known?.minuteMs === minuteMs) return known
  const day = sumDay(entry, minuteMs)
  DAYS.set(entry, day)
  return day
}

function sumDay({ market, candles }: MarketWorld, minuteMs: number) {
  const dayAgoMs = Math.max(GENESIS_MS, minuteMs - DAY_MS)
  const { quote, lots } = candles.total(dayAgoMs, minuteMs)
  return {
    minuteMs,
    previousPrice: priceText(market, candles.lastPrice(dayAgoMs + 1)),
    quoteVolume: shortBig(quote, market.priceDecimals + market.sizeDecimals),
    baseVolume: sizeText(market, lots),
  }
}
