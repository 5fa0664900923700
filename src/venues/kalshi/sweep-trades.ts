/**
 * Trades that the stream did not send, requested contract by contract.
 *
 *   socket lost ──▶ gap ──socket back, next list──▶ contracts whose volume changed are swept from the gap's start on
 *   no socket   ──▶ after every list the contracts whose volume changed are swept; once their trades make up what it
 *                   grew by, everything before the list is observed. A list or a sweep that fails is a loss like that
 *                   of a socket
 *   contract closed ──▶ its whole list is requested until it adds up to the volume: `swept`
 *                   ╰── the venue reopens it with a later end: the same again after that
 *
 * A sweep that fails is tried again, less and less often. The rounds over running contracts are in sweep-rounds.ts.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import { DOUBTED_FOR_MS, type DoubtedTime, doubtedAgain } from '../doubted-time.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { TradeObservation } from '../observation.ts'
import { createPendingSweeps, type PendingSweeps } from '../prediction/pending-sweeps.ts'
import type { KalshiCatalogue, KnownContract } from './catalogue.ts'
import { areTooFew, countVolumes } from './counted-volume.ts'
import { KALSHI_TIMES as TIMES } from './describe.ts'
import { askTrades, type KalshiRest } from './history.ts'
import { aboutOf } from './mapper.ts'

/** A sweep begins this long before the gap, because no trade takes longer to reach us. */
const SWEEP_MARGIN_MS = 20_000
/** A trade is listed at most this long after it was made. */
const LISTED_WITHIN_MS = 5_000
/** After this time a trade is certainly part of the volume. */
const COUNTED_WITHIN_MS = 60_000

interface TradeSweepsOptions {
  readonly catalogue: KalshiCatalogue
  readonly rest: KalshiRest
  readonly clock: Clock
  readonly random: () => number
  readonly isPolling: (symbol: AssetSymbol) => boolean
  /** The channel of a symbol's trades; undefined where it was not requested. */
  readonly tradesOf: (symbol: AssetSymbol) => Channel | undefined
  /** Emits contracts that are new or have changed since they were last emitted. */
  readonly emitMarkets: (session: SessionIo, symbol: AssetSymbol) => void
}

interface SymbolSweeps {
  /** When the stream was lost and when it came back; no end while it is lost. */
  gap?: { readonly fromMs: number; toMs: number | undefined }
  readonly pending: PendingSweeps
  readonly closings: PendingSweeps
  /** Without a socket: time of the last list that showed everything traded before it. */
  polledMs?: number
  /** The same time, until its sweeps are done. */
  unansweredMs?: number
  isFailing: boolean
  /** The list of contracts for which unknown ones were last forgotten. */
  list?: readonly KnownContract[]
}

/** The time from which traded contracts are swept; undefined if the stream has sent all trades. */
export function sweepFromMs(state: {
  readonly isPolling: boolean
  readonly polledMs: number | undefined
  readonly gapFromMs: number | undefined
  readonly listedMs: number
}): number | undefined {
  if (!state.isPolling) return state.gapFromMs
  return state.polledMs ?? state.gapFromMs ?? state.listedMs - 2 * TIMES.catalogueEveryMs
}

/**
 * Whether a list covers the whole gap; one requested within the gap does not show what was traded in the rest of it.
 */
export function endsGap(gapToMs: number | undefined, listedMs: number): boolean {
  return gapToMs !== undefined && listedMs >= gapToMs + LISTED_WITHIN_MS
}

/** Whether the contract's volume includes everything that was traded before the list was requested. */
export function isCurrent(
  { market, receivedMs }: Pick<KnownContract, 'market' | 'receivedMs'>,
  listedMs: number,
): boolean {
  const endMs = market.endTime ?? Number.POSITIVE_INFINITY
  return receivedMs >= listedMs || market.status !== 'open' || receivedMs >= endMs + LISTED_WITHIN_MS
}

