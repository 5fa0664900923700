/**
 * From the kept books of a prediction market to its snapshot row, with every level. Both books must be live: a gap
 * is better than a wrong book, so the caller writes nothing while one is stale.
 */

import { midOf } from './market-candles.ts'
import { complement, microOf, microText, middleText } from './micro.ts'
import type { MicroBook } from './micro-book.ts'
import type { OrderBook } from './order-book.ts'
import type { UpDownSnapshotInput, YesNoSnapshotInput } from './rows/snapshot.ts'

export interface UpDownState {
  readonly marketId: string
  readonly slug: string | null
  readonly question: string | null
  readonly tokenUp: string
  readonly tokenDown: string
  readonly up: OrderBook
  readonly down: OrderBook
  /** Price of the last trade of each leg. */
  readonly lastUp: string | null
  readonly lastDown: string | null
  readonly referencePrice: string | null
}

type MicroBooks<Row, Name extends keyof Row> = Row & Record<Name, MicroBook>

export function composeUpDown(
  timeMs: number,
  state: UpDownState,
): MicroBooks<UpDownSnapshotInput, 'up' | 'down'> {
  const priceUp = probabilityOf(state)
  return {
    time: timeMs,
    marketId: state.marketId,
    slug: state.slug,
    question: state.question,
    tokenUp: state.tokenUp,
    tokenDown: state.tokenDown,
    priceUp,
    // Kept as an identity; the Down book's own middle may differ by a part of a tick.
    priceDown: priceUp === null ? null : oneMinus(priceUp),
    referencePrice: state.referencePrice,
    up: state.up.microBook(),
    down: state.down.microBook(),
  }
}

/** The Up leg's price; where its book has one side only, what the Down leg leaves of 1. */
function probabilityOf(state: UpDownState): string | null {
  const up = legPrice(state.up, state.lastUp)
  if (up !== null) return up
  const down = legPrice(state.down, state.lastDown)
  return down === null ? null : oneMinus(down)
}

/** The middle of a tight book, else the last trade, else the middle anyway; null without two sides. */
function legPrice(book: OrderBook, last: string | null): string | null {
  const bid = book.best('bids')
  const ask = book.best('asks')
  if (bid === null || ask === null) return null
  return midOf(bid, ask) ?? last ?? middleText(bid, ask)
}

function oneMinus(price: string): string {
  // A middle may have a seventh decimal, which millionths cannot hold.
  const micro = microOf(price)
  if (micro !== undefined) return microText(complement(micro))
  const doubled = Math.round(Number(price) * 2_000_000)
  return middleText(2_000_000 - doubled, 0)
}

export interface YesNoState {
  readonly ticker: string
  /** Bids are the yes bids; asks are the no bids at 1 − p. */
  readonly book: OrderBook
  readonly lastPrice: string | null
  readonly volume: string | null
  readonly openInterest: string | null
}

/** The no book is the yes book from the other side and left out, so no_ask = 1 − yes_bid holds by construction. */
export function composeYesNo(timeMs: number, state: YesNoState): MicroBooks<YesNoSnapshotInput, 'yes'> {
  return {
    time: timeMs,
    marketId: state.ticker,
    lastPrice: state.lastPrice,
    volume: state.volume,
    openInterest: state.openInterest,
    yes: state.book.microBook(),
  }
}
