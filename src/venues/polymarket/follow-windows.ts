/**
 * The tasks of a Polymarket session beside its sockets.
 *
 *   every second, per symbol:  list (30 s) ▸ follow the windows ▸ winners that are due
 *   every second, per symbol:  sweeps of closed windows that are due (sweep-windows.ts), from another host
 *   every quarter second:      books that are missing, silent or wrong are requested (repair-books.ts)
 *   every four minutes:        a round over the trades of all windows (sweep-windows.ts)
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { SessionIo, VenueTasks } from '../live/venue-tasks.ts'
import { createMarketChanges } from '../prediction/market-changes.ts'
import { createUnreadMarkets } from '../prediction/unread-markets.ts'
import type { PolymarketCatalogue } from './catalogue.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import type { TokenFeed } from './feed.ts'
import type { PolymarketRest } from './history.ts'
import { repairBooks, routeName } from './repair-books.ts'
import type { Repairs } from './repairs.ts'
import { createWindowSweeper } from './sweep-windows.ts'

const STEP_MS = 1_000

export interface FollowWindowsOptions {
  /** One feed per symbol, with the symbol's books that are to be requested. */
  readonly feeds: readonly { readonly feed: TokenFeed; readonly repairs: Repairs }[]
  readonly catalogue: PolymarketCatalogue
  readonly rest: PolymarketRest
  readonly clock: Clock
  readonly random: () => number
  readonly channels: readonly Channel[]
  /** Symbols with a newly announced window, whose list is then read sooner. */
  readonly announced: Set<AssetSymbol>
  readonly onStart: (io: SessionIo) => void
}

export function followWindows(options: FollowWindowsOptions): VenueTasks {
  const { clock, random, catalogue, rest } = options
  const changes = createMarketChanges(catalogue.of)
  const sweeper = createWindowSweeper({ catalogue, rest, clock, random, emitMarkets })
  const unreadMarkets = createUnreadMarkets()
  let io: SessionIo | undefined

  const pause = (signal: AbortSignal) => clock.sleep(STEP_MS, signal).catch(() => {})
  const feedOf = (route: string) => options.feeds.find(({ feed }) => routeName(feed.symbol) === route)?.feed

  async function run(session: SessionIo): Promise<void> {
    io = session
    options.onStart(session)
    const loops = options.feeds.flatMap(({ feed, repairs }) => [
      follow(session, feed),
      sweepClosed(session, feed),
      repairBooks(session, feed, { repairs, catalogue, rest, clock }),
      sweep(session, feed),
    ])
    await Promise.all(loops)
  }

  async function follow(session: SessionIo, feed: TokenFeed): Promise<void> {
    const { symbol } = feed
    let nextListMs = 0
    while (!session.signal.aborted) {
      const nowMs = clock.now()
      try {
        if ((nowMs >= nextListMs || options.announced.delete(symbol)) && !session.isPaused()) {
          nextListMs = nowMs + TIMES.catalogueEveryMs
          const unread = await catalogue.refresh(symbol, nowMs, session.signal)
          emitMarkets(session, symbol)
          const about = { source: 'predmkt_a', symbol, instrument: '', receivedMs: clock.now() } as const
          for (const each of unreadMarkets(about, unread)) session.emit(`markets:${symbol}`, each)
          session.answered(`markets:${symbol}`)
        }
        // A window is emitted before its books, so that the recorder already knows it.
        emitMarkets(session, symbol)
        for (const lost of feed.follow(catalogue.wanted(symbol, nowMs), nowMs)) {
          session.emit(`book:${symbol}`, lost)
        }
        await catalogue.resolve(symbol, nowMs, session.signal)
        emitMarkets(session, symbol)
      } catch {
        // The venue did not answer. The session reports the channel's silence; the next step tries again.
        emitMarkets(session, symbol)
      }
      await pause(session.signal)
    }
  }

  function emitMarkets(session: SessionIo, symbol: AssetSymbol): void {
    for (const market of changes.take(symbol)) session.emit(`markets:${symbol}`, market)
  }

  async function sweepClosed(session: SessionIo, feed: TokenFeed): Promise<void> {
    while (!session.signal.aborted) {
      for (const { market } of catalogue.of(feed.symbol)) {
        // Looked up again, because the sweeps before it may have taken long.
        const known = catalogue.get(market.marketId)
        if (known !== undefined && !session.signal.aborted && sweeper.isDue(known, clock.now()))
          await sweeper.closed(session, feed, known)
      }
      await pause(session.signal)
    }
  }

  async function sweep(session: SessionIo, feed: TokenFeed): Promise<void> {
    while (!session.signal.aborted) {
      await sweeper.round(session, feed)
      await pause(session.signal)
    }
  }

  return {
    channels: options.channels,
    run,
    disconnected(route) {
      const feed = feedOf(route)
      if (feed === undefined) return
      for (const lost of feed.disconnect(clock.now())) io?.emit(`book:${feed.symbol}`, lost)
    },
  }
}
