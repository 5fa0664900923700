/**
 * The order book of one contract.
 *
 *   empty ──snapshot──▶ live ──gap, negative size, crossed, too deep, lost socket──▶ stale ──snapshot──▶ live
 *
 * The venue has only bids, for yes and for no; a bid for no is kept as an ask for yes at 1 − p. Deltas are signed
 * changes.
 */

import { microOf, orderPriceOf, orderSizeOf } from '../../core/micro.ts'
import { type MicroLevel, OrderBook } from '../../core/order-book.ts'
import { MAX_LEVELS } from '../../core/rows/book.ts'
import type {
  BookDeltaObservation,
  BookLostObservation,
  BookLostReason,
  BookSnapshotObservation,
  MarketLeg,
} from '../observation.ts'
import { type About, legOf, yesAskOfNoBid } from './mapper.ts'
import type { Top } from './top-check.ts'

const NO_LEVELS: readonly MicroLevel[] = []

type WireLevels = readonly (readonly [string, string])[] | null | undefined

export type ContractBook = ReturnType<typeof createContractBook>

export interface RightUntil {
  /** The book is known from elsewhere to be unchanged until this time. */
  readonly provenMs?: number
  /** The book was wrong from this time on, although changes have arrived since. */
  readonly sinceMs?: number
}

/** `useYesPrice`: the stream quotes bids for no at the price of yes. REST never does. */
export function createContractBook({ useYesPrice = false } = {}) {
  const book = new OrderBook()
  let isLive = false
  let lastMs = 0
  let leg: MarketLeg | undefined

  const streamedAsk = useYesPrice ? orderPriceOf : yesAskOfNoBid

  function lost(reason: BookLostReason, about: About, right: RightUntil = {}): BookLostObservation {
    isLive = false
    return {
      kind: 'book_lost',
      ...about,
      venueTimeMs: about.receivedMs,
      key: null,
      reason,
      sinceMs: right.sinceMs ?? Math.max(lastMs, right.provenMs ?? 0),
      leg: legOf(about.instrument),
    }
  }

  return {
    get isLive() {
      return isLive
    },
    /** Undefined if a level is not a number. */
    replace(
      sides: { yes: WireLevels; no: WireLevels },
      via: 'stream' | 'poll',
      timeMs: number,
      about: About,
    ): BookSnapshotObservation | BookLostObservation | undefined {
      const bids = microLevels(sides.yes, orderPriceOf)
      const asks = microLevels(sides.no, via === 'poll' ? yesAskOfNoBid : streamedAsk)
      if (bids === undefined || asks === undefined) return undefined
      book.replace(bids, asks)
      lastMs = timeMs
      if (book.isCrossed()) return lost('crossed', about)
      isLive = true
      return {
        kind: 'book_snapshot',
        ...about,
        venueTimeMs: timeMs,
        key: null,
        via,
        ...book.microLevels(),
        leg: legOf(about.instrument),
      }
    },
    /** Null while the book is not live, in which case the change is dropped. Undefined if a value is not a number. */
    change(
      delta: { side: 'yes' | 'no'; price: string; delta: string },
      timeMs: number,
      about: About,
    ): BookDeltaObservation | BookLostObservation | null | undefined {
      const side = delta.side === 'yes' ? 'bids' : 'asks'
      const price = delta.side === 'yes' ? orderPriceOf(delta.price) : streamedAsk(delta.price)
      const change = microOf(delta.delta)
      if (price === undefined || change === undefined) return undefined
      if (!isLive) return null
      const size = book.sizeAt(side, price) + change
      if (size < 0) return lost('negative_size', about)
      book.set(side, price, size)
      if (book.count(side) > MAX_LEVELS) return lost('too_deep', about)
      if (book.isCrossed()) return lost('crossed', about)
      lastMs = timeMs
      const levels = [[price, size] as const]
      leg ??= legOf(about.instrument)
      return {
        kind: 'book_delta',
        source: about.source,
        symbol: about.symbol,
        instrument: about.instrument,
        receivedMs: about.receivedMs,
        venueTimeMs: timeMs,
        key: null,
        bids: side === 'bids' ? levels : NO_LEVELS,
        asks: side === 'asks' ? levels : NO_LEVELS,
        leg,
      }
    },
    /** Null if the book was not live. */
    lose: (reason: BookLostReason, about: About, right?: RightUntil): BookLostObservation | null =>
      isLive ? lost(reason, about, right) : null,
    /** Time of its last frame. */
    get lastMs() {
      return lastMs
    },
    get top(): Top {
      return { bid: book.best('bids'), ask: book.best('asks') }
    },
    hasTop: ({ bid, ask }: Top) => book.best('bids') === bid && book.best('asks') === ask,
  }
}

function microLevels(
  levels: WireLevels,
  priceOf: (text: string) => number | undefined,
): MicroLevel[] | undefined {
  const read: MicroLevel[] = []
  for (const [priceText, sizeText] of levels ?? []) {
    const price = priceOf(priceText)
    const size = orderSizeOf(sizeText)
    if (price === undefined || size === undefined) return undefined
    read.push([price, size])
  }
  return read
}
