/**
 * One symbol's socket: the contracts that are followed, their books, and the reading of the frames. Everything
 * that belongs to a socket (sids, sequence numbers) is made anew with it; books become stale when it goes.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import {
  data,
  type FeedProtocol,
  type FrameItem,
  type FrameOutcome,
  ignored,
  parseObject,
  refused,
} from '../frame.ts'
import type { BookLostReason, DataObservation } from '../observation.ts'
import { type ContractBook, createContractBook } from './book.ts'
import { KALSHI_TIMES } from './describe.ts'
import { aboutOf, mapOpenInterest, mapTicker, mapTrade } from './mapper.ts'
import { createSubscriptions } from './subscriptions.ts'
import {
  DeltaFrame,
  ErrorMsg,
  ReplyFrame,
  SnapshotFrame,
  SubscribedMsg,
  TickerFrame,
  TradeFrame,
} from './wire.ts'

/** What the desk may do to its socket. */
export interface DeskActions {
  send(frame: string): void
  cut(reason: string): void
}

export interface Desk {
  readonly symbol: AssetSymbol
  /** Called for every new socket. */
  openReader(): FeedProtocol
  greeting(): string[]
  /** Changes what is followed; what was lost by it. */
  follow(tickers: readonly string[], nowMs: number): DataObservation[]
  /** The socket is gone. */
  disconnect(nowMs: number): DataObservation[]
  readonly followed: ReadonlySet<string>
  bookOf(ticker: string): ContractBook
  stats(): { readonly gaps: number; readonly lostBooks: number }
}

/** Kinds we know and did not ask for. */
const NOT_RECORDED = new Set([
  'market_lifecycle_v2',
  'event_lifecycle',
  'event_fee_update',
  'multivariate_market_lifecycle',
  'multivariate_lookup',
  'multivariate',
  'fill',
  'market_position',
  'user_order',
  'user_orders',
  'order_group_updates',
  'communications',
  'rfq_created',
  'rfq_deleted',
  'quote_created',
  'quote_accepted',
  'quote_executed',
  'cfbenchmarks_value',
  'cfbenchmarks_value_indexlist',
  'pyth_value',
  'pyth_value_underlying_list',
])

const ERROR_ALREADY_SUBSCRIBED = 6
const ERROR_UNKNOWN_MARKET = 16
const ERROR_BUFFER_OVERFLOW = 25

