/** The state of a market at an instant, and the venue's time formats. */
import { otherSymbol } from '../../server/service.ts'
import { delayedMs, type PredictionVenue } from '../venue.ts'
import { LEVELS, type Life } from '../world/life.ts'
import type { UpDown } from '../world/up-down.ts'
import { lastTrade, seenFrom } from './leg-book.ts'

export interface MarketView {
  readonly market: UpDown
  readonly life: Life
  readonly slot: number
  readonly closedMs: number
  readonly isClosed: boolean
  readonly hasBook: boolean
  /** False until the market is closed. */
  readonly isUp: boolean
  /** Dollars. */
  readonly volume: number
  readonly liquidity: number
  /** Best prices of the first leg, in thousandths; 0 and 1000 for empty sides. */
  readonly bid: number
  readonly ask: number
  readonly lastPrice: number | undefined
}

/** The book is removed this long after the settlement or the end of trading. */
const BOOK_GONE_AFTER_MS = 30_000
const TRADING_AFTER_END_MS = 90_000

export function closedMsOf(venue: PredictionVenue, market: UpDown): number {
  return delayedMs(venue.faults, 'polymarket', market.symbol, market.resolvedMs)
}

export function hasBookAt(venue: PredictionVenue, market: UpDown, nowMs: number): boolean {
  const goneMs = Math.max(closedMsOf(venue, market), market.endMs + TRADING_AFTER_END_MS) + BOOK_GONE_AFTER_MS
  return nowMs >= market.bookFromMs && nowMs < goneMs
}

export const slotOf = (life: Life, nowMs: number): number => Math.min(life.slotAt(nowMs), life.lastSlot)

const scratch = { bids: new Int32Array(LEVELS), asks: new Int32Array(LEVELS) }

/** Dollar volume of the first `trades` trades. */
export const volumeOf = (life: Life, trades: number): number =>
  Math.round(life.dollarVolume(trades) * 1e6) / 1e6

/** Dollars in a book. */
export function liquidityOf(bids: Int32Array, asks: Int32Array): number {
  let liquidity = 0
  for (let price = 1; price < 1_000; price++)
    liquidity += ((bids[price] as number) * price + (asks[price] as number) * (1_000 - price)) / 100_000
  return Math.round(liquidity * 1e4) / 1e4
}

export function viewOf(venue: PredictionVenue, market: UpDown): MarketView {
  const nowMs = venue.now()
  const life = venue.world.lifeOf(market)
  const slot = slotOf(life, nowMs)
  const closedMs = closedMsOf(venue, market)
  const isClosed = nowMs >= closedMs
  const { bids, asks } = scratch
  life.fill(slot, bids, asks)
  const last = lastTrade(life, slot, 0)
  return {
    market,
    life,
    slot,
    closedMs,
    isClosed,
    hasBook: hasBookAt(venue, market, nowMs),
    isUp: isClosed && venue.world.isUp(market),
    volume: volumeOf(life, life.tradesUntil(slot)),
    liquidity: liquidityOf(bids, asks),
    bid: life.bid(slot),
    ask: life.ask(slot),
    lastPrice: last === undefined ? undefined : seenFrom(last).price,
  }
}

/** The window of another symbol at the same time. */
export function counterpart({ world }: PredictionVenue, market: UpDown | undefined): UpDown | undefined {
  if (market === undefined) return undefined
  const { symbol, tenor, startMs } = market
  return world.upDowns.between(otherSymbol(symbol), tenor, startMs, startMs + 1)[0]
}

export const isoSeconds = (timeMs: number): string => new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z')
