/**
 * One symbol's socket: the contracts that are followed and their books. Everything that belongs to a socket (sids,
 * sequence numbers, awaited books) starts from scratch with a new one; books become stale when it is lost. The frames
 * are read in read-frames.ts.
 *
 *   lost or subscribed ──▶ awaited ──book arrives──▶ live
 *                           ╰── requested again, then set aside for a minute; if none arrives at all, the socket is cut
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { FrameProtocol } from '../live/frame.ts'
import type { DataObservation } from '../observation.ts'
import { createAwaitedTrades, type TradedRange } from './awaited-trades.ts'
import { createBookSequence } from './book-sequence.ts'
import { createContractBooks } from './contract-books.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { createLateness } from './lateness.ts'
import { createMissedFigures } from './missed-figures.ts'
import {
  type ContractFeedActions,
  type FeedState,
  loseFrozen,
  readFrame,
  reportAwaitedTrades,
  sendAll,
  setAside,
} from './read-frames.ts'
import { ContractSubscriptions } from './subscriptions.ts'
import type { Top } from './top-check.ts'

export type ContractFeed = ReturnType<typeof createContractFeed>

interface ContractFeedStats {
  readonly gaps: number
  readonly lostBooks: number
  /** Books whose top differed for too long from the one in the venue's figures. */
  readonly contradictions: number
}

/**
 * Trades that are not confirmed are reported this far ahead: until the next report, and because the venue's clock may
 * be ahead of ours.
 */
const REPORTED_AHEAD_MS = 2_000

interface ContractFeedOptions {
  readonly useYesPrice?: boolean
  /** When a contract is traded; without it, always. */
  readonly tradedRange?: TradedRange
}

export function createContractFeed(
  symbol: AssetSymbol,
  actions: ContractFeedActions,
  { useYesPrice = false, tradedRange = () => undefined }: ContractFeedOptions = {},
) {
  const books = createContractBooks({
    symbol,
    useYesPrice,
    sendAsk: (tickers, nowMs) => sendAll(feed, feed.subscriptions.askSnapshots(tickers, nowMs)),
  })
  const freshSocket = () => ({
    subscriptions: new ContractSubscriptions({ useYesPrice }),
    sequence: createBookSequence(),
    lateness: createLateness(),
    trades: new Map(),
    provenOfSid: new Map(),
  })
  const feed: FeedState = {
    symbol,
    actions,
    books,
    awaitedTrades: createAwaitedTrades(tradedRange),
    missedFigures: createMissedFigures(),
    counts: { gaps: 0, contradictions: 0, crossed: 0 },
    ...freshSocket(),
    lastGapMs: Number.NEGATIVE_INFINITY,
    tradesCutMs: Number.NEGATIVE_INFINITY,
    tradesDoubtedMs: Number.NEGATIVE_INFINITY,
    cutsInVain: 0,
    provenMs: 0,
  }
  let isConnected = false
  const right = () => ({ provenMs: feed.provenMs })

  /** Makes the subscribed set equal to the wanted one; a new contract's book arrives with its subscription. */
  function subscribe(nowMs: number): string[] {
    const wanted = books.wanted(nowMs)
    books.expect(wanted, nowMs)
    return feed.subscriptions.follow(wanted, nowMs)
  }

  return {
    symbol,
    /** Called for every new socket. */
    openReader(): FrameProtocol {
      Object.assign(feed, freshSocket())
      const read: FrameProtocol['read'] = (text, receivedMs, isTime) =>
        readFrame(feed, text, receivedMs, isTime)
      return { read, accepts: false, heartbeat: null, greetingPaceMs: 0 }
    },
    /** Read when a socket opens. */
    greeting(nowMs: number): string[] {
      Object.assign(feed, freshSocket())
      books.clearWaits()
      feed.awaitedTrades.clear()
      isConnected = true
      const frames = subscribe(nowMs)
      reportAwaitedTrades(feed, nowMs)
      return frames
    },
    /** Changes the followed contracts; returns the books that are lost by it. */
    follow(tickers: readonly string[], nowMs: number): DataObservation[] {
      const before = books.followed
      const lost = books.follow(tickers, nowMs, right())
      if (books.followed !== before)
        for (const ticker of before) if (!books.followed.has(ticker)) feed.missedFigures.forget(ticker)
      if (!isConnected) return lost
      sendAll(feed, subscribe(nowMs))
      reportAwaitedTrades(feed, nowMs)
      return lost
    },
    /**
     * The venue's list has these figures of a contract. Returns the book that is lost by it, and whether the figures
     * are newer than the streamed ones.
     */
    listed(
      ticker: string,
      figures: { readonly top: Top | undefined; readonly volume: number | null },
      nowMs: number,
    ): { lost: DataObservation[]; areNewer: boolean } {
      if (!isConnected || !books.isWanted(ticker, nowMs)) return { lost: [], areNewer: false }
      const { top, volume } = figures
      const areNewer = volume !== null && feed.missedFigures.listed(ticker, volume)
      if (areNewer) actions.lostFigures(ticker)
      const sinceMs = top === undefined ? undefined : books.listedTop(ticker, top, nowMs)
      if (sinceMs === undefined) return { lost: [], areNewer }
      const lost = loseFrozen(feed, ticker, sinceMs, nowMs)
      books.ask([ticker], nowMs)
      return { lost, areNewer }
    },
    /** Reports the trades that are not confirmed to arrive. Called about once a second. */
    reportLostTrades(nowMs: number) {
      if (isConnected) reportAwaitedTrades(feed, nowMs, REPORTED_AHEAD_MS)
    },
    /**
     * Requests again what has not arrived, and gives up after a while. Called about once a second while the socket is
     * read.
     */
    tend(nowMs: number): DataObservation[] {
      if (!isConnected) return []
      sendAll(feed, feed.subscriptions.retry(nowMs))
      const patienceMs = TIMES.hopelessMs * 2 ** Math.min(feed.cutsInVain, TIMES.patienceDoublings)
      const { tickers, isAll } = books.hopeless(nowMs, patienceMs)
      if (isAll || feed.subscriptions.isHopeless(nowMs, patienceMs)) {
        feed.cutsInVain += 1
        actions.cut(isAll ? 'no book comes' : 'a subscription stays unanswered')
        return []
      }
      const lost = setAside(feed, tickers, nowMs)
      books.askDue(nowMs)
      return lost
    },
    /** Time during which nothing was read does not count as waiting. */
    forgive(ms: number) {
      books.forgive(ms)
      feed.subscriptions.forgive(ms)
    },
    /** The socket has ended; all of its books are lost. */
    disconnect(nowMs: number): DataObservation[] {
      if (isConnected) reportAwaitedTrades(feed, nowMs)
      feed.awaitedTrades.clear()
      isConnected = false
      books.clearWaits()
      return books.lose(books.followed, 'disconnected', nowMs, right())
    },
    get followed(): ReadonlySet<string> {
      return books.followed
    },
    /** Whether anything was requested on the current socket. */
    get isSubscribed() {
      return feed.subscriptions.isAny
    },
    bookOf: books.of,
    stats: (): ContractFeedStats => {
      const { gaps, contradictions, crossed } = feed.counts
      return { gaps, contradictions, lostBooks: books.lost + crossed }
    },
  }
}