export function createDesk(symbol: AssetSymbol, actions: DeskActions): Desk {
  const books = new Map<string, ContractBook>()
  let followed = new Set<string>()
  /** Contracts that the venue says it does not have. */
  const refusedTickers = new Set<string>()
  let subscriptions = createSubscriptions()
  let lastGapMs = Number.NEGATIVE_INFINITY
  /** Until then no numbered frame is missing, so that a book that did not change since long is right until then. */
  let provenMs = 0
  const counts = { gaps: 0, lostBooks: 0 }

  function bookOf(ticker: string): ContractBook {
    const known = books.get(ticker)
    if (known !== undefined) return known
    const book = createContractBook()
    books.set(ticker, book)
    return book
  }

  const wanted = () => new Set([...followed].filter((ticker) => !refusedTickers.has(ticker)))
  const sendAll = (frames: readonly string[]) => {
    for (const frame of frames) actions.send(frame)
  }
  const item = (dataset: string, observation: DataObservation): FrameItem => ({
    channel: `${dataset}:${symbol}`,
    observation,
  })

  function loseAll(tickers: Iterable<string>, reason: BookLostReason, nowMs: number): DataObservation[] {
    return [...tickers].flatMap((ticker) => {
      const lost = books.get(ticker)?.lose(reason, aboutOf(symbol, ticker, nowMs), provenMs) ?? null
      if (lost !== null) counts.lostBooks += 1
      return lost === null ? [] : [lost]
    })
  }

  /** Every book of the sid is suspect: all are asked for again, and a second gap costs the socket. */
  function onGap(sid: number, nowMs: number): FrameItem[] {
    counts.gaps += 1
    const tickers = subscriptions.tickersOf(sid)
    const lost = loseAll(tickers, 'sequence_gap', nowMs).map((each) => item('book', each))
    if (nowMs - lastGapMs < KALSHI_TIMES.secondGapMs) actions.cut('two sequence gaps within a minute')
    else if (tickers.length > 0) actions.send(subscriptions.askSnapshots(sid, tickers))
    lastGapMs = nowMs
    return lost
  }

  function read(text: string, receivedMs: number): FrameOutcome {
    const frame = parseObject(text)
    if (frame === undefined) return refused('malformed')
    if (!ReplyFrame.is(frame)) return refused('unknown_kind')
    if (NOT_RECORDED.has(frame.type)) return ignored('kind not recorded')
    const { sid, seq } = frame
    const isNumbered = sid !== undefined && seq !== undefined
    const continuity = isNumbered ? subscriptions.sequence(sid, seq) : 'next'
    if (continuity === 'old') return ignored('told before')
    const lost = isNumbered && continuity === 'gap' ? onGap(sid, receivedMs) : []
    if (isNumbered) provenMs = Math.max(provenMs, timeOf(frame.msg) ?? receivedMs)
    const outcome = readKind(frame, receivedMs)
    if (lost.length === 0) return outcome
    if (outcome.kind === 'data') return { ...outcome, items: [...lost, ...outcome.items] }
    return { kind: 'data', items: lost, ...(outcome.kind === 'refused' ? { refused: outcome.reason } : {}) }
  }

  function readKind(frame: { type: string; id?: number; msg?: unknown }, receivedMs: number): FrameOutcome {
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
        sendAll(subscriptions.opened(frame.id ?? -1, frame.msg.channel, frame.msg.sid))
        return ignored('subscribed')
      case 'ok':
      case 'unsubscribed':
        return ignored('reply')
      case 'error':
        return readError(frame.msg)
    }
    return refused('unknown_kind')
  }

  function readSnapshot(frame: unknown, receivedMs: number): FrameOutcome {
    if (!SnapshotFrame.is(frame)) return refused('wrong_shape')
    const { market_ticker: ticker, yes_dollars_fp: yes, no_dollars_fp: no } = frame.msg
    if (!followed.has(ticker)) return ignored('contract not followed')
    const about = aboutOf(symbol, ticker, receivedMs)
    const observation = bookOf(ticker).replace({ yes, no }, 'full', receivedMs, about)
    return observation === undefined ? refused('wrong_shape') : data(`book:${symbol}`, observation)
  }

  function readDelta(frame: unknown, receivedMs: number): FrameOutcome {
    if (!DeltaFrame.is(frame)) return refused('wrong_shape')
    const { market_ticker: ticker, side, price_dollars: price, delta_fp: delta, ts_ms: timeMs } = frame.msg
    if (!followed.has(ticker)) return ignored('contract not followed')
    const about = aboutOf(symbol, ticker, receivedMs)
    const observation = bookOf(ticker).change({ side, price, delta }, timeMs ?? receivedMs, about)
    if (observation === undefined) return refused('wrong_shape')
    if (observation === null) return ignored('book is stale')
    if (observation.kind === 'book_lost') {
      counts.lostBooks += 1
      actions.send(subscriptions.askSnapshots(frame.sid, [ticker]))
    }
    return data(`book:${symbol}`, observation)
  }

  function readTicker(frame: unknown, receivedMs: number): FrameOutcome {
    if (!TickerFrame.is(frame)) return refused('wrong_shape')
    const { msg } = frame
    if (!followed.has(msg.market_ticker)) return ignored('contract not followed')
    const about = aboutOf(symbol, msg.market_ticker, receivedMs)
    const timeMs = msg.ts_ms ?? receivedMs
    const items = [item('market_ticker', mapTicker(msg, timeMs, about))]
    if (msg.open_interest_fp != null) {
      items.push(item('open_interest', mapOpenInterest(msg.open_interest_fp, timeMs, about)))
    }
    return { kind: 'data', items }
  }

  function readTrade(frame: unknown, receivedMs: number): FrameOutcome {
    if (!TradeFrame.is(frame)) return refused('wrong_shape')
    const { msg } = frame
    if (!followed.has(msg.market_ticker)) return ignored('contract not followed')
    const trade = mapTrade(msg, msg.ts_ms, aboutOf(symbol, msg.market_ticker, receivedMs))
    return trade === undefined ? refused('wrong_shape') : data(`trades:${symbol}`, trade)
  }

  function readError(msg: unknown): FrameOutcome {
    if (!ErrorMsg.is(msg)) return refused('wrong_shape')
    if (msg.code === ERROR_ALREADY_SUBSCRIBED) return ignored('already subscribed')
    if (msg.code === ERROR_UNKNOWN_MARKET && msg.market_ticker !== undefined) {
      // One unknown contract refuses the whole list: the others are subscribed again without it.
      refusedTickers.add(msg.market_ticker)
      subscriptions = createSubscriptions()
      actions.cut(`unknown contract ${msg.market_ticker}`)
    }
    if (msg.code === ERROR_BUFFER_OVERFLOW) actions.cut('the venue says that we read too slowly')
    return refused('venue_error')
  }

  return {
    symbol,
    openReader() {
      subscriptions = createSubscriptions()
      return { read, accepts: false, heartbeat: null, greetingPaceMs: 0 }
    },
    greeting() {
      subscriptions = createSubscriptions()
      return subscriptions.follow(wanted())
    },
    follow(tickers, nowMs) {
      const next = new Set(tickers)
      const gone = [...followed].filter((ticker) => !next.has(ticker))
      followed = next
      const lost = loseAll(gone, 'ended', nowMs)
      for (const ticker of gone) books.delete(ticker)
      sendAll(subscriptions.follow(wanted()))
      return lost
    },
    disconnect: (nowMs) => loseAll(followed, 'disconnected', nowMs),
    get followed() {
      return followed
    },
    bookOf,
    stats: () => ({ ...counts }),
  }
}

/** When the venue says that it happened. */
function timeOf(msg: unknown): number | undefined {
  if (typeof msg !== 'object' || msg === null || !('ts_ms' in msg)) return undefined
  return typeof msg.ts_ms === 'number' ? msg.ts_ms : undefined
}
