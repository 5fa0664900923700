/**
 * The tasks of a Kalshi session beside its sockets: list contracts, let the feeds follow them, request results, repair
 * trades. Without a socket, because credentials are missing or rejected, the order books are polled as well.
 *
 *   streamed ──401 on dialling──▶ polled ──a socket opens──▶ streamed
 *
 *   every second:        list (30 s) ▸ follow ▸ results that are due, contracts that lists leave out ▸ sweeps
 *   every second:        books that have not arrived are requested again
 *   every four minutes:  a round over the trades of all contracts that were traded
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import { afterReading } from '../../kit/reading-time.ts'
import type { Channel } from '../channel.ts'
import type { SessionIo, VenueTasks } from '../live/venue-tasks.ts'
import { createMarketChanges } from '../prediction/market-changes.ts'
import { createUnreadMarkets } from '../prediction/unread-markets.ts'
import type { KalshiCatalogue, KnownContract } from './catalogue.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import type { ContractFeed } from './feed.ts'
import type { KalshiRest } from './history.ts'
import { aboutOf, mapOpenInterest, mapTicker } from './mapper.ts'
import { pollBooks } from './poll-books.ts'
import { createContractRounds } from './sweep-rounds.ts'
import { TradeSweeps } from './sweep-trades.ts'

const STEP_MS = 1_000
const UNAUTHORIZED = 401
/** Without a socket these topics are observed from answer to answer; order books track their own state. */
const POLLED_TOPICS = ['trades', 'market_ticker', 'open_interest'] as const

export interface FollowContractsOptions {
  readonly feeds: ReadonlyMap<AssetSymbol, ContractFeed>
  readonly catalogue: KalshiCatalogue
  readonly rest: KalshiRest
  readonly clock: Clock
  readonly random: () => number
  /** Channels that no socket feeds. */
  readonly channels: readonly Channel[]
  /** Channels that a socket feeds while there is one. */
  readonly streamed: readonly Channel[]
  /** Whether there is no key to open a socket with, so that everything is polled. */
  readonly isKeyless: boolean
  /** Symbols whose socket the venue refuses because of the key. */
  readonly rejected: Set<AssetSymbol>
  /** Passes the session to the feeds, which act on their sockets. */
  readonly onStart: (io: SessionIo) => void
}

