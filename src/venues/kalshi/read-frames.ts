/**
 * The reading of a Kalshi socket's frames, one function per kind. A frame changes the feed's state and becomes
 * observations; a book frame that cannot be read, or that is missing, costs the books that it may have changed, and a
 * trade frame that is missing the time since the one before it.
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
import { afterGap, type BookSequence, type Continuity } from './book-sequence.ts'
import type { ContractBooks } from './contract-books.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import type { Lateness } from './lateness.ts'
import { aboutOf, mapOpenInterest, mapTicker, mapTrade, venueInstantOf, venueTimeOf } from './mapper.ts'
import type { ContractSubscriptions } from './subscriptions.ts'
import { topOf } from './top-check.ts'
import {
  DeltaFrame,
  ERROR,
  ErrorMsg,
  NOT_RECORDED,
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
  /** Trades of a range may be missing. */
  lostTrades(range: HistoryRange): void
}

/** Trades of several contracts are in the order of their times but for this. */
const TRADES_APART_MS = 5_000
/**
 * Streams hardly lose anything: a socket whose numbers of trades skip more often than this is bad. If those of the next one
 * do so too, they count something else: then losses are found by the rounds over all contracts alone.
 */
const MAX_TRADE_GAPS = 3
const TRADE_GAPS_WITHIN_MS = 10 * 60_000
/** How soon after such a drop another socket has to skip as often for its numbers to be doubted. */
const NEXT_SOCKET_MS = 2 * TRADE_GAPS_WITHIN_MS
/** Where they were doubted, those of other sids and later sockets need not cost a socket again to be so. */
const DOUBTED_FOR_MS = 24 * 3_600_000

export interface FeedState {
  readonly symbol: AssetSymbol
  readonly actions: ContractFeedActions
  readonly books: ContractBooks
  readonly counts: { gaps: number; contradictions: number; crossed: number }
  /** Of the present socket. */
  subscriptions: ContractSubscriptions
  sequence: BookSequence
  lateness: Lateness
  /** By sid. */
  trades: Map<number, NumberedTrades>
  lastGapMs: number
  /** When a socket was last dropped because too many trades were missing. */
  tradesCutMs: number
  /** When the numbers of trades were last found to count something else. */
  tradesDoubtedMs: number
  /** Sockets given up since the last book: a venue that is slow to answer gets slower when it is asked again. */
  cutsInVain: number
  /**
   * The time of the last change of any book. No numbered frame is missing, so a book that has not changed for long is
   * right until then. Replies and requested books prove nothing: they come even while changes do not.
   */
  provenMs: number
}

interface NumberedTrades {
  isNumbered: boolean
  /** The time of the newest one: all before it were received. */
  toMs: number
  /** When numbers were last found missing. */
  gapsMs: readonly number[]
  /** Whether the socket was dropped because they were missing too often; it may still send some frames. */
  isCut: boolean
  /** Whether they were missing too often, as on the socket before; for as long as the socket lasts. */
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

const item = (feed: FeedState, topic: string, observation: DataObservation): FrameItem => ({
  channel: `${topic}:${feed.symbol}`,
  observation,
})
const bookItems = (feed: FeedState, lost: readonly DataObservation[]) =>
  lost.map((each) => item(feed, 'book', each))

/**
 * What a frame's number shows. Those of replies count the frames of their sid too: where these have no numbers of their
 * own (figures never have), what replies skip is not missing.
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

/** Every book of the sid is suspect: all are asked for again, and a second gap costs the socket. */
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
  const lost = feed.books.lose(tickers, 'sequence_gap', nowMs, { provenMs: feed.provenMs })
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
  // A trade that was overtaken is one all the same, and known by its id where it was seen before.
  if (continuity === 'old' && !isTrade) return ignored('seen before')
  if (continuity === 'implausible') {
    // Whatever follows it would count as seen before: only another socket, with numbers from 1 on, can be read.
    feed.actions.cut('a sequence number that cannot be right')
    return refused('implausible')
  }
  const timeMs = timeOf(frame.msg)
  const lost = isNumbered && continuity === 'gap' ? onGap(feed, sid, receivedMs, timeMs) : []
  if (isNumbered && isTrade) {
    const trades = tradesOf(feed, sid, receivedMs)
    trades.toMs = Math.max(trades.toMs, Math.min(timeMs ?? 0, receivedMs))
  }
  // A change that says it is a day late would take a day of its book back.
  const isChange = frame.type === 'orderbook_delta'
  const isWrongTime = timeMs !== undefined && isTime?.(timeMs, receivedMs, isChange) === false
  const read = isWrongTime ? refused('implausible') : readKind(feed, frame, receivedMs)
  const outcome = onUnreadable(feed, frame, read, receivedMs)
  if (isNumbered && isChange && !isWrongTime) feed.provenMs = Math.max(feed.provenMs, timeMs ?? receivedMs)
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

/** What a book frame that cannot be read has changed is not known, though its number is not missing. */
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
  const lost = feed.books.lose(suspects, 'damaged', receivedMs, { provenMs: feed.provenMs })
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
      return ignored('subscribed')
    case 'ok':
    case 'unsubscribed':
      feed.subscriptions.answered(frame.id ?? -1)
      return ignored('reply')
    case 'error':
      return readError(feed, frame, receivedMs)
  }
  return refused('unknown_kind')
}

function readSnapshot(feed: FeedState, frame: unknown, receivedMs: number): FrameOutcome {
  if (!SnapshotFrame.is(frame)) return refused('wrong_shape')
  const { market_ticker: ticker, yes_dollars_fp: yes, no_dollars_fp: no } = frame.msg
  // Of a contract that was just set aside no changes will follow.
  if (!feed.books.isWanted(ticker, receivedMs)) return ignored('contract not followed')
  const about = aboutOf(feed.symbol, ticker, receivedMs)
  const observation = feed.books.of(ticker).replace({ yes, no }, 'stream', receivedMs, about)
  if (observation === undefined) return refused('wrong_shape')
  if (observation.kind === 'book_lost') feed.books.ask([ticker], receivedMs)
  else {
    feed.books.came(ticker)
    feed.cutsInVain = 0
  }
  return data(`book:${feed.symbol}`, observation)
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

function readError(feed: FeedState, { id = -1, msg }: Frame, receivedMs: number): FrameOutcome {
  if (!ErrorMsg.is(msg)) return refused('wrong_shape')
  switch (msg.code) {
    case ERROR.alreadySubscribed:
      feed.subscriptions.repeated(id)
      return ignored('already subscribed')
    case ERROR.unknownMarket: {
      // One unknown contract refuses the whole list: the others are subscribed again without it.
      const { ticker, frames } = feed.subscriptions.unknown(id, msg.market_ticker, receivedMs)
      const lost =
        ticker === undefined ? [] : feed.books.setAside([ticker], receivedMs, { provenMs: feed.provenMs })
      sendAll(feed, frames)
      return withLost(bookItems(feed, lost), refused('venue_error'))
    }
    case ERROR.commandTimeout:
      break
    case ERROR.bufferOverflow:
      feed.actions.cut('the venue says that we read too slowly')
      break
    default:
      feed.subscriptions.failed(id)
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
