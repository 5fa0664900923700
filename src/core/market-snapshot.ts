/**
 * Builds the snapshot row of a prediction market, with every level, from its order books in memory. Both books must be
 * live. The caller writes nothing while one is stale, because a gap is better than a wrong book.
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
    // Always one minus the price of Up; the midpoint of the Down book may differ by a fraction of a tick.
    priceDown: priceUp === null ? null : oneMinus(priceUp),
    referencePrice: state.referencePrice,
    up: state.up.microBook(),
    down: state.down.microBook(),
  }
}

/** The price of the Up leg, or one minus the price of the Down leg if the Up book has only one side. */
function probabilityOf(state: UpDownState): string | null {
  const up = legPrice(state.up, state.lastUp)
  if (up !== null) return up
  const down = legPrice(state.down, state.lastDown)
  return down === null ? null : oneMinus(down)
}

/**
 * The midpoint of a narrow book, else the last trade, else the midpoint of the wide book; null unless both sides exist.
 */
function legPrice(book: OrderBook, last: string | null): string | null {
  const bid = book.best('bids')
  const ask = book.best('asks')
  if (bid === null || ask === null) return null
  return midOf(bid, ask) ?? last ?? middleText(bid, ask)
}

function oneMinus(price: string): string {
  // A midpoint may have a seventh decimal, which millionths cannot hold.
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

/** Leaves out the no book, because it is the yes book seen from the other side: no_ask = 1 − yes_bid always holds. */
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
