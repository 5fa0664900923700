/**
 * One symbol's socket of books and prints: the tokens that are followed and the reading of the frames. A frame is
 * one message or a list of them; what a message says of a token that is not followed is left out.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import { Lru } from '../../kit/lru.ts'
import type { DeadLetterReason } from '../dead-letter.ts'
import { type FrameItem, type FrameOutcome, type FrameProtocol, ignored, refused } from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import { createTokenBook, type TokenBook, type TokenObservation } from './book.ts'
import { type HashedTerms, hasAllTerms, matchingRule } from './book-hash.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import { type Leg, mapLastTrade, namelessTradeId, tradeId } from './mapper.ts'
import { readSlug } from './slug.ts'
import {
  AnyMessage,
  BestBidAskMessage,
  BookMessage,
  type BookWire,
  ChangesMessage,
  type ChangeWire,
  LastTradeMessage,
  type LastTradeWire,
  NewMarketMessage,
  OldChangeMessage,
  ResolvedMessage,
  TickSizeMessage,
} from './wire.ts'

export interface DeskActions {
  send(frame: string): void
  /** The token's book is to be asked for. */
  repair(tokenId: string, reason: 'lost' | 'tick_size'): void
  /** A window of this symbol was announced. */
  announced(slug: string): void
  resolved(marketId: string): void
}

export interface FollowedToken {
  readonly book: TokenBook
  /** With the tick size as it was last told. */
  terms: HashedTerms
  /** The last hash of its books was right. */
  isHashTrusted: boolean
  /** When the venue last said anything of it; when it was subscribed, before. */
  heardMs: number
  subscribedMs: number
  /** When it was last compared with the venue's own book. */
  comparedMs: number
  /**
   * Nothing was heard of it since it was subscribed, or since it froze. A REST book would then go on without the
   * changes that still do not come, so only the stream can bring it back.
   */
  isUnheard: boolean
}

export interface DeskStats {
  readonly hashMatches: number
  readonly hashMismatches: number
  readonly lost: Readonly<Record<string, number>>
}

export interface Desk {
  readonly symbol: AssetSymbol
  openReader(): FrameProtocol
  /** Read at the opening of a socket. */
  greeting(nowMs: number): string[]
  follow(legs: readonly Leg[], nowMs: number): DataObservation[]
  disconnect(nowMs: number): DataObservation[]
  resubscribe(tokenIds: readonly string[], nowMs: number): void
  repair(wire: BookWire, receivedMs: number): TokenObservation | undefined
  lose(tokenId: string, reason: 'frozen' | 'crossed' | 'hash_mismatch', nowMs: number): DataObservation[]
  readonly tokens: ReadonlyMap<string, FollowedToken>
  /** Whether the stream told a trade of this transaction and token. */
  hasHeard(hash: string, tokenId: string): boolean
  stats(): DeskStats
}

const TRADES_REMEMBERED = 65_536

interface Reading {
  readonly items: FrameItem[]
  refused?: DeadLetterReason
}

