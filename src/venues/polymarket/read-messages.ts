/**
 * Reads the messages of the market socket, one reader per kind. Messages about tokens that are not followed are
 * ignored.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { DeadLetterReason } from '../dead-letter.ts'
import type { FrameItem } from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import { MAX_OVERTAKEN_MS } from '../plausible-bounds.ts'
import { type TokenBook, wireLevelsOf } from './book.ts'
import { type HashedTerms, type HashRule, hasAllTerms, matchingRule } from './book-hash.ts'
import { lostTrades, mapLastTrade } from './mapper.ts'
import { readSlug } from './slug.ts'
import type { TradeIds } from './trade-ids.ts'
import {
  BestBidAskMessage,
  BookMessage,
  ChangesMessage,
  type ChangeWire,
  LastTradeMessage,
  NewMarketMessage,
  OldChangeMessage,
  ResolvedMessage,
  TickSizeMessage,
} from './wire.ts'

export interface TokenFeedActions {
  send(frame: string): void
  /** Requests the token's book. */
  repair(tokenId: string, reason: 'lost' | 'tick_size'): void
  /** A window of this symbol was announced. */
  announced(slug: string): void
  resolved(marketId: string): void
}

export interface FollowedToken {
  readonly book: TokenBook
  /** Includes the last known tick size. */
  terms: HashedTerms
  /** Whether the last hash of its books was right. */
  isHashTrusted: boolean
  /** When the venue last sent anything about the token, or when it was subscribed. */
  lastReceivedMs: number
  subscribedMs: number
  /** When it was last compared with the venue's own book. */
  comparedMs: number
  /**
   * Nothing has arrived for the token since it was subscribed or since it froze. A REST book would then lack the
   * changes that still do not arrive, so only the stream can make it live again.
   */
  isSilentSinceSubscribed: boolean
}

/** What one frame has yielded so far. */
export interface Reading {
  readonly items: FrameItem[]
  refused?: DeadLetterReason
}

/** What a reader needs from its feed. */
export interface MessageContext {
  readonly symbol: AssetSymbol
  readonly actions: TokenFeedActions
  readonly hashes: HashCheck
  readonly tradeIds: TradeIds
  /** Notes that the venue has just sent something about a token; undefined if the token is not followed. */
  noteReceived(tokenId: string, receivedMs: number, reading: Reading): FollowedToken | undefined
  push(reading: Reading, observation: DataObservation): void
}

type ReadMessage = (feed: MessageContext, message: unknown, receivedMs: number, reading: Reading) => boolean

