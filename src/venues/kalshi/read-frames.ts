/**
 * Reads the frames of a Kalshi socket, one function per kind. A frame changes the feed's state and becomes
 * observations. An unreadable or missing book frame loses the books that it may have changed; a missing trade frame
 * loses the time since the trade before it.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import {
  data,
  type FrameItem,
  type FrameOutcome,
  ignored,
  parseObject,
  refused,
  type TimeCheck,
} from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import type { HistoryRange } from '../venue.ts'
import type { AwaitedTrades } from './awaited-trades.ts'
import { afterGap, type BookSequence, type Continuity } from './book-sequence.ts'
import type { ContractBooks } from './contract-books.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import type { Lateness } from './lateness.ts'
import { aboutOf, mapOpenInterest, mapTicker, mapTrade, venueInstantOf, venueTimeOf } from './mapper.ts'
import type { createMissedFigures } from './missed-figures.ts'
import type { ContractSubscriptions } from './subscriptions.ts'
import { topOf } from './top-check.ts'
import {
  DeltaFrame,
  ERROR,
  ErrorMsg,
  NOT_RECORDED,
  OkMsg,
  ReplyFrame,
  SnapshotFrame,
  SubscribedMsg,
  TickerFrame,
  TradeFrame,
} from './wire.ts'

/** What a feed may do to its socket. */
export interface ContractFeedActions {
  send(frame: string): void
  cut(reason: string): void
  /** Trades within this range may be missing. */
  lostTrades(range: HistoryRange): void
  /** Figures of a contract may have been missed up to now. */
  lostFigures(ticker: string): void
}

/** Trades of different contracts are out of order by at most this much. */
const TRADES_APART_MS = 5_000
/**
 * A stream rarely loses anything, so a socket whose trade numbers skip this often is bad. If those of the next socket
 * do the same, they count something other than trades; losses are then found only by the rounds over all contracts.
 */
const MAX_TRADE_GAPS = 3
const TRADE_GAPS_WITHIN_MS = 10 * 60_000
/** The numbers are doubted if another socket skips as often within this time after such a drop. */
const NEXT_SOCKET_MS = 2 * TRADE_GAPS_WITHIN_MS
/**
 * For this long after numbers were doubted, those of other sids and later sockets are doubted without dropping a
 * socket.
 */
const DOUBTED_FOR_MS = 24 * 3_600_000

export interface FeedState {
  readonly symbol: AssetSymbol
  readonly actions: ContractFeedActions
  readonly books: ContractBooks
  readonly awaitedTrades: AwaitedTrades
  readonly missedFigures: ReturnType<typeof createMissedFigures>
  readonly counts: { gaps: number; contradictions: number; crossed: number }
  /** State of the current socket. */
  subscriptions: ContractSubscriptions
  sequence: BookSequence
  lateness: Lateness
  /** By sid. */
  trades: Map<number, NumberedTrades>
  lastGapMs: number
  /** When a socket was last dropped because too many trades were missing. */
  tradesCutMs: number
  /** When trade numbers were last found to count something else. */
  tradesDoubtedMs: number
  /**
   * Sockets given up since a book last arrived. They increase the patience, because asking a slow venue again makes it
   * slower.
   */
  cutsInVain: number
  /**
   * Time of the last change of any book. No numbered frame is missing, so a book without recent changes is right until
   * then. Replies and requested books prove nothing, because they arrive even while changes do not.
   */
  provenMs: number
  /** The same by sid, because changes of other sids prove nothing where a number is missing. */
  provenOfSid: Map<number, number>
}

interface NumberedTrades {
  isNumbered: boolean
  /** Time of the newest trade; all trades before it were received. */
  toMs: number
  /** Times at which numbers were found missing. */
  gapsMs: readonly number[]
  /** Whether the socket was dropped because numbers were missing too often; it may still deliver some frames. */
  isCut: boolean
  /** Whether numbers were missing too often, as on the socket before; set for the rest of the socket's life. */
  isDoubted: boolean
}

interface Frame {
  readonly type: string
  readonly id?: number
  readonly sid?: number
  readonly seq?: number
  readonly msg?: unknown
}

