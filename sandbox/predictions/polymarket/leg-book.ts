/**
 * The order book of one market as the venue shows it: two legs that mirror each other, and the hash over the text of a
 * book, which must be recomputed after every single change.
 */
import { hash as digest } from 'node:crypto'
import { BookChanges, type LevelChange } from '../world/book-changes.ts'
import { LEVELS, type Life, type MarketTrade } from '../world/life.ts'
import type { UpDown } from '../world/up-down.ts'
import { priceText, SideText } from './side-text.ts'

export type Leg = 0 | 1

export const MIN_ORDER_SIZE = '5'
/** Scratch space for the sizes of the slot that a book moves to. */
const nextBids = new Int32Array(LEVELS)
const nextAsks = new Int32Array(LEVELS)
const [UP_BIDS, UP_ASKS, DOWN_BIDS, DOWN_ASKS] = [0, 1, 2, 3] as const
/** Scratch space for the text being hashed; larger than the longest book. */
const hashed = Buffer.allocUnsafeSlow(256 * 1_024)

export function createLegBook(market: UpDown, life: Life) {
  const bids = new Int32Array(LEVELS)
  const asks = new Int32Array(LEVELS)
  /** Each is created on first use. */
  const texts: (SideText | undefined)[] = []
  let slot = Number.NEGATIVE_INFINITY
  /** Best prices of the first leg; 0 and 1000 for empty sides. */
  let upBid = 0
  let upAsk = 1_000
  const changes = new BookChanges(life)
  let lastTrades: [string, string] = ['0', '0']
  let tradeCount = 0
  let tick = '0.01'

  function bidBelow(price: number): number {
    let next = price - 1
    while (next > 0 && bids[next] === 0) next--
    return next
  }
  function askAbove(price: number): number {
    let next = price + 1
    while (next < 1_000 && asks[next] === 0) next++
    return next
  }

  function put(isBid: boolean, price: number, size: number): void {
    const sizes = isBid ? bids : asks
    sizes[price] = size
    if (isBid && size !== 0) upBid = Math.max(upBid, price)
    else if (isBid && price === upBid) upBid = bidBelow(price)
    else if (!isBid && size !== 0) upAsk = Math.min(upAsk, price)
    else if (!isBid && price === upAsk) upAsk = askAbove(price)
    const rank = isBid ? price : 1_000 - price
    texts[isBid ? UP_BIDS : UP_ASKS]?.set(rank, size)
    texts[isBid ? DOWN_ASKS : DOWN_BIDS]?.set(rank, size)
  }

  function arrive(at: number): void {
    slot = at
    tick = life.tick(at) === 1 ? '0.001' : '0.01'
    const count = life.tradesUntil(at)
    if (count === tradeCount) return
    tradeCount = count
    lastTrades = [lastTradeText(life, at, 0), lastTradeText(life, at, 1)]
  }

  /** The second leg mirrors the other side of the first: its bids are the asks, and its asks the bids. */
  function sideText(side: number): SideText {
    const isOfBids = side === UP_BIDS || side === DOWN_ASKS
    const sizeAt = (rank: number) => (isOfBids ? bids[rank] : asks[1_000 - rank]) as number
    const text = texts[side] ?? new SideText(side === UP_BIDS || side === DOWN_BIDS, sizeAt)
    texts[side] = text
    return text
  }
  const bidsOf = (leg: Leg) => sideText(leg === 0 ? UP_BIDS : DOWN_BIDS)
  const asksOf = (leg: Leg) => sideText(leg === 0 ? UP_ASKS : DOWN_ASKS)

  const head = (leg: Leg, timeMs: number, hash: string): string =>
    `{"market":"${market.conditionId}","asset_id":"${market.tokens[leg]}","timestamp":"${timeMs}","hash":"${hash}","bids":[`
  const tail = (leg: Leg): string =>
    `],"min_order_size":"${MIN_ORDER_SIZE}","tick_size":"${tick}","neg_risk":false,"last_trade_price":"${lastTrades[leg]}"}`

  /** Hash over the text of the REST answer with an empty hash. */
  function hash(leg: Leg, timeMs: number): string {
    let end = hashed.write(head(leg, timeMs, ''), 0, 'latin1')
    end = bidsOf(leg).copyTo(hashed, end)
    end += hashed.write('],"asks":[', end, 'latin1')
    end = asksOf(leg).copyTo(hashed, end)
    end += hashed.write(tail(leg), end, 'latin1')
    return digest('sha1', hashed.subarray(0, end))
  }

  return {
    get slot() {
      return slot
    },
    /** Moves to a slot in one step. */
    load(at: number) {
      changes.start(at, nextBids, nextAsks)
      for (let price = 1; price < 1_000; price++) {
        if (bids[price] !== nextBids[price]) put(true, price, nextBids[price] as number)
        if (asks[price] !== nextAsks[price]) put(false, price, nextAsks[price] as number)
      }
      arrive(at)
    },
    /** The book stays unchanged before this slot. */
    get nextSlot() {
      return changes.nextSlot
    },
    /** The changes of the first leg up to a slot; the caller must apply each of them. */
    diff: (at: number): LevelChange[] => changes.moveTo(at),
    apply: (change: LevelChange) => put(change.isBid, change.price, change.size),
    /** To be called after the changes of a slot. */
    arrive,
    bestBid: (leg: Leg) => priceText(leg === 0 ? upBid : 1_000 - upAsk),
    bestAsk: (leg: Leg) => priceText(leg === 0 ? upAsk : 1_000 - upBid),
    /** Everything that the hash covers, as in the REST answer. */
    restText: (leg: Leg, timeMs: number) =>
      `${head(leg, timeMs, hash(leg, timeMs))}${bidsOf(leg)}],"asks":[${asksOf(leg)}${tail(leg)}`,
    hash,
    streamText: (leg: Leg, timeMs: number) =>
      `{"event_type":"book","asset_id":"${market.tokens[leg]}","market":"${market.conditionId}","bids":[${bidsOf(leg)}],"asks":[${asksOf(leg)}]` +
      `,"timestamp":"${timeMs}","hash":"${hash(leg, timeMs)}","tick_size":"${tick}","last_trade_price":"${lastTrades[leg]}"}`,
  }
}