/** Each reader returns whether the message had the shape of its kind. */
const READ_KIND: Readonly<Record<string, ReadMessage>> = {
  book(feed, message, receivedMs, reading) {
    if (!BookMessage.is(message)) return false
    const token = feed.noteReceived(message.asset_id, receivedMs, reading)
    if (token === undefined) return true
    const sides = wireLevelsOf(message)
    const wrong = token.book.disprove(message, receivedMs, sides)
    if (wrong !== null) feed.push(reading, wrong)
    const observation = token.book.replace(message, 'stream', receivedMs, sides)
    if (observation === undefined) return false
    if (observation === null) {
      feed.actions.repair(message.asset_id, 'lost')
      return true
    }
    feed.push(reading, observation)
    if (!feed.hashes.isTrustworthy(message, token)) {
      const lost = token.book.lose('hash_mismatch', receivedMs)
      if (lost !== null) feed.push(reading, lost)
    }
    return true
  },
  price_change(feed, message, receivedMs, reading) {
    if (ChangesMessage.is(message)) {
      const byToken = Map.groupBy(message.price_changes, (change) => change.asset_id)
      let isRead = true
      // The changes of the other tokens count: a book that is requested may lack them.
      for (const [tokenId, changes] of byToken)
        if (!change(feed, tokenId, changes, Number(message.timestamp), receivedMs, reading)) isRead = false
      return isRead
    }
    if (!OldChangeMessage.is(message)) return false
    return change(feed, message.asset_id, [message], Number(message.timestamp), receivedMs, reading)
  },
  last_trade_price(feed, message, receivedMs, reading) {
    if (!LastTradeMessage.is(message)) return false
    const token = feed.noteReceived(message.asset_id, receivedMs, reading)
    if (token === undefined) return true
    const { transaction_hash: hash, timestamp } = message
    // Without its transaction, the sweeps would not recognise the trade, and a trade this late may be refused as
    // overtaken. Neither counts as streamed: the sweeps deliver it, and until then its time is a gap.
    if (hash == null || hash === '' || receivedMs - Number(timestamp) > MAX_OVERTAKEN_MS) {
      const timeMs = Number(timestamp)
      feed.push(reading, lostTrades(token.book.leg, { fromMs: timeMs, toMs: timeMs }, receivedMs))
      return true
    }
    const id = feed.tradeIds.newId(message, hash)
    if (id !== undefined) feed.push(reading, mapLastTrade(message, id, token.book.leg, receivedMs))
    return true
  },
  tick_size_change(feed, message, receivedMs, reading) {
    if (!TickSizeMessage.is(message)) return false
    const token = feed.noteReceived(message.asset_id, receivedMs, reading)
    if (token === undefined || Number(message.old_tick_size) === Number(message.new_tick_size)) return true
    token.terms = { ...token.terms, tick_size: message.new_tick_size }
    const lost = token.book.lose('tick_size', receivedMs, Number(message.timestamp))
    if (lost !== null) feed.push(reading, lost)
    return true
  },
  /** Sent independently of the changes, so it only proves that the token is alive. */
  best_bid_ask(feed, message, receivedMs, reading) {
    if (!BestBidAskMessage.is(message)) return false
    feed.noteReceived(message.asset_id, receivedMs, reading)
    return true
  },
  new_market(feed, message) {
    if (!NewMarketMessage.is(message)) return false
    if (readSlug(message.slug)?.symbol === feed.symbol) feed.actions.announced(message.slug)
    return true
  },
  market_resolved(feed, message) {
    if (!ResolvedMessage.is(message)) return false
    feed.actions.resolved(message.market.toLowerCase())
    return true
  },
}
/** A Map, because the kind that a message names may be any text. */
export const READERS: ReadonlyMap<string, ReadMessage> = new Map(Object.entries(READ_KIND))

function change(
  feed: MessageContext,
  tokenId: string,
  changes: readonly ChangeWire[],
  timeMs: number,
  receivedMs: number,
  reading: Reading,
): boolean {
  const token = feed.noteReceived(tokenId, receivedMs, reading)
  if (token === undefined) return true
  const observations = token.book.change(changes, timeMs, receivedMs)
  for (const observation of observations ?? []) feed.push(reading, observation)
  return observations !== undefined
}

type HashCheck = ReturnType<typeof createHashCheck>

export function createHashCheck() {
  let isTrusted = false
  let lastRule: HashRule | undefined
  const counts = { matches: 0, mismatches: 0 }
  return {
    /**
     * False if the hash is wrong although earlier ones were right; only then does it prove something about the book.
     */
    isTrustworthy(message: object, token: FollowedToken) {
      const book = message as Record<string, unknown>
      const rule = matchingRule(book, token.terms, lastRule)
      if (rule === undefined) return true
      lastRule = rule ?? lastRule
      const isRight = rule !== null
      const wasTrusted = hasAllTerms(book, token.terms) ? isTrusted : token.isHashTrusted
      isTrusted = isRight
      token.isHashTrusted = isRight
      if (isRight) counts.matches += 1
      else counts.mismatches += 1
      return isRight || !wasTrusted
    },
    get matches() {
      return counts.matches
    },
    get mismatches() {
      return counts.mismatches
    },
  }
}