export function createDesk(symbol: AssetSymbol, actions: DeskActions): Desk {
  const tokens = new Map<string, FollowedToken>()
  /** Per transaction and token: the fills that were told, to give each its place and recognise repeats. */
  const fills = new Lru<string, string[]>({ maxEntries: TRADES_REMEMBERED })
  const counts = { hashMatches: 0, hashMismatches: 0, lost: {} as Record<string, number> }
  /** Armed by a hash that was right: only then a wrong one says something about the book. */
  let isHashTrusted = false
  let isGreeted = false
  /** When the present socket last told anything of a market, and of which time: nothing before that is missing. */
  let dataMs: number | undefined
  let toldMs = 0

  function push(reading: Reading, observation: DataObservation): void {
    const topic = observation.kind === 'trade' ? 'trades' : 'book'
    reading.items.push({ channel: `${topic}:${symbol}`, observation })
    if (observation.kind !== 'book_lost') return
    counts.lost[observation.reason] = (counts.lost[observation.reason] ?? 0) + 1
    const isTick = observation.reason === 'tick_size'
    if (observation.reason !== 'disconnected' && observation.reason !== 'ended') {
      actions.repair(observation.instrument, isTick ? 'tick_size' : 'lost')
    }
  }

  function hear(tokenId: string, receivedMs: number): FollowedToken | undefined {
    const token = tokens.get(tokenId)
    if (token !== undefined) {
      token.heardMs = receivedMs
      token.isUnheard = false
    }
    return token
  }

  function read(text: string, receivedMs: number): FrameOutcome {
    if (text === 'PONG') return { kind: 'pong' }
    if (text.trim() === '') return ignored('empty frame')
    const silentMs = receivedMs - (dataMs ?? receivedMs)
    dataMs = receivedMs
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch {
      const reading: Reading = { items: [], refused: 'malformed' }
      loseAll(reading, 'damaged', receivedMs)
      return outcomeOf(reading)
    }
    const reading: Reading = { items: [] }
    if (silentMs > TIMES.socketSilenceMs) loseAll(reading, 'silence', receivedMs)
    for (const message of Array.isArray(parsed) ? parsed : [parsed]) readMessage(message, receivedMs, reading)
    if (reading.refused === undefined) toldMs = Math.max(toldMs, newestOf(parsed))
    if (reading.refused === 'wrong_shape') loseAll(reading, 'damaged', receivedMs)
    return outcomeOf(reading)
  }

  /** Nothing is numbered: what a missing frame changed is not known, so every book may be wrong below its top. */
  function loseAll(reading: Reading, reason: 'damaged' | 'silence', receivedMs: number): void {
    for (const { book } of tokens.values()) {
      const lost = book.lose(reason, receivedMs, toldMs)
      if (lost !== null) push(reading, lost)
    }
  }

  function readMessage(message: unknown, receivedMs: number, reading: Reading): void {
    if (!AnyMessage.is(message)) {
      reading.refused = 'wrong_shape'
      return
    }
    const isRead = READERS[message.event_type ?? 'book']?.(message, receivedMs, reading)
    if (isRead === undefined) reading.refused = 'unknown_kind'
    else if (!isRead) reading.refused = 'wrong_shape'
  }

  /** Each says whether the message had the shape of its kind. */
  const READERS: Record<string, (message: unknown, receivedMs: number, reading: Reading) => boolean> = {
    book(message, receivedMs, reading) {
      if (!BookMessage.is(message)) return false
      const token = hear(message.asset_id, receivedMs)
      if (token === undefined) return true
      const wrong = token.book.isWrong(message) ? token.book.lose('hash_mismatch', receivedMs) : null
      if (wrong !== null) push(reading, wrong)
      const observation = token.book.replace(message, 'stream', receivedMs)
      if (observation === undefined) return false
      push(reading, observation)
      if (!checkHash(message, token)) {
        const lost = token.book.lose('hash_mismatch', receivedMs)
        if (lost !== null) push(reading, lost)
      }
      return true
    },
    price_change(message, receivedMs, reading) {
      if (ChangesMessage.is(message)) {
        const byToken = Map.groupBy(message.price_changes, (change) => change.asset_id)
        for (const [tokenId, changes] of byToken) {
          if (!change(tokenId, changes, Number(message.timestamp), receivedMs, reading)) return false
        }
        return true
      }
      if (!OldChangeMessage.is(message)) return false
      return change(message.asset_id, [message], Number(message.timestamp), receivedMs, reading)
    },
    last_trade_price(message, receivedMs, reading) {
      if (!LastTradeMessage.is(message)) return false
      const token = hear(message.asset_id, receivedMs)
      if (token === undefined) return true
      const id = newTradeId(message)
      if (id !== undefined) push(reading, mapLastTrade(message, id, token.book.leg, receivedMs))
      return true
    },
    tick_size_change(message, receivedMs, reading) {
      if (!TickSizeMessage.is(message)) return false
      const token = hear(message.asset_id, receivedMs)
      if (token === undefined || Number(message.old_tick_size) === Number(message.new_tick_size)) return true
      token.terms = { ...token.terms, tick_size: message.new_tick_size }
      const lost = token.book.lose('tick_size', receivedMs, Number(message.timestamp))
      if (lost !== null) push(reading, lost)
      return true
    },
    /** Comes on its own clock beside the changes, so it proves life and nothing else. */
    best_bid_ask(message, receivedMs) {
      if (!BestBidAskMessage.is(message)) return false
      hear(message.asset_id, receivedMs)
      return true
    },
    new_market(message) {
      if (!NewMarketMessage.is(message)) return false
      if (readSlug(message.slug)?.symbol === symbol) actions.announced(message.slug)
      return true
    },
    market_resolved(message) {
      if (!ResolvedMessage.is(message)) return false
      actions.resolved(message.market.toLowerCase())
      return true
    },
  }

  function change(
    tokenId: string,
    changes: readonly ChangeWire[],
    timeMs: number,
    receivedMs: number,
    reading: Reading,
  ): boolean {
    const token = hear(tokenId, receivedMs)
    if (token === undefined) return true
    const observations = token.book.change(changes, timeMs, receivedMs)
    for (const observation of observations ?? []) push(reading, observation)
    return observations !== undefined
  }

  /** False when the hash is wrong though hashes were right before. A rule that changed is forgotten at once. */
  function checkHash(message: object, token: FollowedToken): boolean {
    const book = message as Record<string, unknown>
    const rule = matchingRule(book, token.terms)
    if (rule === undefined) return true
    const isRight = rule !== null
    const wasTrusted = hasAllTerms(book, token.terms) ? isHashTrusted : token.isHashTrusted
    isHashTrusted = isRight
    token.isHashTrusted = isRight
    if (isRight) counts.hashMatches += 1
    else counts.hashMismatches += 1
    return isRight || !wasTrusted
  }

  /** Undefined for a trade that was told before. */
  function newTradeId(wire: LastTradeWire): string | undefined {
    const hash = wire.transaction_hash ?? ''
    const group = `${hash}:${wire.asset_id}`
    const fill = [wire.side, wire.price, wire.size, wire.timestamp].join()
    const told = fills.get(group) ?? []
    if (told.includes(fill)) return undefined
    if (hash === '') {
      fills.set(group, [...told.slice(-256), fill])
      return namelessTradeId(wire, 0)
    }
    fills.set(group, [...told, fill])
    return tradeId(hash, wire.asset_id, told.length)
  }

  const subscribeFrame = (tokenIds: readonly string[]) =>
    isGreeted
      ? JSON.stringify({ operation: 'subscribe', assets_ids: tokenIds, custom_feature_enabled: true })
      : greetingFrame(tokenIds)

  function subscribe(tokenIds: readonly string[]): void {
    if (tokenIds.length === 0) return
    const frame = subscribeFrame(tokenIds)
    isGreeted = true
    actions.send(frame)
  }

  function unsubscribe(tokenIds: readonly string[]): void {
    if (tokenIds.length > 0) actions.send(JSON.stringify({ operation: 'unsubscribe', assets_ids: tokenIds }))
  }

  return {
    symbol,
    openReader() {
      isGreeted = false
      dataMs = undefined
      return {
        read,
        accepts: false,
        heartbeat: { everyMs: 10_000, frame: 'PING', answerWithinMs: 10_000 },
        greetingPaceMs: 0,
      }
    },
    greeting(nowMs) {
      isGreeted = tokens.size > 0
      for (const token of tokens.values()) {
        token.heardMs = token.subscribedMs = nowMs
        token.isUnheard = true
      }
      return isGreeted ? [greetingFrame([...tokens.keys()])] : []
    },
    follow(legs, nowMs) {
      const wanted = new Map(legs.map((leg) => [leg.tokenId, leg]))
      const gone = [...tokens.keys()].filter((tokenId) => !wanted.has(tokenId))
      const fresh = [...wanted.keys()].filter((tokenId) => !tokens.has(tokenId))
      const lost = gone.flatMap((tokenId) => tokens.get(tokenId)?.book.lose('ended', nowMs) ?? [])
      for (const tokenId of gone) tokens.delete(tokenId)
      for (const tokenId of fresh) {
        const leg = wanted.get(tokenId)
        if (leg === undefined) continue
        tokens.set(tokenId, {
          book: createTokenBook(leg),
          terms: leg.terms ?? {},
          isHashTrusted: false,
          heardMs: nowMs,
          subscribedMs: nowMs,
          comparedMs: nowMs,
          isUnheard: true,
        })
      }
      unsubscribe(gone)
      subscribe(fresh)
      return lost
    },
    disconnect: (nowMs) =>
      [...tokens.values()].flatMap((token) => token.book.lose('disconnected', nowMs, toldMs) ?? []),
    resubscribe(tokenIds, nowMs) {
      for (const tokenId of tokenIds) {
        const token = tokens.get(tokenId)
        if (token !== undefined) token.subscribedMs = nowMs
      }
      unsubscribe(tokenIds)
      subscribe(tokenIds)
    },
    repair(wire, receivedMs) {
      const token = tokens.get(wire.asset_id)
      if (token === undefined || token.book.isLive || token.isUnheard) return undefined
      return token.book.repair(wire, receivedMs)
    },
    lose(tokenId, reason, nowMs) {
      const token = tokens.get(tokenId)
      if (token !== undefined && reason === 'frozen') token.isUnheard = true
      const lost = token?.book.lose(reason, nowMs) ?? null
      return lost === null ? [] : [lost]
    },
    tokens,
    hasHeard: (hash, tokenId) => fills.get(`${hash}:${tokenId}`) !== undefined,
    stats: () => ({ ...counts, lost: { ...counts.lost } }),
  }
}

function outcomeOf({ items, refused: reason }: Reading): FrameOutcome {
  if (items.length > 0) return { kind: 'data', items, ...(reason === undefined ? {} : { refused: reason }) }
  return reason === undefined ? ignored('nothing for us') : refused(reason)
}

/** The newest time that a frame tells. */
function newestOf(parsed: unknown): number {
  const times = (Array.isArray(parsed) ? parsed : [parsed]).map((message) =>
    AnyMessage.is(message) ? Number((message as { timestamp?: unknown }).timestamp) : 0,
  )
  return Math.max(0, ...times.filter(Number.isFinite))
}

function greetingFrame(tokenIds: readonly string[]): string {
  return JSON.stringify({
    type: 'market',
    assets_ids: tokenIds,
    custom_feature_enabled: true,
    initial_dump: true,
    level: 2,
  })
}