export function sendAll(feed: FeedState, frames: readonly string[]): void {
  for (const frame of frames) feed.actions.send(frame)
}

/** Reports the trades of contracts whose trades the venue has not confirmed to send, up to `aheadMs` from now. */
export function reportAwaitedTrades(feed: FeedState, nowMs: number, aheadMs = 0): void {
  const { awaitedTrades, books, subscriptions } = feed
  const lost = awaitedTrades.lost(books.followed, subscriptions.withTrades, nowMs, aheadMs)
  if (lost !== undefined) feed.actions.lostTrades(lost)
}

/** Leaves contracts out for a while: nothing of them arrives in the meantime. */
export function setAside(feed: FeedState, tickers: readonly string[], nowMs: number): DataObservation[] {
  for (const ticker of tickers) feed.actions.lostFigures(ticker)
  return feed.books.setAside(tickers, nowMs, { provenMs: feed.provenMs })
}

const item = (feed: FeedState, topic: string, observation: DataObservation): FrameItem => ({
  channel: `${topic}:${feed.symbol}`,
  observation,
})
const bookItems = (feed: FeedState, lost: readonly DataObservation[]) =>
  lost.map((each) => item(feed, 'book', each))

/**
 * What a frame's number shows. Replies are numbered together with the frames of their sid. Where these frames carry no
 * numbers (ticker frames never do), numbers that replies skip are not missing.
 */
function continuityOf(feed: FeedState, type: string, sid: number, seq: number): Continuity {
  const continuity = feed.sequence(sid, seq)
  if (continuity === 'gap') feed.counts.gaps += 1
  if (type.startsWith('orderbook_')) return continuity
  const channel = feed.subscriptions.channelOf(sid)
  const trades = feed.trades.get(sid)
  const isCounted = channel !== 'trade' || (trades?.isNumbered === true && !trades.isDoubted)
  return channel !== 'ticker' && isCounted ? continuity : 'next'
}

/** Every book of the sid is suspect: all are requested again, and a second gap soon after drops the socket. */
function onGap(feed: FeedState, sid: number, nowMs: number, timeMs: number | undefined): FrameItem[] {
  const trades = feed.trades.get(sid)
  if (trades?.isNumbered === true) {
    feed.actions.lostTrades({
      fromMs: trades.toMs - TRADES_APART_MS,
      // The venue's clock may be ahead of ours.
      toMs: Math.max(nowMs, Math.min(timeMs ?? nowMs, nowMs + TRADES_APART_MS)) + 1,
    })
    trades.gapsMs = [...trades.gapsMs.filter((ms) => ms > nowMs - TRADE_GAPS_WITHIN_MS), nowMs]
    if (trades.gapsMs.length >= MAX_TRADE_GAPS) onTradeGaps(feed, trades, nowMs)
  }
  const tickers = feed.subscriptions.tickersOf(sid)
  if (tickers.length === 0) return []
  const lost = feed.books.lose(tickers, 'sequence_gap', nowMs, { provenMs: feed.provenOfSid.get(sid) ?? 0 })
  if (afterGap(feed.lastGapMs, nowMs) === 'drop socket') feed.actions.cut('two sequence gaps within a minute')
  else feed.books.ask(tickers, nowMs)
  feed.lastGapMs = nowMs
  return bookItems(feed, lost)
}

function onTradeGaps(feed: FeedState, trades: NumberedTrades, nowMs: number): void {
  if (trades.isCut) return
  const isDoubtful =
    nowMs - feed.tradesCutMs < NEXT_SOCKET_MS || nowMs - feed.tradesDoubtedMs < DOUBTED_FOR_MS
  if (isDoubtful) {
    trades.isDoubted = true
    feed.tradesDoubtedMs = nowMs
    return
  }
  trades.isCut = true
  feed.tradesCutMs = nowMs
  feed.actions.cut('three sequence gaps of trades within ten minutes')
}

