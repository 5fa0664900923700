/** The order books of one symbol's contracts: which are live, which are awaited, which are set aside. */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { BookLostReason, DataObservation } from '../observation.ts'
import { createAwaitedBooks } from './awaited-books.ts'
import { type ContractBook, createContractBook, type RightUntil } from './book.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { createListCheck } from './list-check.ts'
import { aboutOf } from './mapper.ts'
import { createTopCheck, type Top } from './top-check.ts'

export type ContractBooks = ReturnType<typeof createContractBooks>

export function createContractBooks(options: {
  symbol: AssetSymbol
  useYesPrice: boolean
  sendAsk: (tickers: readonly string[], nowMs: number) => void
}) {
  const { symbol, useYesPrice } = options
  const books = new Map<string, ContractBook>()
  const asideUntilMs = new Map<string, number>()
  const awaited = createAwaitedBooks()
  const tops = createTopCheck()
  const lists = createListCheck()
  let followed: ReadonlySet<string> = new Set()
  let followedList: readonly string[] | undefined
  let lostCount = 0

  const isWanted = (ticker: string, nowMs: number) =>
    followed.has(ticker) && nowMs >= (asideUntilMs.get(ticker) ?? 0)

  function lose(
    tickers: Iterable<string>,
    reason: BookLostReason,
    nowMs: number,
    right: RightUntil,
  ): DataObservation[] {
    return [...tickers].flatMap((ticker) => {
      tops.forget(ticker)
      lists.forget(ticker)
      const lost = books.get(ticker)?.lose(reason, aboutOf(symbol, ticker, nowMs), right) ?? null
      if (lost !== null) lostCount += 1
      return lost === null ? [] : [lost]
    })
  }

  function askDue(nowMs: number): void {
    const due = awaited.takeDue(nowMs)
    if (due.length > 0) options.sendAsk(due, nowMs)
  }

  return {
    get followed(): ReadonlySet<string> {
      return followed
    },
    /** The followed contracts that are not set aside. */
    wanted: (nowMs: number): ReadonlySet<string> =>
      asideUntilMs.size === 0 ? followed : new Set([...followed].filter((ticker) => isWanted(ticker, nowMs))),
    isWanted,
    follow(tickers: readonly string[], nowMs: number, right: RightUntil): DataObservation[] {
      // Called every second, with the same list until it changes.
      if (tickers === followedList) return []
      followedList = tickers
      const next = new Set(tickers)
      const gone = [...followed].filter((ticker) => !next.has(ticker))
      followed = next
      const lost = lose(gone, 'ended', nowMs, right)
      for (const ticker of gone) {
        books.delete(ticker)
        asideUntilMs.delete(ticker)
        awaited.forget(ticker)
      }
      return lost
    },
    of(ticker: string): ContractBook {
      const known = books.get(ticker)
      if (known !== undefined) return known
      const book = createContractBook({ useYesPrice })
      books.set(ticker, book)
      return book
    },
    /** The current socket will send the books of these contracts; those that are not live are awaited. */
    expect(tickers: Iterable<string>, nowMs: number) {
      for (const ticker of tickers) if (books.get(ticker)?.isLive !== true) awaited.expect(ticker, nowMs)
    },
    lose,
    /** Requests these books again, each of them not too often. */
    ask(tickers: Iterable<string>, nowMs: number) {
      for (const ticker of tickers) awaited.need(ticker, nowMs)
      askDue(nowMs)
    },
    askDue,
    came(ticker: string) {
      tops.forget(ticker)
      awaited.came(ticker)
    },
    /** The venue does not know these contracts or does not send their books, so they are left out for a while. */
    setAside(tickers: readonly string[], nowMs: number, right: RightUntil): DataObservation[] {
      const known = tickers.filter((ticker) => followed.has(ticker))
      for (const ticker of known) {
        asideUntilMs.set(ticker, nowMs + TIMES.setAsideMs)
        awaited.forget(ticker)
      }
      return lose(known, 'ended', nowMs, right)
    },
    /** The books that have not arrived for too long; `isAll` if no book is live either. */
    hopeless(nowMs: number, patienceMs: number): { tickers: string[]; isAll: boolean } {
      const tickers = awaited.hopeless(nowMs, patienceMs)
      return { tickers, isAll: tickers.length > 0 && ![...books.values()].some((book) => book.isLive) }
    },
    /** The book has changed and may now have the reported top. */
    changed(ticker: string, nowMs: number) {
      lists.changed(ticker)
      const top = tops.lastOf(ticker)
      if (top !== undefined && books.get(ticker)?.hasTop(top) === true) tops.agreed(ticker, nowMs)
    },
    /** The figures reported a top. Returns since when the book's top differs, once that has lasted too long. */
    reportedTop(ticker: string, top: Top, nowMs: number): number | undefined {
      const book = books.get(ticker)
      return book?.isLive === true ? tops.reported(ticker, top, book.hasTop(top), nowMs) : undefined
    },
    /** A list has these quotes. Returns until when the book was right, if it is certainly wrong now. */
    listedTop(ticker: string, top: Top, nowMs: number): number | undefined {
      const book = books.get(ticker)
      if (book?.isLive !== true) return undefined
      const verdict = lists.listed(ticker, book.hasTop(top), book.lastMs, nowMs)
      // Not awaited: the book stays live, and the next list shows whether it has arrived.
      if (verdict === 'request') options.sendAsk([ticker], nowMs)
      return verdict === 'wrong' ? lists.rightTo(ticker) : undefined
    },
    /** Until when the book was right if lists that differ from it are; undefined if they do not differ. */
    contradictedSince: lists.rightTo,
    /** The venue has sent the same book again, although its lists differ. */
    confirmed: lists.confirmed,
    /** All waits end with the socket. */
    clearWaits: () => awaited.clear(),
    forgive: awaited.forgive,
    get lost() {
      return lostCount
    },
  }
}
