/**
 * Order books by REST, for a symbol without a socket: the quarter-hour contracts every few seconds, all others in
 * turn, about one round a minute.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { KalshiCatalogue } from './catalogue.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import type { ContractFeed } from './feed.ts'
import { askRestBook, type KalshiRest } from './history.ts'
import { aboutOf } from './mapper.ts'

const STEP_MS = 1_000

export interface PollBooksOptions {
  readonly catalogue: KalshiCatalogue
  readonly rest: KalshiRest
  readonly clock: Clock
  readonly isPolling: (symbol: AssetSymbol) => boolean
  /** How many symbols share the budget. */
  readonly symbols: number
}

/** Runs until the session ends; idle while the symbol has a socket. */
export async function pollBooks(
  session: SessionIo,
  feed: ContractFeed,
  options: PollBooksOptions,
): Promise<void> {
  await Promise.all([pollQuick(session, feed, options), pollOthers(session, feed, options)])
}

const isQuick = (catalogue: KalshiCatalogue, ticker: string) =>
  catalogue.get(ticker)?.series.kind === 'quarter_hour'

async function pollQuick(session: SessionIo, feed: ContractFeed, options: PollBooksOptions): Promise<void> {
  while (!session.signal.aborted) {
    if (options.isPolling(feed.symbol) && !session.isPaused()) {
      const quick = [...feed.followed].filter((ticker) => isQuick(options.catalogue, ticker))
      await Promise.all(quick.map((ticker) => pollBook(session, feed, ticker, options)))
    }
    await pause(options.clock, TIMES.pollQuickMs, session.signal)
  }
}

async function pollOthers(session: SessionIo, feed: ContractFeed, options: PollBooksOptions): Promise<void> {
  const { clock, isPolling } = options
  const pauseMs = (1_000 * options.symbols) / TIMES.pollOthersPerSecond
  while (!session.signal.aborted) {
    const startedMs = clock.now()
    for (const ticker of [...feed.followed].filter((each) => !isQuick(options.catalogue, each))) {
      if (session.signal.aborted || !isPolling(feed.symbol)) break
      if (!session.isPaused()) await pollBook(session, feed, ticker, options)
      await pause(clock, pauseMs, session.signal)
    }
    const restMs = isPolling(feed.symbol) ? TIMES.pollSlowMs - (clock.now() - startedMs) : STEP_MS
    await pause(clock, Math.max(STEP_MS, restMs), session.signal)
  }
}

async function pollBook(
  session: SessionIo,
  feed: ContractFeed,
  ticker: string,
  { rest, clock, isPolling }: PollBooksOptions,
): Promise<void> {
  const { symbol } = feed
  const book = feed.bookOf(ticker)
  try {
    const { book: wire, receivedMs } = await askRestBook(rest, ticker, session.signal)
    if (!feed.followed.has(ticker) || !isPolling(symbol)) return
    const sides = { yes: wire?.yes_dollars, no: wire?.no_dollars }
    const observation = book.replace(sides, 'poll', receivedMs, aboutOf(symbol, ticker, receivedMs))
    if (observation !== undefined) session.emit(`book:${symbol}`, observation)
  } catch {
    if (!isPolling(symbol)) return
    const lost = book.lose('unanswered', aboutOf(symbol, ticker, clock.now()))
    if (lost !== null) session.emit(`book:${symbol}`, lost)
  }
}

const pause = (clock: Clock, ms: number, signal: AbortSignal) => clock.sleep(ms, signal).catch(() => {})
