/**
 * The part of a Kalshi session that is not a socket: lists contracts, lets the desks follow them, asks for results
 * and repairs trades. Without a socket, for want of credentials or because the venue rejects them, it asks for the
 * books too.
 *
 *   heard ──401 on dialling──▶ polled ──a socket opens──▶ heard
 *
 *   every second:        list (30 s) ▸ follow ▸ results that are due ▸ sweeps that are due
 *   every second:        books that do not come are asked for again
 *   every four minutes:  a round over the trades of all contracts that were traded
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import { afterReading } from '../../kit/reading-time.ts'
import type { Channel } from '../channel.ts'
import type { SessionIo, VenueTasks } from '../live/venue-tasks.ts'
import { createMarketChanges } from '../prediction/market-changes.ts'
import { createOwedSweeps, type OwedSweeps } from '../prediction/pending-sweeps.ts'
import type { KalshiCatalogue, KnownContract } from './catalogue.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import type { Desk } from './feed.ts'
import { askRestBook, askTrades, type KalshiRest } from './history.ts'
import { aboutOf, mapOpenInterest, mapTicker } from './mapper.ts'
import { createContractRounds } from './sweep-contracts.ts'

const STEP_MS = 1_000
const UNAUTHORIZED = 401
/** Overlap of a sweep with what was heard before the hole: no trade takes longer from its time to us. */
const SWEEP_MARGIN_MS = 20_000
/** A trade is listed so long after it was made, at the latest. */
const LISTED_WITHIN_MS = 5_000

export interface FollowOptions {
  readonly desks: ReadonlyMap<AssetSymbol, Desk>
  readonly catalogue: KalshiCatalogue
  readonly rest: KalshiRest
  readonly clock: Clock
  /** Channels that no socket feeds. */
  readonly channels: readonly Channel[]
  /** Channels that a socket feeds while there is one. */
  readonly streamed: readonly Channel[]
  /** Whether there is no key to open a socket with: all is asked for instead of heard. */
  readonly isKeyless: boolean
  /** Symbols whose socket the venue refuses because of the key. */
  readonly rejected: Set<AssetSymbol>
  /** Hands the session to those who act on sockets. */
  readonly onStart: (io: SessionIo) => void
}

