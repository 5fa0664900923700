/**
 * One symbol's socket: the contracts that are followed, their books, and the reading of the frames. Everything
 * that belongs to a socket (sids, sequence numbers, books that are owed) is made anew with it; books become stale
 * when it goes.
 *
 *   lost or subscribed ──▶ owed ──book comes──▶ live
 *                           ╰── asked again, then set aside for a minute; none comes at all: the socket goes
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import {
  data,
  type FrameItem,
  type FrameOutcome,
  type FrameProtocol,
  ignored,
  parseObject,
  refused,
} from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import type { ContractBook } from './book.ts'
import { afterGap, createBookSequence } from './book-sequence.ts'
import { createContractBooks } from './contract-books.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { createLateness } from './lateness.ts'
import { aboutOf, mapOpenInterest, mapTicker, mapTrade, venueInstantOf, venueTimeOf } from './mapper.ts'
import { createContractSubscriptions } from './subscriptions.ts'
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

/** What the desk may do to its socket. */
export interface ContractFeedActions {
  send(frame: string): void
  cut(reason: string): void
}

export interface ContractFeed {
  readonly symbol: AssetSymbol
  /** Called for every new socket. */
  openReader(): FrameProtocol
  /** Read at the opening of a socket. */
  greeting(nowMs: number): string[]
  /** Changes what is followed; what was lost by it. */
  follow(tickers: readonly string[], nowMs: number): DataObservation[]
  /** Asks again for what does not come, gives up what stays away. Called about once a second while it is read. */
  tend(nowMs: number): DataObservation[]
  /** Time in which nothing was read does not count as waiting. */
  forgive(ms: number): void
  /** The socket is gone. */
  disconnect(nowMs: number): DataObservation[]
  readonly followed: ReadonlySet<string>
  /** Whether the present socket was asked for anything. */
  readonly isSubscribed: boolean
  bookOf(ticker: string): ContractBook
  stats(): ContractFeedStats
}

export interface ContractFeedStats {
  readonly gaps: number
  readonly lostBooks: number
  /** Books whose top was lastingly another one than the venue's figures told. */
  readonly contradictions: number
}

interface Frame {
  readonly type: string
  readonly id?: number
  readonly sid?: number
  readonly seq?: number
  readonly msg?: unknown
}

