/**
 * The frames of one market, slot by slot, built once for all its subscribers:
 *
 *   tick change: tick_size_change ×2, book ×2
 *   otherwise:   last_trade_price*  price_change?  book ×2 after a trade   best_bid_ask when a top moved
 */
import type { VenueFrame } from '../../server/frame-faults.ts'
import type { PredictionVenue } from '../venue.ts'
import type { LevelChange } from '../world/book-changes.ts'
import type { UpDown } from '../world/up-down.ts'
import { transactionOf } from './data.ts'
import { settle } from './fills.ts'
import { createLegBook, type Leg, seenFrom } from './leg-book.ts'
import { priceText, sizeText } from './side-text.ts'
import { hasBookAt, slotOf } from './view.ts'

interface MarketFrame extends VenueFrame {
  /** The leg that a frame concerns; undefined for both. */
  readonly leg?: Leg
  /** Only for sockets that requested the extra events. */
  readonly isExtra?: boolean
}

export type MarketFeed = ReturnType<typeof createMarketFeed>

const LEGS: readonly Leg[] = [0, 1]
const NO_FRAMES: readonly MarketFrame[] = []
/** A large jump is sent as a new book, because so many changes at once cannot be single orders. */
const MAX_CHANGES = 60

export function createMarketFeed(venue: PredictionVenue, market: UpDown) {
  const life = venue.world.lifeOf(market)
  const book = createLegBook(market, life)
  const { conditionId, tokens, symbol } = market
  book.load(slotOf(life, venue.now()))
  /** When the current book came about; a snapshot carries that time. */
  let bookMs = life.timeOf(book.slot)
  /** The book does not change before this time. */
  let quietUntilMs = 0

  const frame = (channel: string, text: string, more: Partial<MarketFrame> = {}): MarketFrame => ({
    channel,
    symbol,
    text,
    isMarket: true,
    ...more,
  })
  const bookFrames = () => LEGS.map((leg) => frame('book', book.streamText(leg, bookMs), { leg }))
  const tops = () => LEGS.map((leg) => `${book.bestBid(leg)} ${book.bestAsk(leg)}`)

  function entry(leg: Leg, change: LevelChange, timeMs: number): string {
    const isBuy = change.isBid === (leg === 0)
    const price = leg === 0 ? change.price : 1_000 - change.price
    return (
      `{"asset_id":"${tokens[leg]}","price":"${priceText(price)}","size":"${sizeText(change.size)}","side":"${isBuy ? 'BUY' : 'SELL'}"` +
      `,"hash":"${book.hash(leg, timeMs)}","best_bid":"${book.bestBid(leg)}","best_ask":"${book.bestAsk(leg)}"}`
    )
  }
  const changeFrame = (entries: readonly string[], timeMs: number) =>
    frame(
      'price_change',
      `{"event_type":"price_change","market":"${conditionId}","timestamp":"${timeMs}","price_changes":[${entries.join(',')}]}`,
    )

  /** A bid at the ask price that the venue's own book does not have; the next full book removes it. */
  function crossed(timeMs: number): MarketFrame[] {
    if (venue.faults.hit('crossed-book', 'polymarket', { symbol, channel: 'price_change' }) === undefined)
      return []
    const ask = book.bestAsk(0)
    return [
      changeFrame(
        [
          `{"asset_id":"${tokens[0]}","price":"${ask}","size":"77","side":"BUY","hash":"${book.hash(0, timeMs)}","best_bid":"${ask}","best_ask":"${ask}"}`,
        ],
        timeMs,
      ),
    ]
  }

  function advance(slot: number, out: MarketFrame[]): void {
    const timeMs = life.timeOf(slot)
    if (life.tick(slot) !== life.tick(slot - 1)) {
      book.load(slot)
      bookMs = timeMs
      for (const leg of LEGS)
        out.push(
          frame(
            'tick_size_change',
            `{"event_type":"tick_size_change","asset_id":"${tokens[leg]}","market":"${conditionId}","old_tick_size":"0.01","new_tick_size":"0.001","timestamp":"${timeMs}"}`,
            { leg },
          ),
        )
      out.push(...bookFrames())
      return
    }
    const changes = book.diff(slot)
    if (changes.length === 0) return void book.arrive(slot)
    const trade = life.tradeIn(slot)
    const before = tops()
    bookMs = timeMs
    book.arrive(slot)
    if (trade !== undefined) {
      const { leg, price, side } = seenFrom(trade)
      const text = (size: number, transaction: string) =>
        `{"event_type":"last_trade_price","asset_id":"${tokens[leg]}","market":"${conditionId}","price":"${priceText(price)}","side":"${side}"` +
        `,"size":"${sizeText(size)}","fee_rate_bps":"0","timestamp":"${timeMs}","transaction_hash":"${transaction}"}`
      const transaction = transactionOf(market, trade)
      const zeroFill = () => text(0, `0x${[...transaction.slice(2)].reverse().join('')}`)
      for (const { size } of settle(venue.world, market, trade).streamed)
        out.push(frame('last_trade_price', text(size, transaction), { leg, zeroFill }))
    }
    const isWide = changes.length > MAX_CHANGES
    const entries: string[] = []
    for (const change of changes) {
      book.apply(change)
      if (!isWide) entries.push(entry(0, change, timeMs), entry(1, change, timeMs))
    }
    if (!isWide) out.push(changeFrame(entries, timeMs))
    if (trade !== undefined || isWide) out.push(...bookFrames())
    const after = tops()
    for (const leg of LEGS) {
      if (before[leg] === after[leg]) continue
      const [bid = '0', ask = '1'] = (after[leg] ?? '').split(' ')
      const spread = Math.round((Number(ask) - Number(bid)) * 1_000) / 1_000
      out.push(
        frame(
          'best_bid_ask',
          `{"event_type":"best_bid_ask","market":"${conditionId}","asset_id":"${tokens[leg]}","best_bid":"${bid}","best_ask":"${ask}","spread":"${spread}","timestamp":"${timeMs}"}`,
          { leg, isExtra: true },
        ),
      )
    }
    out.push(...crossed(timeMs))
  }

  return {
    /** The current book of a leg, as sent after a subscription; undefined if there is none. */
    snapshot: (leg: Leg): MarketFrame | undefined =>
      hasBookAt(venue, market, venue.now())
        ? frame('book', book.streamText(leg, bookMs), { leg })
        : undefined,
    /** Produces everything up to a time, once. */
    produce(toMs: number): readonly MarketFrame[] {
      if (toMs < quietUntilMs) return NO_FRAMES
      const target = slotOf(life, toMs)
      const out: MarketFrame[] = []
      if (!hasBookAt(venue, market, toMs)) {
        if (target > book.slot) book.load(target)
      } else for (let slot = book.nextSlot; slot <= target; slot = book.nextSlot) advance(slot, out)
      quietUntilMs = book.nextSlot <= life.lastSlot ? life.timeOf(book.nextSlot) : Number.POSITIVE_INFINITY
      return out
    },
  }
}
