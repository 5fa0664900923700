/**
 * The order book of one market, as a pure function of the 100 ms slot. Resting orders lie on a fixed price grid and
 * live for some seconds, so that two consecutive slots differ little, as on a real venue.
 */
import { hash32 } from './hash.ts'
import type { Tape } from './tape.ts'
import { GENESIS_MS } from './trade.ts'

export const SLOT_MS = 100
const BOOK_LEVELS = 250
/** Update ids per slot, which makes the sequence of ids a function of time. */
const IDS_PER_SLOT = 20
const FIRST_UPDATE_ID = 50_000_000

/** Price in ticks, size in lots. */
export type Level = readonly [price: number, lots: number]

export interface BookState {
  /** Best first. */
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
}

export type Book = ReturnType<typeof createBook>

export const slotOf = (timeMs: number): number => Math.floor(timeMs / SLOT_MS)

/** The last update id of a slot; the first is one more than the last of the previous slot. */
export function updateIdOf(slot: number): number {
  return FIRST_UPDATE_ID + (slot - GENESIS_MS / SLOT_MS) * IDS_PER_SLOT
}

export function createBook(seed: number, tape: Tape) {
  const { stream, bookStep, meanLots } = tape.market

  function restingLots(price: number, slot: number): number {
    const nature = hash32(seed, stream + 4, price)
    // One price in nine is empty on a dense grid.
    if (bookStep === 1 && nature % 9 === 0) return 0
    const lifeSlots = 10 + (nature % 90)
    const age = Math.floor((slot + (nature >>> 8)) / lifeSlots)
    return sizeFrom(hash32(seed, nature, age), 8)
  }

  /** The size at the best price changes every few hundred milliseconds. */
  function touchLots(price: number, slot: number): number {
    return sizeFrom(hash32(seed, stream + 5 + (slot >> 2), price), 20)
  }

  function sizeFrom(random: number, times: number): number {
    const part = random / 4_294_967_296
    return 1 + Math.floor(part * part * meanLots * times)
  }

  function top(slot: number, depth: number): BookState {
    const bid = tape.bidAt(slot * SLOT_MS)
    const ask = bid + 1
    const bids: Level[] = [[bid, touchLots(bid, slot)]]
    const asks: Level[] = [[ask, touchLots(ask, slot)]]
    const below = Math.floor((bid - 1) / bookStep)
    const above = Math.floor(ask / bookStep) + 1
    for (let i = 0; i < BOOK_LEVELS && (bids.length < depth || asks.length < depth); i++) {
      const bidLots = restingLots((below - i) * bookStep, slot)
      const askLots = restingLots((above + i) * bookStep, slot)
      if (bidLots > 0 && below - i > 0 && bids.length < depth) bids.push([(below - i) * bookStep, bidLots])
      if (askLots > 0 && asks.length < depth) asks.push([(above + i) * bookStep, askLots])
    }
    return { bids, asks }
  }

  return {
    /** The best `depth` levels, which is much cheaper than the whole book. */
    top,
    /** Number of orders at a level. */
    orders: (price: number, slot: number) => 1 + (hash32(seed, stream + 6 + (slot >> 4), price) % 12),
  }
}