export function readFrame(
  feed: FeedState,
  text: string,
  receivedMs: number,
  isTime?: TimeCheck,
): FrameOutcome {
  const frame = parseObject(text)
  if (frame === undefined) return refused('malformed')
  if (!ReplyFrame.is(frame)) return onUnreadable(feed, frame, refused('unknown_kind'), receivedMs)
  if (NOT_RECORDED.has(frame.type)) return ignored('kind not recorded')
  const { sid, seq } = frame
  const isNumbered = sid !== undefined && seq !== undefined
  const isTrade = frame.type === 'trade'
  if (isNumbered && isTrade) tradesOf(feed, sid, receivedMs).isNumbered = true
  const continuity = isNumbered ? continuityOf(feed, frame.type, sid, seq) : 'next'
  // A trade that was overtaken is still a trade; a repeat is recognised by its id.
  if (continuity === 'old' && !isTrade) return ignored('seen before')
  if (continuity === 'implausible') {
    // All following frames would count as seen before, so only a new socket, which starts at 1, can be read.
    feed.actions.cut('a sequence number that cannot be right')
    return refused('implausible')
  }
  const timeMs = timeOf(frame.msg)
  const lost = isNumbered && continuity === 'gap' ? onGap(feed, sid, receivedMs, timeMs) : []
  if (isNumbered && isTrade) {
    const trades = tradesOf(feed, sid, receivedMs)
    trades.toMs = Math.max(trades.toMs, Math.min(timeMs ?? 0, receivedMs))
  }
  // A change dated a day back would rewrite a day of its book.
  const isChange = frame.type === 'orderbook_delta'
  const isWrongTime = timeMs !== undefined && isTime?.(timeMs, receivedMs, isChange) === false
  const read = isWrongTime ? refused('implausible') : readKind(feed, frame, receivedMs)
  const outcome = onUnreadable(feed, frame, read, receivedMs)
  if (isNumbered && isChange && !isWrongTime) {
    const provenMs = timeMs ?? receivedMs
    feed.provenMs = Math.max(feed.provenMs, provenMs)
    feed.provenOfSid.set(sid, Math.max(feed.provenOfSid.get(sid) ?? 0, provenMs))
  }
  return withLost(lost, outcome)
}

function tradesOf(feed: FeedState, sid: number, receivedMs: number) {
  const trades = feed.trades.get(sid) ?? {
    isNumbered: false,
    toMs: receivedMs,
    gapsMs: [],
    isCut: false,
    isDoubted: false,
  }
  feed.trades.set(sid, trades)
  return trades
}

/** It is not known what an unreadable book frame changed, although its number is not missing. */
function onUnreadable(
  feed: FeedState,
  frame: object,
  outcome: FrameOutcome,
  receivedMs: number,
): FrameOutcome {
  const { type, sid, msg } = frame as { type?: unknown; sid?: unknown; msg?: unknown }
  if (outcome.kind !== 'refused' || typeof type !== 'string' || !type.startsWith('orderbook_')) return outcome
  const ticker = tickerOf(msg)
  const ofSid = typeof sid === 'number' ? feed.subscriptions.tickersOf(sid) : []
  const suspects =
    ticker !== undefined && feed.books.followed.has(ticker)
      ? [ticker]
      : ofSid.length > 0
        ? ofSid
        : [...feed.books.followed]
  const provenMs = typeof sid === 'number' ? (feed.provenOfSid.get(sid) ?? 0) : feed.provenMs
  const lost = feed.books.lose(suspects, 'damaged', receivedMs, { provenMs })
  feed.books.ask(suspects, receivedMs)
  return withLost(bookItems(feed, lost), outcome)
}

