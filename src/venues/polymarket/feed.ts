/**
 * One symbol's socket of order books and trades: the tokens that are followed, and how frames change them. A frame is
 * one message or a list of them; the messages are read in read-messages.ts.
 *
 *   follow ──▶ subscribed, book awaited ──book──▶ live ──lost frame, wrong hash, new tick size──▶ repair by REST
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import {
  type FrameItem,
  type FrameOutcome,
  type FrameProtocol,
  ignored,
  refused,
  type TimeCheck,
} from '../live/frame.ts'
import { isPlausibleTime } from '../live/plausible.ts'
import type { DataObservation } from '../observation.ts'
import type { HistoryRange } from '../venue.ts'
import { TokenBook, type TokenObservation } from './book.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import { type Leg, lostTrades } from './mapper.ts'
import {
  createHashCheck,
  type FollowedToken,
  type MessageContext,
  READERS,
  type Reading,
  type TokenFeedActions,
} from './read-messages.ts'
import { createTradeIds } from './trade-ids.ts'
import { AnyMessage, type BookWire } from './wire.ts'

const SENT_AS_IT_HAPPENS: ReadonlySet<string> = new Set(['price_change', 'last_trade_price'])

interface TokenFeedStats {
  readonly hashMatches: number
  readonly hashMismatches: number
  readonly lost: Readonly<Record<string, number>>
}

export class TokenFeed {
  readonly symbol: AssetSymbol
  readonly #bookChannel: string
  readonly #tradesChannel: string
  readonly #actions: TokenFeedActions
  readonly #tokens = new Map<string, FollowedToken>()
  readonly #context: MessageContext
  readonly #lostCounts: Record<string, number> = {}
  #isOpen = false
  /** Whether the current socket has subscribed to something; later subscriptions have another form. */
  #isGreeted = false
  /**
   * When the current socket last sent anything of a followed token, and the newest venue time in that, before which
   * nothing is missing.
   */
  #dataMs: number | undefined
  #sentMs = 0
  /** Whether the message that is being read is of a followed token. */
  #isData = false

  constructor(symbol: AssetSymbol, actions: TokenFeedActions) {
    this.symbol = symbol
    this.#bookChannel = `book:${symbol}`
    this.#tradesChannel = `trades:${symbol}`
    this.#actions = actions
    this.#context = {
      symbol,
      actions,
      hashes: createHashCheck(),
      tradeIds: createTradeIds(),
      noteReceived: (tokenId, receivedMs, reading) => this.#noteReceived(tokenId, receivedMs, reading),
      push: (reading, observation) => this.#push(reading, observation),
    }
  }

  get tokens(): ReadonlyMap<string, FollowedToken> {
    return this.#tokens
  }

  openReader(): FrameProtocol {
    this.#isGreeted = false
    this.#dataMs = undefined
    return {
      read: (text, receivedMs, isTime) => this.#read(text, receivedMs, isTime),
      accepts: false,
      heartbeat: { everyMs: 10_000, frame: 'PING', answerWithinMs: 10_000 },
      greetingPaceMs: 0,
    }
  }

  /** Read when a socket opens. */
  greeting(nowMs: number): string[] {
    this.#isOpen = true
    this.#isGreeted = this.#tokens.size > 0
    for (const token of this.#tokens.values()) {
      token.lastReceivedMs = token.subscribedMs = nowMs
      token.isSilentSinceSubscribed = true
    }
    return this.#isGreeted ? [greetingFrame([...this.#tokens.keys()])] : []
  }

  follow(legs: readonly Leg[], nowMs: number): DataObservation[] {
    const wanted = new Map(legs.map((leg) => [leg.tokenId, leg]))
    const gone = [...this.#tokens.keys()].filter((tokenId) => !wanted.has(tokenId))
    const added = [...wanted.values()].filter(({ tokenId }) => !this.#tokens.has(tokenId))
    // A silence without tokens is none.
    if (this.#tokens.size === 0) this.#dataMs = undefined
    // The end of a window may move.
    for (const [tokenId, { book }] of this.#tokens) book.leg = wanted.get(tokenId) ?? book.leg
    const lost = gone.flatMap((tokenId) => this.#tokens.get(tokenId)?.book.lose('ended', nowMs) ?? [])
    for (const tokenId of gone) this.#tokens.delete(tokenId)
    for (const leg of added) this.#tokens.set(leg.tokenId, newlyFollowed(leg, nowMs))
    this.#unsubscribe(gone)
    this.#subscribe(added.map(({ tokenId }) => tokenId))
    return lost
  }

  disconnect(nowMs: number): DataObservation[] {
    this.#isOpen = false
    // Without the stream's changes, a REST book would become outdated unnoticed.
    for (const token of this.#tokens.values()) token.isSilentSinceSubscribed = true
    return [...this.#tokens.values()].flatMap(
      ({ book }) => book.lose('disconnected', nowMs, this.#sentMs) ?? [],
    )
  }

  /**
   * The trades of a running window of which nothing has arrived are lost, also while it is awaited again; the next
   * attempt repeats this.
   */
  resubscribe(tokenId: string, nowMs: number): FrameItem[] {
    const token = this.#tokens.get(tokenId)
    // The next socket subscribes all of them.
    if (token === undefined || !this.#isOpen) return []
    const { leg } = token.book
    const isTraded = nowMs >= leg.startMs && nowMs < leg.endMs + TIMES.tradedAfterEndMs
    const lost = { fromMs: token.subscribedMs, toMs: nowMs + TIMES.resubscribeMs }
    token.subscribedMs = nowMs
    this.#unsubscribe([tokenId])
    this.#subscribe([tokenId])
    return isTraded && token.isSilentSinceSubscribed ? [this.#lostTrades(lost, nowMs, tokenId)] : []
  }

  /** Repairs a book that is not live from a REST book; returns nothing if the REST book is of no use. */
  repair(wire: BookWire, receivedMs: number): TokenObservation[] {
    const token = this.#tokens.get(wire.asset_id)
    if (token === undefined || token.book.isLive || token.isSilentSinceSubscribed) return []
    const timeMs = timeOf(wire)
    if (timeMs !== undefined && !isPlausibleTime(timeMs, receivedMs)) return []
    const wrong = token.book.disprove(wire, receivedMs)
    const repaired = token.book.repair(wire, receivedMs)
    return [wrong ?? [], repaired ?? []].flat()
  }

  lose(tokenId: string, reason: 'frozen' | 'crossed', nowMs: number): FrameItem[] {
    const token = this.#tokens.get(tokenId)
    const lost = token?.book.lose(reason, nowMs) ?? null
    const isFrozen = token !== undefined && reason === 'frozen'
    if (isFrozen) {
      token.isSilentSinceSubscribed = true
      token.subscribedMs = nowMs
    }
    if (lost === null) return []
    const item = { channel: this.#bookChannel, observation: lost }
    if (!isFrozen) return [item]
    return [item, this.#lostTrades({ fromMs: lost.sinceMs, toMs: nowMs }, nowMs, tokenId)]
  }

  /** Whether the stream sent a trade of this transaction and token. */
  hasStreamed(hash: string, tokenId: string): boolean {
    return this.#context.tradeIds.has(hash, tokenId)
  }

  stats(): TokenFeedStats {
    const { matches, mismatches } = this.#context.hashes
    return { hashMatches: matches, hashMismatches: mismatches, lost: { ...this.#lostCounts } }
  }

  #read(text: string, receivedMs: number, isTime?: TimeCheck): FrameOutcome {
    if (text === 'PONG') return { kind: 'pong' }
    if (text.trim() === '') return ignored('empty frame')
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch {
      const reading: Reading = { items: [], refused: 'malformed' }
      this.#loseAll(reading, 'damaged', receivedMs)
      return outcomeOf(reading)
    }
    const reading: Reading = { items: [] }
    const messages: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed]
    let sentMs = this.#sentMs
    for (const message of messages) {
      this.#isData = false
      this.#readMessage(message, receivedMs, reading, isTime)
      if (this.#isData) sentMs = Math.max(sentMs, timeOf(message) ?? 0)
    }
    if (reading.refused === undefined) this.#sentMs = sentMs
    if (reading.refused === 'wrong_shape' || reading.refused === 'implausible')
      this.#loseAll(reading, 'damaged', receivedMs)
    return outcomeOf(reading)
  }

  #readMessage(message: unknown, receivedMs: number, reading: Reading, isTime?: TimeCheck): void {
    if (!AnyMessage.is(message)) {
      reading.refused = 'wrong_shape'
      return
    }
    const kind = message.event_type ?? 'book'
    const timeMs = timeOf(message)
    // Checked before anything changes: a trade that is refused later would count as streamed, and no sweep would
    // deliver it.
    if (timeMs !== undefined && isTime?.(timeMs, receivedMs, SENT_AS_IT_HAPPENS.has(kind)) === false) {
      reading.refused = 'implausible'
      return
    }
    const isRead = READERS.get(kind)?.(this.#context, message, receivedMs, reading)
    // The reason of an earlier message that could not be read is worse, so it is kept.
    if (isRead === undefined) reading.refused ??= 'unknown_kind'
    else if (!isRead) reading.refused = 'wrong_shape'
  }

  /**
   * Frames are not numbered, so it is unknown what a missing one changed, and every book may be wrong below its top.
   */
  #loseAll(reading: Reading, reason: 'damaged' | 'silence', receivedMs: number): void {
    for (const { book } of this.#tokens.values()) {
      const lost = book.lose(reason, receivedMs, this.#sentMs)
      if (lost !== null) this.#push(reading, lost)
    }
  }

  /** `tokenId`: the only token that lost trades; without it, any may have. */
  #lostTrades(range: HistoryRange, receivedMs: number, tokenId = ''): FrameItem {
    const observation = lostTrades({ symbol: this.symbol, tokenId }, range, receivedMs)
    return { channel: this.#tradesChannel, observation }
  }

  #push(reading: Reading, observation: DataObservation): void {
    const isTrade = observation.kind === 'trade' || observation.kind === 'trades_lost'
    const channel = isTrade ? this.#tradesChannel : this.#bookChannel
    reading.items.push({ channel, observation })
    if (observation.kind !== 'book_lost') return
    const { reason, instrument } = observation
    this.#lostCounts[reason] = (this.#lostCounts[reason] ?? 0) + 1
    if (reason === 'disconnected' || reason === 'ended') return
    this.#actions.repair(instrument, reason === 'tick_size' ? 'tick_size' : 'lost')
  }

  /**
   * A silence ends with data of a followed token. Until then frames of other markets yield nothing, because anything
   * that they yield would count as data of this socket, which would never be cut as silent.
   */
  #noteReceived(tokenId: string, receivedMs: number, reading: Reading): FollowedToken | undefined {
    const token = this.#tokens.get(tokenId)
    if (token === undefined) return undefined
    if (receivedMs - (this.#dataMs ?? receivedMs) > TIMES.socketSilenceMs) {
      this.#loseAll(reading, 'silence', receivedMs)
      reading.items.push(this.#lostTrades({ fromMs: this.#sentMs, toMs: receivedMs }, receivedMs))
    }
    this.#dataMs = receivedMs
    this.#isData = true
    token.lastReceivedMs = receivedMs
    token.isSilentSinceSubscribed = false
    return token
  }

  #subscribe(tokenIds: readonly string[]): void {
    if (tokenIds.length === 0) return
    const frame = this.#isGreeted
      ? JSON.stringify({ operation: 'subscribe', assets_ids: tokenIds, custom_feature_enabled: true })
      : greetingFrame(tokenIds)
    this.#isGreeted = true
    this.#actions.send(frame)
  }

  #unsubscribe(tokenIds: readonly string[]): void {
    if (tokenIds.length === 0) return
    this.#actions.send(JSON.stringify({ operation: 'unsubscribe', assets_ids: tokenIds }))
  }
}

const newlyFollowed = (leg: Leg, nowMs: number): FollowedToken => ({
  book: new TokenBook(leg),
  terms: leg.terms ?? {},
  isHashTrusted: false,
  lastReceivedMs: nowMs,
  subscribedMs: nowMs,
  comparedMs: nowMs,
  isSilentSinceSubscribed: true,
})

function outcomeOf({ items, refused: reason }: Reading): FrameOutcome {
  if (items.length > 0) return { kind: 'data', items, ...(reason === undefined ? {} : { refused: reason }) }
  return reason === undefined ? ignored('nothing for us') : refused(reason)
}

function timeOf(message: unknown): number | undefined {
  if (typeof message !== 'object' || message === null || !('timestamp' in message)) return undefined
  const { timestamp } = message
  const timeMs =
    typeof timestamp === 'string' || typeof timestamp === 'number' ? Number(timestamp) : Number.NaN
  return Number.isFinite(timeMs) ? timeMs : undefined
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
