/**
 * The order book of one market as the venue shows it: two legs that mirror each other, worst level first, and
 * the hash over the text of a book, which must be recomputed after every single change.
 */
import { createHash } from 'node:crypto'
import type { Life, Print } from '../world/life.ts'
import type { UpDown } from '../world/up-down.ts'
import { priceText, sizeText } from './text.ts'

export type Leg = 0 | 1

export interface Change {
  /** On the first leg. */
  readonly isBid: boolean
  readonly price: number
  readonly size: number
}

export interface LegBook {
  readonly slot: number
  /** Moves to a slot without telling the way. */
  load(slot: number): void
  /** The changes from the present slot to the next given one: removals first, so that no book is crossed between. */
  diff(slot: number): Change[]
  apply(change: Change): void
  /** Call after the changes of a slot. */
  arrive(slot: number): void
  bestBid(leg: Leg): string
  bestAsk(leg: Leg): string
  /** All that the hash covers, as the REST answer has it. */
  restText(leg: Leg, timeMs: number): string
  hash(leg: Leg, timeMs: number): string
  streamText(leg: Leg, timeMs: number): string
}

const LEVELS = 1_001
export const MIN_ORDER_SIZE = '5'

export function createLegBook(market: UpDown, life: Life): LegBook {
  const bids = new Int32Array(LEVELS)
  const asks = new Int32Array(LEVELS)
  const nextBids = new Int32Array(LEVELS)
  const nextAsks = new Int32Array(LEVELS)
  // Texts of the levels for [up bids, up asks] and [down bids, down asks].
  const texts = [0, 1, 2, 3].map(() => new Array<string>(LEVELS).fill(''))
  const [upBids, upAsks, downBids, downAsks] = texts as [string[], string[], string[], string[]]
  let slot = Number.NEGATIVE_INFINITY
  let lastTrades: [string, string] = ['0', '0']
  let tick = '0.01'

  const level = (price: number, size: number) =>
    size === 0 ? '' : `{"price":"${priceText(price)}","size":"${sizeText(size)}"}`

  function put(isBid: boolean, price: number, size: number): void {
    ;(isBid ? bids : asks)[price] = size
    ;(isBid ? upBids : upAsks)[price] = level(price, size)
    ;(isBid ? downAsks : downBids)[1_000 - price] = level(1_000 - price, size)
  }

  function arrive(at: number): void {
    slot = at
    tick = life.tick(at) === 1 ? '0.001' : '0.01'
    lastTrades = [lastTradeText(life, at, 0), lastTradeText(life, at, 1)]
  }

  /** Worst first: bids rise, asks fall. */
  function list(levels: readonly string[], isRising: boolean): string {
    let text = ''
    for (let i = 1; i < 1_000; i++) {
      const one = levels[isRising ? i : 1_000 - i] as string
      if (one !== '') text += text === '' ? one : `,${one}`
    }
    return text
  }

  const body = (leg: Leg, timeMs: number, hash: string): string =>
    `{"market":"${market.conditionId}","asset_id":"${market.tokens[leg]}","timestamp":"${timeMs}","hash":"${hash}"` +
    `,"bids":[${list(leg === 0 ? upBids : downBids, true)}],"asks":[${list(leg === 0 ? upAsks : downAsks, false)}]` +
    `,"min_order_size":"${MIN_ORDER_SIZE}","tick_size":"${tick}","neg_risk":false,"last_trade_price":"${lastTrades[leg]}"}`

  const hash: LegBook['hash'] = (leg, timeMs) =>
    createHash('sha1')
      .update(body(leg, timeMs, ''))
      .digest('hex')

  const best = (sizes: Int32Array, from: number, step: number): number => {
    for (let price = from; price > 0 && price < 1_000; price += step) if (sizes[price] !== 0) return price
    return step < 0 ? 0 : 1_000
  }
  const upBid = () => best(bids, 999, -1)
  const upAsk = () => best(asks, 1, 1)

  return {
    get slot() {
      return slot
    },
    load(at) {
      life.fill(at, nextBids, nextAsks)
      for (let price = 1; price < 1_000; price++) {
        if (bids[price] !== nextBids[price]) put(true, price, nextBids[price] as number)
        if (asks[price] !== nextAsks[price]) put(false, price, nextAsks[price] as number)
      }
      arrive(at)
    },
    diff(at) {
      life.fill(at, nextBids, nextAsks)
      const removed: Change[] = []
      const rest: Change[] = []
      for (let price = 1; price < 1_000; price++) {
        const [bid, ask] = [nextBids[price] as number, nextAsks[price] as number]
        if (bids[price] !== bid) (bid === 0 ? removed : rest).push({ isBid: true, price, size: bid })
        if (asks[price] !== ask) (ask === 0 ? removed : rest).push({ isBid: false, price, size: ask })
      }
      return [...removed, ...rest]
    },
    apply: (change) => put(change.isBid, change.price, change.size),
    arrive,
    bestBid: (leg) => priceText(leg === 0 ? upBid() : 1_000 - upAsk()),
    bestAsk: (leg) => priceText(leg === 0 ? upAsk() : 1_000 - upBid()),
    restText: (leg, timeMs) => body(leg, timeMs, hash(leg, timeMs)),
    hash,
    streamText: (leg, timeMs) =>
      `{"event_type":"book","asset_id":"${market.tokens[leg]}","market":"${market.conditionId}"` +
      `,"bids":[${list(leg === 0 ? upBids : downBids, true)}],"asks":[${list(leg === 0 ? upAsks : downAsks, false)}]` +
      `,"timestamp":"${timeMs}","hash":"${hash(leg, timeMs)}","tick_size":"${tick}","last_trade_price":"${lastTrades[leg]}"}`,
  }
}

/** The leg on which a print is reported. */
export const legOf = (print: Print): Leg => (print.isMirrored ? 1 : 0)

/** Price of a print on its leg, in thousandths, and the taker's side there. */
export function seenFrom(print: Print): { leg: Leg; price: number; side: 'BUY' | 'SELL' } {
  return print.isMirrored
    ? { leg: 1, price: 1_000 - print.price, side: print.isSell ? 'BUY' : 'SELL' }
    : { leg: 0, price: print.price, side: print.isSell ? 'SELL' : 'BUY' }
}

export function lastPrint(life: Life, slot: number, leg: Leg): Print | undefined {
  for (let i = life.printsUntil(slot) - 1; i >= 0; i--) {
    const print = life.prints[i] as Print
    if (legOf(print) === leg) return print
  }
  return undefined
}

/** Three decimals; "0" when the leg never traded. */
function lastTradeText(life: Life, slot: number, leg: Leg): string {
  const print = lastPrint(life, slot, leg)
  return print === undefined ? '0' : (seenFrom(print).price / 1_000).toFixed(3)
}

const SEARCH_SLOTS = 200

/** The slot of the last change at or before this one: the time that a snapshot of the book carries. */
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