function readKind(feed: FeedState, frame: Frame, receivedMs: number): FrameOutcome {
  switch (frame.type) {
    case 'orderbook_snapshot':
      return readSnapshot(feed, frame, receivedMs)
    case 'orderbook_delta':
      return readDelta(feed, frame, receivedMs)
    case 'ticker':
      return readTicker(feed, frame, receivedMs)
    case 'trade':
      return readTrade(feed, frame, receivedMs)
    case 'subscribed':
      if (!SubscribedMsg.is(frame.msg)) return refused('wrong_shape')
      if (frame.msg.channel === 'trade') tradesOf(feed, frame.msg.sid, receivedMs)
      sendAll(feed, feed.subscriptions.opened(frame.id ?? -1, frame.msg.channel, frame.msg.sid, receivedMs))
      reportAwaitedTrades(feed, receivedMs)
      return ignored('subscribed')
    case 'ok':
      feed.subscriptions.answered(frame.id ?? -1, OkMsg.is(frame.msg) ? frame.msg.market_tickers : undefined)
      reportAwaitedTrades(feed, receivedMs)
      return ignored('reply')
    case 'unsubscribed':
      if (isSubscribed(feed, frame.sid)) feed.actions.cut('the venue ended a subscription')
      return ignored('reply')
    case 'error':
      return readError(feed, frame, receivedMs)
  }
  return refused('unknown_kind')
}

function readSnapshot(feed: FeedState, frame: unknown, receivedMs: number): FrameOutcome {
  if (!SnapshotFrame.is(frame)) return refused('wrong_shape')
  const { market_ticker: ticker, yes_dollars_fp: yes, no_dollars_fp: no } = frame.msg
  // No changes will follow for a contract that was just set aside.
  if (!feed.books.isWanted(ticker, receivedMs)) return ignored('contract not followed')
  const about = aboutOf(feed.symbol, ticker, receivedMs)
  const book = feed.books.of(ticker)
  const rightToMs = book.isLive ? feed.books.contradictedSince(ticker) : undefined
  const { top } = book
  const replace = () => book.replace({ yes, no }, 'stream', receivedMs, about)
  let observation = replace()
  if (observation === undefined) return refused('wrong_shape')
  const items: FrameItem[] = []
  if (rightToMs !== undefined && book.hasTop(top)) feed.books.confirmed(ticker)
  else if (rightToMs !== undefined) {
    // Its changes were not sent: numbers are not missing, but the book is another one.
    items.push(...bookItems(feed, loseFrozen(feed, ticker, rightToMs, receivedMs)))
    observation = replace() ?? observation
  }
  if (observation.kind === 'book_lost') feed.books.ask([ticker], receivedMs)
  else {
    feed.books.came(ticker)
    feed.cutsInVain = 0
  }
  return { kind: 'data', items: [...items, item(feed, 'book', observation)] }
}

/** A single contract has stopped on the socket, and its trades with it. */
export function loseFrozen(
  feed: FeedState,
  ticker: string,
  sinceMs: number,
  nowMs: number,
): DataObservation[] {
  feed.actions.lostTrades({ fromMs: sinceMs, toMs: nowMs })
  return feed.books.lose([ticker], 'frozen', nowMs, { sinceMs })
}

function readDelta(feed: FeedState, frame: unknown, receivedMs: number): FrameOutcome {
  if (!DeltaFrame.is(frame)) return refused('wrong_shape')
  const { market_ticker: ticker, side, price_dollars: price, delta_fp: delta } = frame.msg
  const timeMs = venueInstantOf(frame.msg, receivedMs)
  if (!feed.books.followed.has(ticker)) return ignored('contract not followed')
  const book = feed.books.of(ticker)
  if (timeMs !== undefined && feed.lateness.of(timeMs, receivedMs) > TIMES.lateMs && book.isLive) {
    const lost = feed.books.lose([ticker], 'frozen', receivedMs, { sinceMs: timeMs })
    feed.books.ask([ticker], receivedMs)
    return { kind: 'data', items: bookItems(feed, lost) }
  }
  const about = aboutOf(feed.symbol, ticker, receivedMs)
  const observation = book.change({ side, price, delta }, timeMs ?? receivedMs, about)
  if (observation === undefined) return refused('wrong_shape')
  if (observation === null) return ignored('book is stale')
  if (observation.kind === 'book_lost') {
    feed.counts.crossed += 1
    feed.books.ask([ticker], receivedMs)
  } else feed.books.changed(ticker, receivedMs)
  return data(`book:${feed.symbol}`, observation)
}

