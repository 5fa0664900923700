/** Payloads of the perpetual venue. Numbers are decimal strings in their shortest form with one decimal at least. */
import { type BarInterval, barStep } from '../world/bar-interval.ts'
import type { Bar } from '../world/bars.ts'
import { SLOT_MS, slotOf } from '../world/book.ts'
import { short, shortBig } from '../world/fixed.ts'
import { hash32 } from '../world/hash.ts'
import type { Market } from '../world/markets.ts'
import { GENESIS_MS, type Trade } from '../world/trade.ts'
import type { MarketWorld } from '../world/world.ts'

const DAY_MS = 86_400_000
const ZERO_HASH = `0x${'0'.repeat(64)}`
const TRADERS = 200

export const priceText = (market: Market, ticks: number): string => short(ticks, market.priceDecimals)
export const sizeText = (market: Market, lots: number): string => short(lots, market.sizeDecimals)

/** A plain number with at most that many decimals, trailing zeros cut. */
export function decimalText(value: number, decimals: number): string {
  return short(Math.round(value * 10 ** decimals), decimals)
}

/** 50 bits of hash, not sequential; nothing in it tells that one is missing. */
export function tradeIdOf(seed: number, market: Market, id: number): number {
  return (
    (hash32(seed, market.stream + 60, id) & 0x3ffff) * 4_294_967_296 + hash32(seed, market.stream + 61, id)
  )
}

/** The traders by number; a stream of many trades makes their names once. */
export function traderNames(seed: number): readonly string[] {
  return Array.from({ length: TRADERS }, (_, index) => trader(seed, index))
}

export function tradeText(seed: number, market: Market, trade: Trade, names?: readonly string[]): string {
  const random = hash32(seed, market.stream + 60, trade.id)
  const tid = tradeIdOf(seed, market, trade.id)
  const nameOf = (index: number) => names?.[index] ?? trader(seed, index)
  const buyer = nameOf(random % TRADERS)
  const seller = nameOf((random >>> 8) % TRADERS)
  const hash = random % 5 === 0 ? ZERO_HASH : `0x${hex(seed, market.stream + 62, trade.id, 8)}`
  return (
    `{"coin":"${market.name}","side":"${trade.takerBuys ? 'B' : 'A'}","px":"${priceText(market, trade.price)}",` +
    `"sz":"${sizeText(market, trade.lots)}","time":${trade.timeMs},"hash":"${hash}","tid":${tid},` +
    `"users":["${buyer}","${seller}"]}`
  )
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

export function candleText(market: Market, interval: BarInterval, bar: Bar): string {
  const price = (ticks: number) => priceText(market, ticks)
  return (
    `{"t":${bar.openMs},"T":${bar.closeMs},"s":"${market.name}","i":"${interval}","o":"${price(bar.open)}",` +
    `"c":"${price(bar.close)}","h":"${price(bar.high)}","l":"${price(bar.low)}","v":"${sizeText(market, bar.lots)}","n":${bar.trades}}`
  )
}

/** The book of the 100 ms slot that holds an instant. */
export function bookText(entry: MarketWorld, timeMs: number, depth: number, isFast: boolean): string {
  const [bids, asks] = sidesText(entry, timeMs, depth)
  return `{"coin":"${entry.market.name}","time":${timeMs},"levels":[[${bids}],[${asks}]]${isFast ? ',"fast":true' : ''}}`
}

export function bboText(entry: MarketWorld, timeMs: number): string {
  const [bid, ask] = sidesText(entry, timeMs, 1)
  return `{"coin":"${entry.market.name}","time":${timeMs},"bbo":[${bid},${ask}]}`
}

function sidesText({ market, book }: MarketWorld, timeMs: number, depth: number): [string, string] {
  const slot = slotOf(timeMs)
  const state = book.top(slot, depth)
  const side = (levels: typeof state.bids) =>
    levels
      .map(
        ([px, lots]) =>
          `{"px":"${priceText(market, px)}","sz":"${sizeText(market, lots)}","n":${book.orders(px, slot)}}`,
      )
      .join(',')
  return [side(state.bids), side(state.asks)]
}

/** The mid of a one-tick spread lies between two ticks. */
export function midText({ market, tape }: MarketWorld, timeMs: number): string {
  return short((2 * tape.bidAt(slotOf(timeMs) * SLOT_MS) + 1) * 5, market.priceDecimals + 1)
}

/** Mark and oracle move every 3 s, funding every 5 s, the day's volumes every minute. */
export function contextText(entry: MarketWorld, timeMs: number): string {
  const { market, bars, derivatives, tape } = entry
  const slowMs = Math.floor(timeMs / 3_000) * 3_000
  const minuteMs = Math.floor(timeMs / 60_000) * 60_000
  const dayAgoMs = Math.max(GENESIS_MS, minuteMs - DAY_MS)
  const day = bars.total(dayAgoMs, minuteMs)
  const priceDecimals = market.priceDecimals + 1
  const bid = tape.bidAt(slotOf(timeMs) * SLOT_MS)
  return (
    `{"funding":"${decimalText(derivatives.runningRate(Math.floor(timeMs / 5_000) * 5_000), 10)}",` +
    `"openInterest":"${sizeText(market, derivatives.openInterest(timeMs))}",` +
    `"prevDayPx":"${priceText(market, bars.lastPrice(dayAgoMs + 1))}",` +
    `"dayNtlVlm":"${shortBig(day.quote, market.priceDecimals + market.sizeDecimals)}",` +
    `"premium":"${decimalText(derivatives.premium(slowMs), 10)}",` +
    `"oraclePx":"${decimalText(derivatives.indexPrice(slowMs), priceDecimals)}",` +
    `"markPx":"${decimalText(derivatives.markPrice(slowMs), priceDecimals)}",` +
    `"midPx":"${midText(entry, timeMs)}","impactPxs":["${priceText(market, bid)}","${priceText(market, bid + 1)}"],` +
    `"dayBaseVlm":"${sizeText(market, day.lots)}"}`
  )
}

/** Candles of an interval that still exist: the newest 5,000. */
export function oldestCandle(interval: BarInterval, newestOpenMs: number): number {
  return barStep(newestOpenMs, interval, -4_999)
}
