/**
 * Polls order books over REST for a symbol without a socket: those of quarter-hour contracts every few seconds, all
 * others in turn, about one round a minute.
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

/** When each contract's book was last answered. */
type Answered = Map<string, number>

/** Runs until the session ends; idle while the symbol has a socket. */
export async function pollBooks(
  session: SessionIo,
  feed: ContractFeed,
  options: PollBooksOptions,
): Promise<void> {
  const answered: Answered = new Map()
  await Promise.all([
    pollQuick(session, feed, answered, options),
    pollOthers(session, feed, answered, options),
    loseOld(session, feed, answered, options),
  ])
}

/** Loses books whose last answer is too old, however many others were answered in the meantime. */
async function loseOld(
  session: SessionIo,
  feed: ContractFeed,
  answered: Answered,
  { catalogue, clock, isPolling }: PollBooksOptions,
): Promise<void> {
  while (!session.signal.aborted) {
    await pause(clock, STEP_MS, session.signal)
    const nowMs = clock.now()
    for (const [ticker, answeredMs] of answered) {
      const holdsMs = isQuick(catalogue, ticker) ? TIMES.quickHoldsMs : TIMES.slowHoldsMs
      const isFollowed = isPolling(feed.symbol) && feed.followed.has(ticker)
      if (isFollowed && nowMs - answeredMs <= holdsMs) continue
      answered.delete(ticker)
      if (isFollowed) lose(session, feed, ticker, nowMs, answeredMs + holdsMs)
    }
  }
}

/** Without `sinceMs`, the book is lost since its last answer. */
function lose(session: SessionIo, feed: ContractFeed, ticker: string, nowMs: number, sinceMs?: number): void {
  const right = sinceMs === undefined ? {} : { sinceMs }
  const lost = feed.bookOf(ticker).lose('unanswered', aboutOf(feed.symbol, ticker, nowMs), right)
  if (lost !== null) session.emit(`book:${feed.symbol}`, lost)
}

const isQuick = (catalogue: KalshiCatalogue, ticker: string) =>
  catalogue.get(ticker)?.series.kind === 'quarter_hour'

async function pollQuick(
  session: SessionIo,
  feed: ContractFeed,
  answered: Answered,
  options: PollBooksOptions,
): Promise<void> {
  while (!session.signal.aborted) {
    if (options.isPolling(feed.symbol) && !session.isPaused()) {
      const quick = [...feed.followed].filter((ticker) => isQuick(options.catalogue, ticker))
      await Promise.all(quick.map((ticker) => pollBook(session, feed, ticker, answered, options)))
    }
    await pause(options.clock, TIMES.pollQuickMs, session.signal)
  }
}

async function pollOthers(
  session: SessionIo,
  feed: ContractFeed,
  answered: Answered,
  options: PollBooksOptions,
): Promise<void> {
  const { clock, isPolling } = options
  const pauseMs = (1_000 * options.symbols) / TIMES.pollOthersPerSecond
  while (!session.signal.aborted) {
    const startedMs = clock.now()
    for (const ticker of [...feed.followed].filter((each) => !isQuick(options.catalogue, each))) {
      if (session.signal.aborted || !isPolling(feed.symbol)) break
      if (!session.isPaused()) await pollBook(session, feed, ticker, answered, options)
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
  answered: Answered,
  { catalogue, rest, clock, isPolling }: PollBooksOptions,
): Promise<void> {
  const { symbol } = feed
  const book = feed.bookOf(ticker)
  try {
    const { book: wire, receivedMs } = await askRestBook(rest, ticker, session.signal)
    if (!feed.followed.has(ticker) || !isPolling(symbol)) return
    // An answer without either side is that of an empty book, or none.
    const hasSides = wire.yes_dollars !== undefined || wire.no_dollars !== undefined
    const { bid = null, ask = null } = catalogue.get(ticker)?.top ?? {}
    if (!hasSides && (bid !== null || ask !== null)) {
      lose(session, feed, ticker, clock.now())
      return
    }
    const sides = { yes: wire.yes_dollars, no: wire.no_dollars }
    const observation = book.replace(sides, 'poll', receivedMs, aboutOf(symbol, ticker, receivedMs))
    if (observation === undefined) return
    answered.set(ticker, receivedMs)
    session.emit(`book:${symbol}`, observation)
  } catch {
    if (isPolling(symbol)) lose(session, feed, ticker, clock.now())
  }
}

const pause = (clock: Clock, ms: number, signal: AbortSignal) => clock.sleep(ms, signal).catch(() => {})
