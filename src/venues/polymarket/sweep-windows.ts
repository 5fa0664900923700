/**
 * Trades that the stream did not send, requested window by window.
 *
 *   a round over every listed window, every four minutes ──▶ all trades before it were emitted
 *   a window that has closed: a minute later, and once more ten minutes later ──▶ it is swept for good
 *
 * Trades that the stream has sent stay as they are, because their time is more precise.
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import { backoffMs } from '../../kit/backoff.ts'
import type { Clock } from '../../kit/clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { PolymarketCatalogue } from './catalogue.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import type { TokenFeed } from './feed.ts'
import { askTrades, isTraded, type PolymarketRest } from './history.ts'
import type { KnownMarket } from './known-market.ts'
import type { UpDownMarket } from './mapper.ts'

const RETRY = { baseMs: 2_000, capMs: 60_000 }
/** The most markets that the venue accepts in one request. */
const MARKETS_PER_QUESTION = 20

interface Round {
  nextMs: number
  failures: number
  /** Everything before this was emitted. */
  toMs: number
  /** Windows whose trades were all emitted up to `toMs`. */
  known: ReadonlySet<string>
}

export function createWindowSweeper(options: {
  catalogue: PolymarketCatalogue
  rest: PolymarketRest
  clock: Clock
  random: () => number
  /** Emits windows that are new or have changed since they were last emitted. */
  emitMarkets: (session: SessionIo, symbol: AssetSymbol) => void
}) {
  const { catalogue, rest, clock, random } = options
  /** Per market: the sweeps that are done, and the failures since the last one. They begin again if its end moves. */
  const sweeps = new Map<string, { endMs: number; done: number; failures: number; nextMs: number }>()
  const rounds = new Map<AssetSymbol, Round>()

  function sweepOf({ marketId, endTime }: UpDownMarket['market']) {
    const [known, endMs] = [sweeps.get(marketId), endTime ?? 0]
    return known?.endMs === endMs ? known : { endMs, done: 0, failures: 0, nextMs: 0 }
  }
  const isDone = (market: UpDownMarket['market']) => sweepOf(market).done >= TIMES.sweepsAfterMs.length

  async function emitTrades(
    session: SessionIo,
    feed: TokenFeed,
    markets: readonly UpDownMarket[],
    sinceMs: number,
  ): Promise<void> {
    const byId = new Map(markets.map((market) => [market.market.marketId, market]))
    // Newer trades may still be on their way over the stream and are left to it.
    const settledMs = clock.now() - TIMES.listedWithinMs / 2
    const { trades, isEmpty } = await askTrades(rest, markets, session.signal, sinceMs)
    const traded = isEmpty ? markets.filter(isTraded) : []
    const doubted = traded.filter(({ market }) => !rest.doubts.isBelieved(market.marketId, clock.now()))
    if (doubted.length > 0) throw new Error('the venue lists no trade of a traded market')
    for (const { leg } of trades) rest.doubts.settled(leg?.marketId ?? '')
    options.emitMarkets(session, feed.symbol)
    for (const trade of trades) {
      const hash = trade.id.slice(0, trade.id.indexOf('-'))
      if (trade.venueTimeMs > settledMs) continue
      // If a transaction has several trades, the stream may have lost one of them.
      if (trade.fills === undefined && feed.hasStreamed(hash, trade.instrument)) continue
      const market = byId.get(trade.leg?.marketId ?? '')
      if (market !== undefined && catalogue.get(market.market.marketId) === undefined) {
        catalogue.add(market, trade.receivedMs)
        options.emitMarkets(session, feed.symbol)
      }
      session.emit(`trades:${feed.symbol}`, trade)
    }
  }

  async function emitAllTrades(
    session: SessionIo,
    feed: TokenFeed,
    nowMs: number,
    before: Round,
  ): Promise<Set<string>> {
    const listed = await catalogue.ahead(feed.symbol, nowMs, session.signal)
    const markets = [...catalogue.of(feed.symbol), ...listed].filter(
      ({ market, legs }) => legs.length > 0 && !isDone(market),
    )
    const isKnown = ({ market }: UpDownMarket) => before.known.has(market.marketId)
    for (const [group, sinceMs] of [
      [markets.filter((market) => !isKnown(market)), 0],
      [markets.filter(isKnown), before.toMs - TIMES.roundOverlapMs],
    ] as const)
      for (let from = 0; from < group.length; from += MARKETS_PER_QUESTION)
        await emitTrades(session, feed, group.slice(from, from + MARKETS_PER_QUESTION), sinceMs)
    return new Set(markets.map(({ market }) => market.marketId))
  }

  const about = (feed: TokenFeed, instrument: string) => {
    const receivedMs = clock.now()
    return {
      source: 'predmkt_a',
      symbol: feed.symbol,
      instrument,
      venueTimeMs: receivedMs,
      receivedMs,
      key: null,
    } as const
  }

  return {
    /** Whether the sweep of a window is due, some time after it has closed. */
    isDue({ market, legs, closedSeenMs }: KnownMarket, nowMs: number): boolean {
      const { endMs, done, nextMs } = sweepOf(market)
      const afterMs = TIMES.sweepsAfterMs[done]
      // An answer that calls a running window closed may be wrong.
      const closedMs = Math.max(endMs, closedSeenMs ?? endMs + TIMES.sweepLatestMs)
      if (afterMs === undefined || legs.length === 0) return false
      return nowMs >= closedMs + afterMs && nowMs >= nextMs
    },
    /** Sweeps a window that has closed. */
    async closed(session: SessionIo, feed: TokenFeed, market: KnownMarket) {
      const { marketId } = market.market
      const sweep = sweepOf(market.market)
      sweeps.set(marketId, sweep)
      for (const known of sweeps.keys()) if (catalogue.get(known) === undefined) sweeps.delete(known)
      try {
        await emitTrades(session, feed, [market], 0)
      } catch {
        sweep.nextMs = clock.now() + backoffMs(RETRY, sweep.failures, random)
        sweep.failures += 1
        return
      }
      sweep.done += 1
      sweep.failures = 0
      if (isDone(market.market))
        session.emit(`trades:${feed.symbol}`, { kind: 'swept', ...about(feed, marketId) })
    },
    /** Runs the round over all windows of the symbol if it is due. */
    async round(session: SessionIo, feed: TokenFeed) {
      const nowMs = clock.now()
      const before = rounds.get(feed.symbol) ?? { nextMs: 0, failures: 0, toMs: 0, known: new Set() }
      if (nowMs < before.nextMs || session.isPaused() || catalogue.of(feed.symbol).length === 0) return
      try {
        const known = await emitAllTrades(session, feed, nowMs, before)
        const toMs = nowMs - TIMES.listedWithinMs
        rounds.set(feed.symbol, { nextMs: nowMs + TIMES.roundEveryMs, failures: 0, toMs, known })
        session.emit(`trades:${feed.symbol}`, { kind: 'swept_to', ...about(feed, ''), toMs })
      } catch {
        const nextMs = clock.now() + backoffMs(RETRY, before.failures, random)
        rounds.set(feed.symbol, { ...before, nextMs, failures: before.failures + 1 })
      }
    },
  }
}