/** The leg on which a trade is reported, its price there in thousandths, and the taker's side. */
export function seenFrom(trade: MarketTrade): { leg: Leg; price: number; side: 'BUY' | 'SELL' } {
  return trade.isMirrored
    ? { leg: 1, price: 1_000 - trade.price, side: trade.isSell ? 'BUY' : 'SELL' }
    : { leg: 0, price: trade.price, side: trade.isSell ? 'SELL' : 'BUY' }
}

export function lastTrade(life: Life, slot: number, leg: Leg): MarketTrade | undefined {
  for (let i = life.tradesUntil(slot) - 1; i >= 0; i--) {
    const trade = life.trade(i)
    if (trade?.isMirrored === (leg === 1)) return trade
  }
  return undefined
}

/** With three decimals; "0" if the leg never traded. */
function lastTradeText(life: Life, slot: number, leg: Leg): string {
  const trade = lastTrade(life, slot, leg)
  return trade === undefined ? '0' : (seenFrom(trade).price / 1_000).toFixed(3)
}

const SEARCH_SLOTS = 200

/** The slot of the last change at or before this one; a snapshot of the book carries that slot's time. */
export function lastChange(life: Life, slot: number): number {
  const book = { bids: new Int32Array(LEVELS), asks: new Int32Array(LEVELS) }
  const before = { bids: new Int32Array(LEVELS), asks: new Int32Array(LEVELS) }
  life.fill(slot, book.bids, book.asks)
  for (let at = slot; at > slot - SEARCH_SLOTS; at--) {
    life.fill(at - 1, before.bids, before.asks)
    const isSame =
      book.bids.every((size, i) => size === before.bids[i]) &&
      book.asks.every((size, i) => size === before.asks[i]) &&
      life.tick(at) === life.tick(at - 1)
    if (!isSame) return at
  }
  return slot - SEARCH_SLOTS
}