export function followContracts(options: FollowContractsOptions): VenueTasks {
  const { feeds, clock, catalogue, rest, rejected } = options
  const isPolling = (symbol: AssetSymbol) => options.isKeyless || rejected.has(symbol)
  const changes = createMarketChanges(catalogue.of)
  const sweeps = new TradeSweeps({
    catalogue,
    rest,
    clock,
    random: options.random,
    isPolling,
    emitMarkets,
    tradesOf: (symbol) =>
      [...options.channels, ...options.streamed].find(
        (each) => each.topic === 'trades' && each.symbol === symbol,
      ),
  })
  const rounds = createContractRounds({
    catalogue,
    clock,
    symbols: feeds.size,
    isSwept: (ticker) => sweeps.isSwept(ticker),
    sweep: (session, symbol, ticker, fromMs) => sweeps.sweep(session, symbol, ticker, fromMs),
  })
  const unreadMarkets = createUnreadMarkets()
  let io: SessionIo | undefined

  const pause = (signal: AbortSignal) => clock.sleep(STEP_MS, signal).catch(() => {})
  const symbolOf = (route: string) => [...feeds.keys()].find((symbol) => route.endsWith(`:${symbol}`))

  function emitMarkets(session: SessionIo, symbol: AssetSymbol): void {
    for (const market of changes.take(symbol)) session.emit(`markets:${symbol}`, market)
  }

  async function follow(session: SessionIo, feed: ContractFeed): Promise<void> {
    const { symbol } = feed
    let nextListMs = 0
    while (!session.signal.aborted) {
      const nowMs = clock.now()
      try {
        if (nowMs >= nextListMs && !session.isPaused()) {
          nextListMs = nowMs + TIMES.catalogueEveryMs
          await list(session, symbol).catch((error) => {
            sweeps.listFailed(session, symbol, nowMs)
            throw error
          })
        }
        // A market is emitted before its books, so that the recorder already knows it.
        emitMarkets(session, symbol)
        for (const lost of feed.follow(catalogue.wanted(symbol, nowMs), nowMs))
          session.emit(`book:${symbol}`, lost)
        const answered = await catalogue.resolve(symbol, nowMs, session.signal)
        emitMarkets(session, symbol)
        for (const contract of answered)
          if (contract.market.status === 'open') emitOpenInterest(session, contract)
        await sweeps.sweepPending(session, symbol)
        await sweeps.sweepClosed(session, symbol, nowMs)
      } catch {
        // The venue did not answer. The session reports the channel's silence; the next step tries again.
        emitMarkets(session, symbol)
      }
      await pause(session.signal)
    }
  }

  async function list(session: SessionIo, symbol: AssetSymbol): Promise<void> {
    const requestedMs = clock.now()
    const unread = await catalogue.refresh(symbol, requestedMs, session.signal)
    emitMarkets(session, symbol)
    for (const each of unreadMarkets(aboutOf(symbol, '', clock.now()), unread))
      session.emit(`markets:${symbol}`, each)
    session.answered(`markets:${symbol}`)
    rounds.listed(symbol, requestedMs)
    for (const contract of catalogue.of(symbol)) {
      // A contract that is missing in the answer still has the figures of an earlier one.
      if (contract.receivedMs < requestedMs || contract.market.status !== 'open') continue
      if (isPolling(symbol)) emitTicker(session, contract)
      else compare(session, contract)
      emitOpenInterest(session, contract)
    }
    if (isPolling(symbol)) {
      session.answered(`market_ticker:${symbol}`)
      session.answered(`open_interest:${symbol}`)
    }
    sweeps.listed(symbol, requestedMs)
  }

  /** Nothing but a list shows that a single contract has stopped on the socket. */
  function compare(session: SessionIo, contract: KnownContract): void {
    const { market, series, receivedMs } = contract
    // A paused contract may have a book without quotes.
    const top = market.active === true ? contract.top : undefined
    const volume = market.volume == null ? null : Number(market.volume)
    const found = feeds.get(series.symbol)?.listed(market.marketId, { top, volume }, receivedMs)
    for (const lost of found?.lost ?? []) session.emit(`book:${series.symbol}`, lost)
    if (found?.areNewer === true) emitTicker(session, contract, true)
  }

  async function tend(session: SessionIo, feed: ContractFeed): Promise<void> {
    let lastMs = clock.now()
    let slowMs = 0
    while (!session.signal.aborted) {
      await pause(session.signal)
      await afterReading()
      const nowMs = clock.now()
      feed.reportLostTrades(nowMs)
      // A late timer counts with its planned length only, because nothing could be read in the meantime.
      feed.forgive(Math.max(0, nowMs - lastMs - STEP_MS))
      const isSlow = rest.client.stats().waitingMs > TIMES.slowAnswerMs
      slowMs = isSlow ? slowMs + STEP_MS : 0
      if (isSlow && slowMs <= TIMES.maxSlownessMs) feed.forgive(Math.min(STEP_MS, nowMs - lastMs))
      else if (session.isPaused()) feed.forgive(Math.min(STEP_MS, nowMs - lastMs))
      else for (const lost of feed.tend(nowMs)) session.emit(`book:${feed.symbol}`, lost)
      lastMs = nowMs
    }
  }

  async function sweepRunning(session: SessionIo, symbol: AssetSymbol): Promise<void> {
    while (!session.signal.aborted) {
      await rounds.round(session, symbol)
      await pause(session.signal)
    }
  }

  const emitLost = (symbol: AssetSymbol) => {
    for (const lost of feeds.get(symbol)?.disconnect(clock.now()) ?? []) io?.emit(`book:${symbol}`, lost)
  }

  return {
    channels: options.channels,
    polled: POLLED_TOPICS,
    async run(session) {
      io = session
      options.onStart(session)
      const polling = { catalogue, rest, clock, isPolling, symbols: feeds.size }
      await Promise.all(
        [...feeds.values()].flatMap((feed) => [
          follow(session, feed),
          tend(session, feed),
          sweepRunning(session, feed.symbol),
          pollBooks(session, feed, polling),
        ]),
      )
    },
    connected(route) {
      const symbol = symbolOf(route)
      if (symbol === undefined) return
      if (rejected.delete(symbol)) {
        if (io !== undefined) sweeps.pollingEnds(io, symbol)
        emitLost(symbol)
      }
      sweeps.connected(symbol)
    },
    refused(route, status) {
      const symbol = symbolOf(route)
      if (symbol === undefined || status !== UNAUTHORIZED || rejected.has(symbol)) return
      rejected.add(symbol)
      sweeps.pollingBegins(symbol)
    },
    disconnected(route, sinceMs) {
      const symbol = symbolOf(route)
      if (symbol === undefined) return
      sweeps.disconnected(symbol, sinceMs)
      emitLost(symbol)
    },
  }
}

/** Without a socket, the figures of a contract come from the list; with one, where the stream lacks the newest. */
function emitTicker(
  session: SessionIo,
  { market, lastPrice, series, receivedMs }: KnownContract,
  isListed = false,
): void {
  const figures = {
    price_dollars: lastPrice,
    volume_fp: market.volume == null ? null : String(market.volume),
    open_interest_fp: market.openInterest == null ? null : String(market.openInterest),
  }
  const about = aboutOf(series.symbol, market.marketId, receivedMs)
  const ticker = mapTicker(figures, receivedMs, about)
  session.emit(`market_ticker:${series.symbol}`, isListed ? { ...ticker, isListed } : ticker)
}

/** Emitted with a socket as well: a contract may be missing on it, and ticker frames have no numbers to show a loss. */
function emitOpenInterest(session: SessionIo, { market, series, receivedMs }: KnownContract): void {
  if (market.openInterest == null) return
  const about = aboutOf(series.symbol, market.marketId, receivedMs)
  const figure = mapOpenInterest(String(market.openInterest), receivedMs, about)
  session.emit(`open_interest:${series.symbol}`, { ...figure, isListed: true })
}
