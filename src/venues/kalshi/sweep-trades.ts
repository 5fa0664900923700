/**
 * Trades that the stream did not send, requested contract by contract.
 *
 *   socket lost ──▶ gap ──socket back, next list──▶ contracts whose volume changed are swept from the gap's start on
 *   no socket   ──▶ after every list the contracts whose volume changed are swept; then everything before the list
 *                   is observed. A list or a sweep that fails is a loss like that of the socket
 *   contract closed ──▶ its whole list is requested once: `swept`
 *
 * A sweep that fails is tried again, less and less often. The rounds over running contracts are in sweep-rounds.ts.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import { createPendingSweeps, type PendingSweeps } from '../prediction/pending-sweeps.ts'
import type { KalshiCatalogue, KnownContract } from './catalogue.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { askTrades, type KalshiRest } from './history.ts'
import { aboutOf } from './mapper.ts'

/** A sweep begins so long before the gap: no trade takes longer from its time to us. */
const SWEEP_MARGIN_MS = 20_000
/** A trade is listed so long after it was made, at the latest. */
const LISTED_WITHIN_MS = 5_000

export interface TradeSweeps {
  /** The contracts of a symbol were listed, as of this instant. */
  listed(symbol: AssetSymbol, listedMs: number): void
  /** Without a list it is not known what was traded. */
  listFailed(session: SessionIo, symbol: AssetSymbol, nowMs: number): void
  sweepPending(session: SessionIo, symbol: AssetSymbol): Promise<void>
  sweepClosed(session: SessionIo, symbol: AssetSymbol, nowMs: number): Promise<void>
  /** Emits the trades of a contract from an instant on; false when the venue did not answer. */
  sweep(session: SessionIo, symbol: AssetSymbol, ticker: string, fromMs: number): Promise<boolean>
  isSwept(ticker: string): boolean
  disconnected(symbol: AssetSymbol, sinceMs: number): void
  connected(symbol: AssetSymbol): void
  /** From here on trades are requested, not streamed. */
  pollingBegins(symbol: AssetSymbol): void
  pollingEnds(session: SessionIo, symbol: AssetSymbol): void
}

/** From when on a list is searched for traded contracts; undefined when the stream has sent them all. */
export function sweepFromMs(state: {
  readonly isPolling: boolean
  readonly polledMs: number | undefined
  readonly gapFromMs: number | undefined
  readonly listedMs: number
}): number | undefined {
  if (!state.isPolling) return state.gapFromMs
  return state.polledMs ?? state.gapFromMs ?? state.listedMs - 2 * TIMES.catalogueEveryMs
}

/** A list that was requested within the gap does not know what was traded in the rest of it. */
export function endsGap(gapToMs: number | undefined, listedMs: number): boolean {
  return gapToMs !== undefined && listedMs >= gapToMs + LISTED_WITHIN_MS
}

/** Whether the volume of a contract holds everything that was traded before a list was requested. */
export function isCurrent(
  { market, receivedMs }: Pick<KnownContract, 'market' | 'receivedMs'>,
  listedMs: number,
): boolean {
  const endMs = market.endTime ?? Number.POSITIVE_INFINITY
  return receivedMs >= listedMs || market.status !== 'open' || receivedMs >= endMs + LISTED_WITHIN_MS
}

