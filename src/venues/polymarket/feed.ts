/**
 * One symbol's socket of order books and trades: the tokens that are followed, and what becomes of them as frames
 * come. A frame is one message or a list of them; the messages are read in read-messages.ts.
 *
 *   follow ──▶ subscribed, book awaited ──book──▶ live ──lost frame, wrong hash, new tick size──▶ repair by REST
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import { type FrameOutcome, type FrameProtocol, ignored, refused } from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import { createTokenBook, type TokenObservation } from './book.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import type { Leg } from './mapper.ts'
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

interface TokenFeedStats {
  readonly hashMatches: number
  readonly hashMismatches: number
  readonly lost: Readonly<Record<string, number>>
}

export interface TokenFeed {
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
  /** Whether the stream sent a trade of this transaction and token. */
  hasStreamed(hash: string, tokenId: string): boolean
  stats(): TokenFeedStats
}

export function createTokenFeed(symbol: AssetSymbol, actions: TokenFeedActions): TokenFeed {
  const tokens = new Map<string, FollowedToken>()
  const lostCounts: Record<string, number> = {}
  let isGreeted = false
  /** When the present socket last sent anything of a market, and of which venue time: nothing before that is missing. */
  let dataMs: number | undefined
  let sentMs = 0

  function push(reading: Reading, observation: DataObservation): void {
    const topic = observation.kind === 'trade' ? 'trades' : 'book'
    reading.items.push({ channel: `${topic}:${symbol}`, observation })
    if (observation.kind !== 'book_lost') return
    lostCounts[observation.reason] = (lostCounts[observation.reason] ?? 0) + 1
    const isTick = observation.reason === 'tick_size'
    if (observation.reason !== 'disconnected' && observation.reason !== 'ended') {
      actions.repair(observation.instrument, isTick ? 'tick_size' : 'lost')
    }
  }

  function noteReceived(tokenId: string, receivedMs: number): FollowedToken | undefined {
    const token = tokens.get(tokenId)
    if (token !== undefined) {
      token.lastReceivedMs = receivedMs
      token.isSilentSinceSubscribed = false
    }
    return token
  }

  const context: MessageContext = {
    symbol,
    actions,
    hashes: createHashCheck(),
    tradeIds: createTradeIds(),
    noteReceived,
    push,
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
    if (reading.refused === undefined) sentMs = Math.max(sentMs, newestOf(parsed))
    if (reading.refused === 'wrong_shape') loseAll(reading, 'damaged', receivedMs)
    return outcomeOf(reading)
  }

  /** Nothing is numbered: what a missing frame changed is not known, so every book may be wrong below its top. */
  function loseAll(reading: Reading, reason: 'damaged' | 'silence', receivedMs: number): void {
    for (const { book } of tokens.values()) {
      const lost = book.lose(reason, receivedMs, sentMs)
      if (lost !== null) push(reading, lost)
    }
  }

  function readMessage(message: unknown, receivedMs: number, reading: Reading): void {
    if (!AnyMessage.is(message)) {
      reading.refused = 'wrong_shape'
      return
    }
    const isRead = READERS[message.event_type ?? 'book']?.(context, message, receivedMs, reading)
    if (isRead === undefined) reading.refused = 'unknown_kind'
    else if (!isRead) reading.refused = 'wrong_shape'
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
        token.lastReceivedMs = token.subscribedMs = nowMs
        token.isSilentSinceSubscribed = true
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
          lastReceivedMs: nowMs,
          subscribedMs: nowMs,
          comparedMs: nowMs,
          isSilentSinceSubscribed: true,
        })
      }
      unsubscribe(gone)
      subscribe(fresh)
      return lost
    },
    disconnect: (nowMs) =>
      [...tokens.values()].flatMap((token) => token.book.lose('disconnected', nowMs, sentMs) ?? []),
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
      if (token === undefined || token.book.isLive || token.isSilentSinceSubscribed) return undefined
      return token.book.repair(wire, receivedMs)
    },
    lose(tokenId, reason, nowMs) {
      const token = tokens.get(tokenId)
      if (token !== undefined && reason === 'frozen') token.isSilentSinceSubscribed = true
      const lost = token?.book.lose(reason, nowMs) ?? null
      return lost === null ? [] : [lost]
    },
    tokens,
    hasStreamed: context.tradeIds.has,
    stats: () => ({
      hashMatches: context.hashes.matches,
      hashMismatches: context.hashes.mismatches,
      lost: { ...lostCounts },
    }),
  }
}

function outcomeOf({ items, refused: reason }: Reading): FrameOutcome {
  if (items.length > 0) return { kind: 'data', items, ...(reason === undefined ? {} : { refused: reason }) }
  return reason === undefined ? ignored('nothing for us') : refused(reason)
}

/** The newest venue time in a frame. */
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