const volumeOf = (market: KnownContract['market'] | undefined) => Number(market?.volume ?? 0)

const isRunning = ({ status, endTime }: KnownContract['market'], nowMs: number) =>
  status === 'open' && (endTime ?? 0) > nowMs

export class TradeSweeps {
  readonly #options: TradeSweepsOptions
  readonly #symbols = new Map<AssetSymbol, SymbolSweeps>()
  /** By ticker, the volume in the last list. */
  readonly #volumes = new Map<string, string | null>()
  /** By ticker, the volume with which a closed contract was swept. */
  readonly #swept = new Map<string, number>()
  /** Closed contracts whose trades do not add up to the volume. */
  readonly #doubted = new Map<string, DoubtedTime>()
  /** What was traded while trades were only polled. */
  readonly #counts = countVolumes()

  constructor(options: TradeSweepsOptions) {
    this.#options = options
  }

  /** False again if a later answer counts more, because the trades may have been as outdated as the volume. */
  isSwept(ticker: string): boolean {
    const volume = this.#swept.get(ticker)
    return volume !== undefined && volumeOf(this.#options.catalogue.get(ticker)?.market) <= volume
  }

  /** The contracts of a symbol were listed; the request was sent at `listedMs`. */
  listed(symbol: AssetSymbol, listedMs: number): void {
    const { catalogue } = this.#options
    const state = this.#of(symbol)
    for (const { market } of catalogue.of(symbol))
      if (isRunning(market, listedMs)) this.#swept.delete(market.marketId)
    const traded = catalogue
      .of(symbol)
      .filter(({ market }) => !this.isSwept(market.marketId))
      .filter(({ market }) =>
        this.#isTraded(market.marketId, market.volume == null ? null : String(market.volume)),
      )
    const isPolling = this.#options.isPolling(symbol)
    const { polledMs, gap } = state
    const fromMs = sweepFromMs({ isPolling, polledMs, gapFromMs: gap?.fromMs, listedMs })
    if (fromMs === undefined) return
    for (const { market } of traded) state.pending.add(market.marketId, fromMs - SWEEP_MARGIN_MS)
    if (isPolling) this.#polled(symbol, listedMs, fromMs)
    if (isPolling) this.#count(symbol, listedMs)
    else if (endsGap(gap?.toMs, listedMs)) delete state.gap
  }

  /** Without a list it is unknown what was traded. */
  listFailed(session: SessionIo, symbol: AssetSymbol, nowMs: number): void {
    if (this.#options.isPolling(symbol))
      this.#reportFailing(session, symbol, this.#of(symbol).polledMs ?? nowMs)
  }

  async sweepPending(session: SessionIo, symbol: AssetSymbol): Promise<void> {
    const { clock, isPolling } = this.#options
    const { pending } = this.#of(symbol)
    for (const { id, fromMs } of pending.due(clock.now())) {
      const volume = this.#options.catalogue.get(id)?.market.volume
      const trades = await this.sweep(session, symbol, id, fromMs)
      if (trades !== undefined) this.#counts.received(id, trades, fromMs)
      if (trades === undefined) pending.failed(id, clock.now())
      else if (volume != null && this.#counts.isLacking(id, Number(volume), clock.now()))
        pending.lacked(id, clock.now())
      else pending.done(id)
    }
    if (!isPolling(symbol)) return
    const failingSinceMs = pending.failingSinceMs()
    if (failingSinceMs !== undefined) this.#reportFailing(session, symbol, failingSinceMs)
    // Until nothing is lacking, the channel is observed up to the last answer.
    else if (!pending.isAnyRetried()) this.#reportAnswer(session, symbol)
  }

  async sweepClosed(session: SessionIo, symbol: AssetSymbol, nowMs: number): Promise<void> {
    const { catalogue, clock } = this.#options
    const { closings } = this.#of(symbol)
    for (const { market } of catalogue.of(symbol)) {
      const endMs = market.endTime ?? Number.POSITIVE_INFINITY
      if (nowMs < endMs + TIMES.sweepAfterCloseMs || this.isSwept(market.marketId)) continue
      closings.add(market.marketId, market.startTime ?? 0)
    }
    for (const { id, fromMs } of closings.due(clock.now())) {
      const market = catalogue.get(id)?.market
      const volume = volumeOf(market)
      if (market !== undefined && isRunning(market, nowMs)) {
        closings.done(id)
        continue
      }
      // Only a volume from after the close proves that nothing was traded.
      const hasNone = market?.volume != null && Number(market.volume) === 0
      const isEmpty = market?.status !== 'open' && hasNone
      if (market !== undefined && !isEmpty) {
        const trades = await this.sweep(session, symbol, id, fromMs)
        if (trades === undefined || this.#isDoubted(id, trades, volume)) {
          closings.failed(id, clock.now())
          continue
        }
      }
      closings.done(id)
      this.#doubted.delete(id)
      if (market === undefined) continue
      this.#swept.set(id, volume)
      const receivedMs = clock.now()
      const about = aboutOf(symbol, id, receivedMs)
      session.emit(`trades:${symbol}`, { kind: 'swept', ...about, venueTimeMs: receivedMs, key: null })
    }
    this.#forgetUnknown(symbol)
  }

  /** Emits the trades of a contract from `fromMs` on; undefined if the venue did not answer. */
  async sweep(
    session: SessionIo,
    symbol: AssetSymbol,
    ticker: string,
    fromMs: number,
  ): Promise<readonly TradeObservation[] | undefined> {
    const { rest, clock } = this.#options
    try {
      const range = { fromMs, toMs: clock.now() + SWEEP_MARGIN_MS }
      const trades = await askTrades(rest, { symbol, ticker }, range, 'live', session.signal)
      // A list that is still being read may already have the contract. The recorder drops trades of unknown contracts,
      // so new contracts are emitted first.
      if (trades.length > 0) this.#options.emitMarkets(session, symbol)
      for (const trade of trades) session.emit(`trades:${symbol}`, trade)
      return trades
    } catch {
      return undefined
    }
  }

  /**
   * Whether a complete list that was just received lacks trades and has not been doubted for long enough to be
   * accepted.
   */
  #isDoubted(ticker: string, trades: readonly TradeObservation[], volume: number): boolean {
    if (!areTooFew(trades, volume)) return false
    const doubt = doubtedAgain(this.#doubted.get(ticker), this.#options.clock.now())
    this.#doubted.set(ticker, doubt)
    return doubt.doubtedMs < DOUBTED_FOR_MS
  }

  disconnected(symbol: AssetSymbol, sinceMs: number): void {
    const state = this.#of(symbol)
    state.gap = { fromMs: Math.min(state.gap?.fromMs ?? sinceMs, sinceMs), toMs: undefined }
  }

  connected(symbol: AssetSymbol): void {
    const { gap } = this.#of(symbol)
    if (gap !== undefined) gap.toMs = this.#options.clock.now()
  }

  /**
   * From here on trades are polled, not streamed. They count as lost until the first list has shown which contracts
   * were traded.
   */
  pollingBegins(symbol: AssetSymbol): void {
    this.#of(symbol).isFailing = true
  }

  /** The socket streams trades from now on; the time since the last list is a gap. */
  pollingEnds(session: SessionIo, symbol: AssetSymbol): void {
    const state = this.#of(symbol)
    const fromMs = state.polledMs
    if (fromMs !== undefined) {
      state.gap = { fromMs, toMs: this.#options.clock.now() }
      this.#reportLoss(session, symbol, fromMs - LISTED_WITHIN_MS, 'the socket begins')
    }
    delete state.polledMs
    delete state.unansweredMs
    state.isFailing = false
    // Streamed trades are not counted.
    this.#counts.forgetUnless((ticker) => this.#options.catalogue.get(ticker)?.series.symbol !== symbol)
  }

  /** Counting begins with the first volume that was listed while trades are polled. */
  #count(symbol: AssetSymbol, listedMs: number): void {
    for (const { market, receivedMs } of this.#options.catalogue.of(symbol))
      if (market.volume != null && receivedMs >= listedMs)
        this.#counts.listed(market.marketId, Number(market.volume), listedMs - COUNTED_WITHIN_MS)
  }

  #of(symbol: AssetSymbol): SymbolSweeps {
    const known = this.#symbols.get(symbol)
    if (known !== undefined) return known
    const { random } = this.#options
    const state = {
      pending: createPendingSweeps(random),
      closings: createPendingSweeps(random),
      isFailing: false,
    }
    this.#symbols.set(symbol, state)
    return state
  }

  /**
   * Without a socket: contracts that are missing in the list are swept, traded or not. If one of them has closed in the
   * meantime, the list does not count, because its result will follow soon and include the volume.
   */
  #polled(symbol: AssetSymbol, listedMs: number, fromMs: number): void {
    const state = this.#of(symbol)
    const unlisted = this.#options.catalogue.of(symbol).filter((contract) => !isCurrent(contract, listedMs))
    const isOver = ({ market }: KnownContract) => (market.endTime ?? Number.POSITIVE_INFINITY) <= listedMs
    if (unlisted.some((contract) => isOver(contract) && !this.isSwept(contract.market.marketId))) return
    for (const contract of unlisted)
      if (!isOver(contract)) state.pending.add(contract.market.marketId, fromMs - SWEEP_MARGIN_MS)
    state.polledMs = listedMs
    state.unansweredMs = listedMs
  }

  /** Forgets contracts that the catalogue no longer has; does nothing while the catalogue is unchanged. */
  #forgetUnknown(symbol: AssetSymbol): void {
    const { catalogue } = this.#options
    const state = this.#of(symbol)
    const list = catalogue.of(symbol)
    if (state.list === list) return
    state.list = list
    for (const known of [this.#volumes, this.#doubted, this.#swept])
      for (const ticker of known.keys()) if (catalogue.get(ticker) === undefined) known.delete(ticker)
    this.#counts.forgetUnless((ticker) => catalogue.get(ticker) !== undefined)
  }

  /**
   * Whether the volume has changed since the last list; a missing volume counts as changed, because it proves nothing.
   */
  #isTraded(ticker: string, volume: string | null): boolean {
    const before = this.#volumes.get(ticker)
    this.#volumes.set(ticker, volume)
    return volume === null || (before !== volume && Number(volume) > 0)
  }

  /** The contracts were listed, and all trades that the list showed to exist were requested. */
  #reportAnswer(session: SessionIo, symbol: AssetSymbol): void {
    const state = this.#of(symbol)
    const listedMs = state.unansweredMs
    const channel = this.#options.tradesOf(symbol)
    if (listedMs === undefined || channel === undefined) return
    delete state.unansweredMs
    if (state.isFailing) {
      state.isFailing = false
      const receivedMs = this.#options.clock.now()
      session.report({ kind: 'subscribed', source: 'predmkt_b', receivedMs, channel })
    }
    session.answered(`trades:${symbol}`, listedMs - LISTED_WITHIN_MS)
  }

  #reportFailing(session: SessionIo, symbol: AssetSymbol, sinceMs: number): void {
    this.#reportLoss(session, symbol, sinceMs, 'trades cannot be asked for')
  }

  /** While trades are only polled, failing requests are a loss like that of a socket. */
  #reportLoss(session: SessionIo, symbol: AssetSymbol, sinceMs: number, reason: string): void {
    const state = this.#of(symbol)
    const channel = this.#options.tradesOf(symbol)
    if (channel === undefined || state.isFailing) return
    state.isFailing = true
    const about = { source: 'predmkt_b', route: 'rest', channels: [channel] } as const
    session.report({ kind: 'disconnected', ...about, receivedMs: this.#options.clock.now(), reason, sinceMs })
  }
}