export function createTradeSweeps(options: {
  catalogue: KalshiCatalogue
  rest: KalshiRest
  clock: Clock
  isPolling: (symbol: AssetSymbol) => boolean
  /** The channel of a symbol's trades; undefined where it was not requested. */
  tradesOf: (symbol: AssetSymbol) => Channel | undefined
}): TradeSweeps {
  const { catalogue, rest, clock, isPolling } = options
  /** Per symbol: from when to when the stream was lost; without an end while it is. */
  const gaps = new Map<AssetSymbol, { fromMs: number; toMs: number | undefined }>()
  const pending = new Map<AssetSymbol, PendingSweeps>()
  const closings = new Map<AssetSymbol, PendingSweeps>()
  /** Without a socket: the last list that showed everything traded before it. */
  const polledMs = new Map<AssetSymbol, number>()
  /** The same, while its sweeps are not done. */
  const unansweredMs = new Map<AssetSymbol, number>()
  const failing = new Set<AssetSymbol>()
  const volumes = new Map<string, string>()
  const swept = new Set<string>()
  /** The contracts as they were known when what is unknown was last forgotten. */
  const lists = new Map<AssetSymbol, readonly KnownContract[]>()

  function sweepsOf(all: Map<AssetSymbol, PendingSweeps>, symbol: AssetSymbol): PendingSweeps {
    const known = all.get(symbol) ?? createPendingSweeps()
    all.set(symbol, known)
    return known
  }

  /** Where trades are only requested, requests that fail are a loss like that of a socket. */
  function reportLoss(session: SessionIo, symbol: AssetSymbol, sinceMs: number, reason: string): void {
    const channel = options.tradesOf(symbol)
    if (channel === undefined || failing.has(symbol)) return
    failing.add(symbol)
    const about = {
      source: 'predmkt_b',
      receivedMs: clock.now(),
      route: 'rest',
      channels: [channel],
    } as const
    session.report({ kind: 'disconnected', ...about, reason, sinceMs })
  }

  const reportFailing = (session: SessionIo, symbol: AssetSymbol, sinceMs: number) =>
    reportLoss(session, symbol, sinceMs, 'trades cannot be asked for')

  /** The contracts were listed, and everything that the list showed to be traded was requested. */
  function reportAnswer(session: SessionIo, symbol: AssetSymbol): void {
    const listedMs = unansweredMs.get(symbol)
    const channel = options.tradesOf(symbol)
    if (listedMs === undefined || channel === undefined) return
    unansweredMs.delete(symbol)
    if (failing.delete(symbol))
      session.report({ kind: 'subscribed', source: 'predmkt_b', receivedMs: clock.now(), channel })
    session.answered(`trades:${symbol}`, listedMs - LISTED_WITHIN_MS)
  }

  /**
   * Without a socket: contracts that the list leaves out are swept, traded or not. One that has closed meanwhile is
   * waited for: its result comes soon, and its volume with it.
   */
  function polled(symbol: AssetSymbol, listedMs: number, fromMs: number): void {
    const unlisted = catalogue.of(symbol).filter((contract) => !isCurrent(contract, listedMs))
    const isOver = ({ market }: KnownContract) => (market.endTime ?? Number.POSITIVE_INFINITY) <= listedMs
    if (unlisted.some((contract) => isOver(contract) && !swept.has(contract.market.marketId))) return
    for (const contract of unlisted)
      if (!isOver(contract)) sweepsOf(pending, symbol).add(contract.market.marketId, fromMs - SWEEP_MARGIN_MS)
    polledMs.set(symbol, listedMs)
    unansweredMs.set(symbol, listedMs)
  }

  /** Whether the volume has changed since the last list. */
  function isTraded(ticker: string, volume: string): boolean {
    const before = volumes.get(ticker)
    volumes.set(ticker, volume)
    return before !== volume && Number(volume) > 0
  }

  /** What the catalogue has forgotten: looked for only when it has changed. */
  function forgetUnknown(symbol: AssetSymbol): void {
    const list = catalogue.of(symbol)
    if (lists.get(symbol) === list) return
    lists.set(symbol, list)
    for (const ticker of swept) if (catalogue.get(ticker) === undefined) swept.delete(ticker)
    for (const ticker of volumes.keys()) if (catalogue.get(ticker) === undefined) volumes.delete(ticker)
  }

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

  return {
    sweep,
    isSwept: (ticker) => swept.has(ticker),
    listed(symbol, listedMs) {
      const traded = catalogue
        .of(symbol)
        .filter(({ market }) => isTraded(market.marketId, String(market.volume ?? '')))
      const gap = gaps.get(symbol)
      const isPolled = isPolling(symbol)
      const fromMs = sweepFromMs({
        isPolling: isPolled,
        polledMs: polledMs.get(symbol),
        gapFromMs: gap?.fromMs,
        listedMs,
      })
      if (fromMs === undefined) return
      for (const { market } of traded)
        sweepsOf(pending, symbol).add(market.marketId, fromMs - SWEEP_MARGIN_MS)
      if (isPolled) polled(symbol, listedMs, fromMs)
      else if (endsGap(gap?.toMs, listedMs)) gaps.delete(symbol)
    },
    listFailed(session, symbol, nowMs) {
      if (isPolling(symbol)) reportFailing(session, symbol, polledMs.get(symbol) ?? nowMs)
    },
    async sweepPending(session, symbol) {
      const sweeps = sweepsOf(pending, symbol)
      for (const { id, fromMs } of sweeps.due(clock.now())) {
        if (await sweep(session, symbol, id, fromMs)) sweeps.done(id)
        else sweeps.failed(id, clock.now())
      }
      if (!isPolling(symbol)) return
      const failingSinceMs = sweeps.failingSinceMs()
      if (failingSinceMs === undefined) reportAnswer(session, symbol)
      else reportFailing(session, symbol, failingSinceMs)
    },
    async sweepClosed(session, symbol, nowMs) {
      const sweeps = sweepsOf(closings, symbol)
      for (const { market } of catalogue.of(symbol)) {
        const endMs = market.endTime ?? Number.POSITIVE_INFINITY
        if (nowMs < endMs + TIMES.sweepAfterCloseMs || swept.has(market.marketId)) continue
        sweeps.add(market.marketId, market.startTime ?? 0)
      }
      for (const { id, fromMs } of sweeps.due(clock.now())) {
        const market = catalogue.get(id)?.market
        // Only a figure from after the close proves that nothing was traded.
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
      forgetUnknown(symbol)
    },
    disconnected(symbol, sinceMs) {
      const fromMs = Math.min(gaps.get(symbol)?.fromMs ?? sinceMs, sinceMs)
      gaps.set(symbol, { fromMs, toMs: undefined })
    },
    connected(symbol) {
      const gap = gaps.get(symbol)
      if (gap !== undefined) gap.toMs = clock.now()
    },
    // Trades are lost until the first list has shown which contracts were traded.
    pollingBegins: (symbol) => void failing.add(symbol),
    // The socket sends what is traded from now on; what was traded since the last list is a gap.
    pollingEnds(session, symbol) {
      const fromMs = polledMs.get(symbol)
      if (fromMs !== undefined) {
        gaps.set(symbol, { fromMs, toMs: clock.now() })
        reportLoss(session, symbol, fromMs - LISTED_WITHIN_MS, 'the socket begins')
      }
      polledMs.delete(symbol)
      unansweredMs.delete(symbol)
      failing.delete(symbol)
    },
  }
}