function readTicker(feed: FeedState, frame: unknown, receivedMs: number): FrameOutcome {
  if (!TickerFrame.is(frame)) return refused('wrong_shape')
  const { msg } = frame
  const { market_ticker: ticker } = msg
  if (!feed.books.followed.has(ticker)) return ignored('contract not followed')
  const about = aboutOf(feed.symbol, ticker, receivedMs)
  const timeMs = venueInstantOf(msg, receivedMs) ?? receivedMs
  const items = [item(feed, 'market_ticker', mapTicker(msg, timeMs, about))]
  if (msg.volume_fp != null) feed.missedFigures.streamed(ticker, Number(msg.volume_fp))
  if (msg.open_interest_fp != null) {
    items.push(item(feed, 'open_interest', mapOpenInterest(msg.open_interest_fp, timeMs, about)))
  }
  const top = topOf(msg)
  const differsSinceMs = top === undefined ? undefined : feed.books.reportedTop(ticker, top, receivedMs)
  if (differsSinceMs === undefined) return { kind: 'data', items }
  feed.counts.contradictions += 1
  const lost = feed.books.lose([ticker], 'top_mismatch', receivedMs, { sinceMs: differsSinceMs })
  feed.books.ask([ticker], receivedMs)
  return { kind: 'data', items: [...bookItems(feed, lost), ...items], refused: 'contradiction' }
}

function readTrade(feed: FeedState, frame: unknown, receivedMs: number): FrameOutcome {
  if (!TradeFrame.is(frame)) return refused('wrong_shape')
  const { msg } = frame
  if (!feed.books.followed.has(msg.market_ticker)) return ignored('contract not followed')
  const timeMs = venueTimeOf(msg)
  if (timeMs === undefined) return refused('wrong_shape')
  const trade = mapTrade(msg, timeMs, aboutOf(feed.symbol, msg.market_ticker, receivedMs))
  return trade === undefined ? refused('wrong_shape') : data(`trades:${feed.symbol}`, trade)
}

/** A subscription that we end is forgotten before the venue's reply. */
const isSubscribed = (feed: FeedState, sid: number | undefined) =>
  sid !== undefined && feed.subscriptions.channelOf(sid) !== undefined

function readError(feed: FeedState, { id = -1, sid, msg }: Frame, receivedMs: number): FrameOutcome {
  if (!ErrorMsg.is(msg)) return refused('wrong_shape')
  switch (msg.code) {
    case ERROR.alreadySubscribed:
      feed.subscriptions.repeated(id)
      return ignored('already subscribed')
    case ERROR.unknownMarket: {
      // The venue refuses the whole list because of one unknown contract; the others are subscribed again without it.
      const { ticker, frames } = feed.subscriptions.unknown(id, msg.market_ticker, receivedMs)
      const lost = ticker === undefined ? [] : setAside(feed, [ticker], receivedMs)
      sendAll(feed, frames)
      reportAwaitedTrades(feed, receivedMs)
      return withLost(bookItems(feed, lost), refused('venue_error'))
    }
    case ERROR.commandTimeout:
      break
    case ERROR.bufferOverflow:
      feed.actions.cut('the venue says that we read too slowly')
      break
    default:
      if (feed.subscriptions.isPending(id)) feed.subscriptions.failed(id)
      // Nobody knows what such a subscription still sends.
      else if (msg.code === ERROR.channelError || isSubscribed(feed, sid))
        feed.actions.cut('the venue reports an error of a subscription')
  }
  return refused('venue_error')
}

function withLost(lost: readonly FrameItem[], outcome: FrameOutcome): FrameOutcome {
  if (lost.length === 0) return outcome
  if (outcome.kind === 'data') return { ...outcome, items: [...lost, ...outcome.items] }
  return { kind: 'data', items: lost, ...(outcome.kind === 'refused' ? { refused: outcome.reason } : {}) }
}

const timeOf = (msg: unknown) => (typeof msg === 'object' && msg !== null ? venueTimeOf(msg) : undefined)

function tickerOf(msg: unknown): string | undefined {
  if (typeof msg !== 'object' || msg === null || !('market_ticker' in msg)) return undefined
  return typeof msg.market_ticker === 'string' ? msg.market_ticker : undefined
}