export function followContracts(options: FollowOptions): VenueTasks {
  const { clock, catalogue, rest, rejected } = options
  const isPolling = (symbol: AssetSymbol) => options.isKeyless || rejected.has(symbol)
  const teller = createMarketChanges((symbol) => catalogue.of(symbol).map(({ observation }) => observation))
  /** Per symbol: since when trades were not heard, and until when. */
  const holes = new Map<AssetSymbol, { fromMs: number; toMs: number | undefined }>()
  /** Sweeps of holes, and of contracts that have closed. */
  const owed = new Map<AssetSymbol, OwedSweeps>()
  const closings = new Map<AssetSymbol, OwedSweeps>()
  /** Without a socket: until when trades were asked for, and who was told that they could not be. */
  const polledMs = new Map<AssetSymbol, number>()
  const failing = new Set<AssetSymbol>()
  const volumes = new Map<string, string>()
  const swept = new Set<string>()
  const rounds = createContractRounds({
    catalogue,
    clock,
    symbols: options.desks.size,
    isSwept: (ticker) => swept.has(ticker),
    sweep,
  })
  let io: SessionIo | undefined

  const symbolOf = (route: string) => [...options.desks.keys()].find((symbol) => route.endsWith(`:${symbol}`))

  async function run(session: SessionIo): Promise<void> {
    io = session
    options.onStart(session)
    const loops = [...options.desks.values()].flatMap((desk) => [
      follow(session, desk),
      tend(session, desk),
      sweepRunning(session, desk.symbol),
      pollQuick(session, desk),
      pollOthers(session, desk),
    ])
    await Promise.all(loops)
  }

  async function follow(session: SessionIo, desk: Desk): Promise<void> {
    let nextListMs = 0
    while (!session.signal.aborted) {
      const nowMs = clock.now()
      try {
        if (nowMs >= nextListMs && !session.isPaused()) {
          nextListMs = nowMs + TIMES.catalogueEveryMs
          await list(session, desk).catch((error) => {
            // Without a list it is not known what was traded.
            if (isPolling(desk.symbol)) tellTrades(session, desk.symbol, polledMs.get(desk.symbol) ?? nowMs)
            throw error
          })
        }
        // Books of a contract that was not told would be nobody's.
        tellMarkets(session, desk.symbol)
        for (const lost of desk.follow(catalogue.wanted(desk.symbol, nowMs), nowMs)) {
          session.emit(`book:${desk.symbol}`, lost)
        }
        await catalogue.resolve(desk.symbol, nowMs, session.signal)
        tellMarkets(session, desk.symbol)
        await sweepOwed(session, desk.symbol)
        await sweepClosed(session, desk.symbol, nowMs)
      } catch {
        // The venue did not answer: the channel falls silent, which is told; the next round tries again.
        tellMarkets(session, desk.symbol)
      }
      await rested(STEP_MS, session.signal)
    }
  }

  function tellMarkets(session: SessionIo, symbol: AssetSymbol): void {
    for (const market of teller.take(symbol)) session.emit(`markets:${symbol}`, market)
  }

  async function tend(session: SessionIo, desk: Desk): Promise<void> {
    let lastMs = clock.now()
    let slowMs = 0
    while (!session.signal.aborted) {
      await rested(STEP_MS, session.signal)
      await afterReading()
      const nowMs = clock.now()
      // Of a late timer only its planned length counts: meanwhile nothing could be read.
      desk.forgive(Math.max(0, nowMs - lastMs - STEP_MS))
      const isSlow = rest.client.stats().waitingMs > TIMES.slowAnswerMs
      slowMs = isSlow ? slowMs + STEP_MS : 0
      if (isSlow && slowMs <= TIMES.longestSlownessMs) desk.forgive(Math.min(STEP_MS, nowMs - lastMs))
      else if (session.isPaused()) desk.forgive(Math.min(STEP_MS, nowMs - lastMs))
      else for (const lost of desk.tend(nowMs)) session.emit(`book:${desk.symbol}`, lost)
      lastMs = nowMs
    }
  }

  async function sweepRunning(session: SessionIo, symbol: AssetSymbol): Promise<void> {
    while (!session.signal.aborted) {
      await rounds.round(session, symbol)
      await rested(STEP_MS, session.signal)
    }
  }

  async function list(session: SessionIo, desk: Desk): Promise<void> {
    const { symbol } = desk
    const askedMs = clock.now()
    await catalogue.refresh(symbol, session.signal)
    tellMarkets(session, symbol)
    session.answered(`markets:${symbol}`)
    rounds.listed(symbol, askedMs)
    if (isPolling(symbol)) for (const contract of catalogue.of(symbol)) emitFigures(session, contract)
    const traded = catalogue
      .of(symbol)
      .filter(({ market }) => isTraded(market.marketId, String(market.volume ?? '')))
    const hole = holes.get(symbol)
    const isPolled = isPolling(symbol)
    const sinceMs = isPolled
      ? (polledMs.get(symbol) ?? hole?.fromMs ?? askedMs - 2 * TIMES.catalogueEveryMs)
      : hole?.fromMs
    if (sinceMs === undefined) return
    for (const { market } of traded) sweepsOf(owed, symbol).owe(market.marketId, sinceMs - SWEEP_MARGIN_MS)
    if (isPolled) polledMs.set(symbol, askedMs)
    // A list that was asked for within the hole does not know what was traded in the rest of it.
    else if (hole?.toMs !== undefined && askedMs >= hole.toMs + LISTED_WITHIN_MS) holes.delete(symbol)
  }

  function sweepsOf(all: Map<AssetSymbol, OwedSweeps>, symbol: AssetSymbol): OwedSweeps {
    const known = all.get(symbol) ?? createOwedSweeps()
    all.set(symbol, known)
    return known
  }

  async function sweepOwed(session: SessionIo, symbol: AssetSymbol): Promise<void> {
    const sweeps = sweepsOf(owed, symbol)
    for (const { id, fromMs } of sweeps.due(clock.now())) {
      if (await sweep(session, symbol, id, fromMs)) sweeps.done(id)
      else sweeps.failed(id, clock.now())
    }
    if (isPolling(symbol)) tellTrades(session, symbol, sweeps.failingSinceMs())
  }

  /** Where trades are only asked for, questions that fail are a loss like that of a socket. */
  function tellTrades(session: SessionIo, symbol: AssetSymbol, sinceMs: number | undefined): void {
    const channel = [...options.channels, ...options.streamed].find(
      (each) => each.topic === 'trades' && each.symbol === symbol,
    )
    if (channel === undefined || failing.has(symbol) === (sinceMs !== undefined)) return
    const about = { source: 'predmkt_b', receivedMs: clock.now() } as const
    if (sinceMs === undefined) {
      failing.delete(symbol)
      session.report({ kind: 'subscribed', ...about, channel })
    } else {
      failing.add(symbol)
      const reason = 'trades cannot be asked for'
      session.report({ kind: 'disconnected', ...about, route: 'rest', channels: [channel], reason, sinceMs })
    }
  }

  /** Whether the volume has changed since the last list. */
  function isTraded(ticker: string, volume: string): boolean {
    const before = volumes.get(ticker)
    volumes.set(ticker, volume)
    return before !== volume && Number(volume) > 0
  }

  function emitFigures(session: SessionIo, contract: KnownContract): void {
    const { market, lastPrice, series } = contract
    if (market.status !== 'open') return
    const nowMs = clock.now()
    const about = aboutOf(series.symbol, market.marketId, nowMs)
    const openInterest = market.openInterest == null ? null : String(market.openInterest)
    const figures = {
      price_dollars: lastPrice,
      volume_fp: market.volume == null ? null : String(market.volume),
      open_interest_fp: openInterest,
    }
    session.emit(`market_ticker:${series.symbol}`, mapTicker(figures, nowMs, about))
    if (openInterest === null) return
    session.emit(`open_interest:${series.symbol}`, mapOpenInterest(openInterest, nowMs, about))
  }

  /** False when the venue did not answer. */
  async function sweep(
    session: SessionIo,
    symbol: AssetSymbol,
    ticker: string,
    fromMs: number,
  ): Promise<boolean> {
    try {
      const range = { fromMs, toMs: clock.now() + SWEEP_MARGIN_MS }
      const trades = await askTrades(rest, { symbol, ticker }, range, 'live', session.signal)
      for (const trade of trades) session.emit(`trades:${symbol}`, trade)
      return true
    } catch {
      return false
    }
  }

  /** Once a contract has closed, its whole list is asked for: this repairs whatever the socket lost. */
  async function sweepClosed(session: SessionIo, symbol: AssetSymbol, nowMs: number): Promise<void> {
    const sweeps = sweepsOf(closings, symbol)
    for (const { market } of catalogue.of(symbol)) {
      const endMs = market.endTime ?? Number.POSITIVE_INFINITY
      if (nowMs < endMs + TIMES.sweepAfterCloseMs || swept.has(market.marketId)) continue
      sweeps.owe(market.marketId, market.startTime ?? 0)
    }
    for (const { id, fromMs } of sweeps.due(clock.now())) {
      const market = catalogue.get(id)?.market
      // Only a figure from after the close says that nothing was traded.
      const isEmpty = market?.status !== 'open' && Number(market?.volume ?? 0) === 0
      if (market !== undefined && !isEmpty && !(await sweep(session, symbol, id, fromMs))) {
        sweeps.failed(id, clock.now())
        continue
      }
      sweeps.done(id)
      if (market === undefined) continue
      swept.add(id)
      const receivedMs = clock.now()
      const about = aboutOf(symbol, id, receivedMs)
      session.emit(`trades:${symbol}`, { kind: 'swept', ...about, venueTimeMs: receivedMs, key: null })
    }
    for (const ticker of swept) if (catalogue.get(ticker) === undefined) swept.delete(ticker)
    for (const ticker of volumes.keys()) if (catalogue.get(ticker) === undefined) volumes.delete(ticker)
  }

  const isQuick = (ticker: string) => catalogue.get(ticker)?.series.kind === 'quarter_hour'

  async function pollQuick(session: SessionIo, desk: Desk): Promise<void> {
    while (!session.signal.aborted) {
      if (isPolling(desk.symbol) && !session.isPaused()) {
        await Promise.all([...desk.followed].filter(isQuick).map((ticker) => pollBook(session, desk, ticker)))
      }
      await rested(TIMES.pollQuickMs, session.signal)
    }
  }

  async function pollOthers(session: SessionIo, desk: Desk): Promise<void> {
    const pauseMs = (1_000 * options.desks.size) / TIMES.pollOthersPerSecond
    while (!session.signal.aborted) {
      const startedMs = clock.now()
      for (const ticker of [...desk.followed].filter((each) => !isQuick(each))) {
        if (session.signal.aborted || !isPolling(desk.symbol)) break
        if (!session.isPaused()) await pollBook(session, desk, ticker)
        await rested(pauseMs, session.signal)
      }
      const restMs = isPolling(desk.symbol) ? TIMES.pollSlowMs - (clock.now() - startedMs) : STEP_MS
      await rested(Math.max(STEP_MS, restMs), session.signal)
    }
  }

  async function pollBook(session: SessionIo, desk: Desk, ticker: string): Promise<void> {
    const book = desk.bookOf(ticker)
    const channel = `book:${desk.symbol}`
    try {
      const { book: wire, receivedMs } = await askRestBook(rest, ticker, session.signal)
      if (!desk.followed.has(ticker) || !isPolling(desk.symbol)) return
      const about = aboutOf(desk.symbol, ticker, receivedMs)
      const sides = { yes: wire?.yes_dollars, no: wire?.no_dollars }
      const observation = book.replace(sides, 'rest', receivedMs, about)
      if (observation !== undefined) session.emit(channel, observation)
    } catch {
      if (!isPolling(desk.symbol)) return
      const lost = book.lose('unanswered', aboutOf(desk.symbol, ticker, clock.now()))
      if (lost !== null) session.emit(channel, lost)
    }
  }

  /** The books that were asked for end with the polling; trades since the last list are swept. */
  function heardAgain(symbol: AssetSymbol): void {
    const nowMs = clock.now()
    const fromMs = polledMs.get(symbol)
    if (fromMs !== undefined) holes.set(symbol, { fromMs, toMs: nowMs })
    polledMs.delete(symbol)
    failing.delete(symbol)
    for (const lost of options.desks.get(symbol)?.disconnect(nowMs) ?? []) io?.emit(`book:${symbol}`, lost)
  }

  const rested = (ms: number, signal: AbortSignal) => clock.sleep(ms, signal).catch(() => {})

  return {
    channels: options.channels,
    run,
    connected(route) {
      const symbol = symbolOf(route)
      if (symbol === undefined) return
      if (rejected.delete(symbol)) heardAgain(symbol)
      const hole = holes.get(symbol)
      if (hole !== undefined) hole.toMs = clock.now()
    },
    refused(route, status) {
      const symbol = symbolOf(route)
      if (symbol === undefined || status !== UNAUTHORIZED || rejected.has(symbol)) return
      rejected.add(symbol)
      // Trades are lost until the first list has said which contracts were traded.
      failing.add(symbol)
    },
    disconnected(route, sinceMs) {
      const symbol = symbolOf(route)
      const desk = symbol === undefined ? undefined : options.desks.get(symbol)
      if (symbol === undefined || desk === undefined) return
      const nowMs = clock.now()
      holes.set(symbol, { fromMs: Math.min(holes.get(symbol)?.fromMs ?? sinceMs, sinceMs), toMs: undefined })
      for (const lost of desk.disconnect(nowMs)) io?.emit(`book:${symbol}`, lost)
    },
  }
}