export function createContractFeed(
  symbol: AssetSymbol,
  actions: ContractFeedActions,
  { useYesPrice = false } = {},
): ContractFeed {
  let subscriptions = createContractSubscriptions({ useYesPrice })
  let sequence = createBookSequence()
  let lateness = createLateness()
  let isConnected = false
  let lastGapMs = Number.NEGATIVE_INFINITY
  /** Sockets given up since the last book: a venue that is slow to answer gets slower when it is asked again. */
  let cutsInVain = 0
  /** Until then no numbered frame is missing, so that a book that did not change since long is right until then. */
  let provenMs = 0
  const counts = { gaps: 0, contradictions: 0, crossed: 0 }
  const sendAll = (frames: readonly string[]) => {
    for (const frame of frames) actions.send(frame)
  }
  const books = createContractBooks({
    symbol,
    useYesPrice,
    sendAsk: (tickers, nowMs) => sendAll(subscriptions.askSnapshots(tickers, nowMs)),
  })
  const item = (topic: string, observation: DataObservation): FrameItem => ({
    channel: `${topic}:${symbol}`,
    observation,
  })
  const bookItems = (lost: readonly DataObservation[]) => lost.map((each) => item('book', each))

  /** The subscribed set follows the wanted one; a new contract comes with its book. */
  function subscribe(nowMs: number): string[] {
    const wanted = books.wanted(nowMs)
    books.expect(wanted, nowMs)
    return subscriptions.follow(wanted, nowMs)
  }

  /** Every book of the sid is suspect: all are asked for again, and a second gap costs the socket. */
  function onGap(sid: number, nowMs: number): FrameItem[] {
    counts.gaps += 1
    const tickers = subscriptions.tickersOf(sid)
    if (tickers.length === 0) return []
    const lost = books.lose(tickers, 'sequence_gap', nowMs, { provenMs })
    if (afterGap(lastGapMs, nowMs) === 'drop socket') actions.cut('two sequence gaps within a minute')
    else books.ask(tickers, nowMs)
    lastGapMs = nowMs
    return bookItems(lost)
  }

  function read(text: string, receivedMs: number): FrameOutcome {
    const frame = parseObject(text)
    if (frame === undefined) return refused('malformed')
    if (!ReplyFrame.is(frame)) return onUnreadable(frame, refused('unknown_kind'), receivedMs)
    if (NOT_RECORDED.has(frame.type)) return ignored('kind not recorded')
    const { sid, seq } = frame
    const isNumbered = sid !== undefined && seq !== undefined
    const continuity = isNumbered ? sequence(sid, seq) : 'next'
    if (continuity === 'old') return ignored('seen before')
    const lost = isNumbered && continuity === 'gap' ? onGap(sid, receivedMs) : []
    const outcome = onUnreadable(frame, readKind(frame, receivedMs), receivedMs)
    if (isNumbered) provenMs = Math.max(provenMs, timeOf(frame.msg) ?? receivedMs)
    return withLost(lost, outcome)
  }

  /** What a book frame that cannot be read has changed is not known, though its number is not missing. */
  function onUnreadable(frame: object, outcome: FrameOutcome, receivedMs: number): FrameOutcome {
    const { type, sid, msg } = frame as { type?: unknown; sid?: unknown; msg?: unknown }
    if (outcome.kind !== 'refused' || typeof type !== 'string' || !type.startsWith('orderbook_'))
      return outcome
    const ticker = tickerOf(msg)
    const ofSid = typeof sid === 'number' ? subscriptions.tickersOf(sid) : []
    const suspects =
      ticker !== undefined && books.followed.has(ticker)
        ? [ticker]
        : ofSid.length > 0
          ? ofSid
          : [...books.followed]
    const lost = books.lose(suspects, 'damaged', receivedMs, { provenMs })
    books.ask(suspects, receivedMs)
    return withLost(bookItems(lost), outcome)
  }

  function readKind(frame: Frame, receivedMs: number): FrameOutcome {
    switch (frame.type) {
      case 'orderbook_snapshot':
        return readSnapshot(frame, receivedMs)
      case 'orderbook_delta':
        return readDelta(frame, receivedMs)
      case 'ticker':
        return readTicker(frame, receivedMs)
      case 'trade':
        return readTrade(frame, receivedMs)
      case 'subscribed':
        if (!SubscribedMsg.is(frame.msg)) return refused('wrong_shape')
        sendAll(subscriptions.opened(frame.id ?? -1, frame.msg.channel, frame.msg.sid, receivedMs))
        return ignored('subscribed')
      case 'ok':
      case 'unsubscribed':
        subscriptions.answered(frame.id ?? -1)
        return ignored('reply')
      case 'error':
        return readError(frame, receivedMs)
    }
    return refused('unknown_kind')
  }

  function readSnapshot(frame: unknown, receivedMs: number): FrameOutcome {
    if (!SnapshotFrame.is(frame)) return refused('wrong_shape')
    const { market_ticker: ticker, yes_dollars_fp: yes, no_dollars_fp: no } = frame.msg
    // Of a contract that was just set aside no changes will follow.
    if (!books.isWanted(ticker, receivedMs)) return ignored('contract not followed')
    const about = aboutOf(symbol, ticker, receivedMs)
    const observation = books.of(ticker).replace({ yes, no }, 'stream', receivedMs, about)
    if (observation === undefined) return refused('wrong_shape')
    if (observation.kind === 'book_lost') books.ask([ticker], receivedMs)
    else {
      books.came(ticker)
      cutsInVain = 0
    }
    return data(`book:${symbol}`, observation)
  }

  function readDelta(frame: unknown, receivedMs: number): FrameOutcome {
    if (!DeltaFrame.is(frame)) return refused('wrong_shape')
    const { market_ticker: ticker, side, price_dollars: price, delta_fp: delta } = frame.msg
    const timeMs = venueInstantOf(frame.msg, receivedMs)
    if (!books.followed.has(ticker)) return ignored('contract not followed')
    const book = books.of(ticker)
    if (timeMs !== undefined && lateness.of(timeMs, receivedMs) > TIMES.lateMs && book.isLive) {
      const lost = books.lose([ticker], 'frozen', receivedMs, { sinceMs: timeMs })
      books.ask([ticker], receivedMs)
      return { kind: 'data', items: bookItems(lost) }
    }
    const about = aboutOf(symbol, ticker, receivedMs)
    const observation = book.change({ side, price, delta }, timeMs ?? receivedMs, about)
    if (observation === undefined) return refused('wrong_shape')
    if (observation === null) return ignored('book is stale')
    if (observation.kind === 'book_lost') {
      counts.crossed += 1
      books.ask([ticker], receivedMs)
    } else books.changed(ticker, receivedMs)
    return data(`book:${symbol}`, observation)
  }

  function readTicker(frame: unknown, receivedMs: number): FrameOutcome {
    if (!TickerFrame.is(frame)) return refused('wrong_shape')
    const { msg } = frame
    const { market_ticker: ticker } = msg
    if (!books.followed.has(ticker)) return ignored('contract not followed')
    const about = aboutOf(symbol, ticker, receivedMs)
    const timeMs = venueInstantOf(msg, receivedMs) ?? receivedMs
    const items = [item('market_ticker', mapTicker(msg, timeMs, about))]
    if (msg.open_interest_fp != null) {
      items.push(item('open_interest', mapOpenInterest(msg.open_interest_fp, timeMs, about)))
    }
    const top = topOf(msg)
    const differsSinceMs = top === undefined ? undefined : books.reportedTop(ticker, top, receivedMs)
    if (differsSinceMs === undefined) return { kind: 'data', items }
    counts.contradictions += 1
    const lost = books.lose([ticker], 'top_mismatch', receivedMs, { sinceMs: differsSinceMs })
    books.ask([ticker], receivedMs)
    return { kind: 'data', items: [...bookItems(lost), ...items], refused: 'contradiction' }
  }

  function readTrade(frame: unknown, receivedMs: number): FrameOutcome {
    if (!TradeFrame.is(frame)) return refused('wrong_shape')
    const { msg } = frame
    if (!books.followed.has(msg.market_ticker)) return ignored('contract not followed')
    const timeMs = venueTimeOf(msg)
    if (timeMs === undefined) return refused('wrong_shape')
    const trade = mapTrade(msg, timeMs, aboutOf(symbol, msg.market_ticker, receivedMs))
    return trade === undefined ? refused('wrong_shape') : data(`trades:${symbol}`, trade)
  }

  function readError({ id = -1, msg }: Frame, receivedMs: number): FrameOutcome {
    if (!ErrorMsg.is(msg)) return refused('wrong_shape')
    switch (msg.code) {
      case ERROR.alreadySubscribed:
        subscriptions.repeated(id)
        return ignored('already subscribed')
      case ERROR.unknownMarket: {
        // One unknown contract refuses the whole list: the others are subscribed again without it.
        const { ticker, frames } = subscriptions.unknown(id, msg.market_ticker, receivedMs)
        const lost = ticker === undefined ? [] : books.setAside([ticker], receivedMs, { provenMs })
        sendAll(frames)
        return withLost(bookItems(lost), refused('venue_error'))
      }
      case ERROR.commandTimeout:
        break
      case ERROR.bufferOverflow:
        actions.cut('the venue says that we read too slowly')
        break
      default:
        subscriptions.failed(id)
    }
    return refused('venue_error')
  }

  return {
    symbol,
    openReader() {
      subscriptions = createContractSubscriptions({ useYesPrice })
      sequence = createBookSequence()
      return { read, accepts: false, heartbeat: null, greetingPaceMs: 0 }
    },
    greeting(nowMs) {
      subscriptions = createContractSubscriptions({ useYesPrice })
      sequence = createBookSequence()
      lateness = createLateness()
      books.clearWaits()
      isConnected = true
      return subscribe(nowMs)
    },
    follow(tickers, nowMs) {
      const lost = books.follow(tickers, nowMs, { provenMs })
      if (isConnected) sendAll(subscribe(nowMs))
      return lost
    },
    tend(nowMs) {
      if (!isConnected) return []
      sendAll(subscriptions.retry(nowMs))
      const patienceMs = TIMES.hopelessMs * 2 ** Math.min(cutsInVain, TIMES.patienceDoublings)
      const { tickers, isAll } = books.hopeless(nowMs, patienceMs)
      if (isAll || subscriptions.isHopeless(nowMs, patienceMs)) {
        cutsInVain += 1
        actions.cut(isAll ? 'no book comes' : 'a subscription stays unanswered')
        return []
      }
      const lost = books.setAside(tickers, nowMs, { provenMs })
      books.askDue(nowMs)
      return lost
    },
    forgive(ms) {
      books.forgive(ms)
      subscriptions.forgive(ms)
    },
    disconnect(nowMs) {
      isConnected = false
      books.clearWaits()
      return books.lose(books.followed, 'disconnected', nowMs, { provenMs })
    },
    get followed() {
      return books.followed
    },
    get isSubscribed() {
      return subscriptions.isAny
    },
    bookOf: books.of,
    stats: () => {
      const { gaps, contradictions, crossed } = counts
      return { gaps, contradictions, lostBooks: books.lost + crossed }
    },
  }
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
