/**
 * The part of a Polymarket session that is not a socket.
 *
 *   every second, per symbol:  list (30 s) ▸ follow the windows ▸ winners that are due ▸ sweeps that are due
 *   every quarter second:      books that are missing, silent or wrong are asked for
 *   every four minutes:        a round over the prints of all windows
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Channel } from '../channel.ts'
import type { SessionIo, VenueTasks } from '../live/venue-tasks.ts'
import { createMarketChanges } from '../prediction/market-changes.ts'
import type { PolymarketCatalogue } from './catalogue.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import type { Desk, FollowedToken } from './feed.ts'
import { askBook, type PolymarketRest } from './history.ts'
import type { Repairs } from './repairs.ts'
import { createWindowSweeper } from './sweep-windows.ts'

const STEP_MS = 1_000
const REPAIR_STEP_MS = 250
/** So many frozen tokens of one socket within a minute, and the socket goes. */
const FROZEN_PER_SOCKET = 2
const FROZEN_WITHIN_MS = 60_000

export interface FollowOptions {
  readonly desks: ReadonlyMap<AssetSymbol, Desk>
  readonly repairs: ReadonlyMap<AssetSymbol, Repairs>
  readonly catalogue: PolymarketCatalogue
  readonly rest: PolymarketRest
  readonly clock: Clock
  readonly channels: readonly Channel[]
  /** Symbols of which a new window was announced: the list is read sooner. */
  readonly announced: Set<AssetSymbol>
  readonly onStart: (io: SessionIo) => void
}

export const routeName = (symbol: AssetSymbol) => `market:${symbol}`

export function followWindows(options: FollowOptions): VenueTasks {
  const { clock, catalogue, rest } = options
  const teller = createMarketChanges((symbol) => catalogue.of(symbol).map(({ observation }) => observation))
  const sweeper = createWindowSweeper({ catalogue, rest, clock, tellMarkets })
  const frozenMs = new Map<AssetSymbol, number[]>()
  let io: SessionIo | undefined

  const rested = (ms: number, signal: AbortSignal) => clock.sleep(ms, signal).catch(() => {})
  const deskOf = (route: string) =>
    [...options.desks.values()].find((desk) => routeName(desk.symbol) === route)

  async function run(session: SessionIo): Promise<void> {
    io = session
    options.onStart(session)
    const loops = [...options.desks.values()].flatMap((desk) => [
      follow(session, desk),
      mend(session, desk),
      sweep(session, desk),
    ])
    await Promise.all(loops)
  }

  async function follow(session: SessionIo, desk: Desk): Promise<void> {
    const { symbol } = desk
    let nextListMs = 0
    while (!session.signal.aborted) {
      const nowMs = clock.now()
      try {
        if ((nowMs >= nextListMs || options.announced.delete(symbol)) && !session.isPaused()) {
          nextListMs = nowMs + TIMES.catalogueEveryMs
          await catalogue.refresh(symbol, nowMs, session.signal)
          tellMarkets(session, symbol)
          session.answered(`markets:${symbol}`)
        }
        // Books of a window that was not told would be nobody's.
        tellMarkets(session, symbol)
        for (const lost of desk.follow(catalogue.wanted(symbol, nowMs), nowMs)) {
          session.emit(`book:${symbol}`, lost)
        }
        await catalogue.resolve(symbol, nowMs, session.signal)
        tellMarkets(session, symbol)
        for (const market of catalogue.of(symbol)) await sweeper.closed(session, desk, market, nowMs)
      } catch {
        // The venue did not answer: the channel falls silent, which is told; the next round tries again.
        tellMarkets(session, symbol)
      }
      await rested(STEP_MS, session.signal)
    }
  }

  function tellMarkets(session: SessionIo, symbol: AssetSymbol): void {
    for (const market of teller.take(symbol)) session.emit(`markets:${symbol}`, market)
  }

  async function sweep(session: SessionIo, desk: Desk): Promise<void> {
    while (!session.signal.aborted) {
      await sweeper.round(session, desk)
      await rested(STEP_MS, session.signal)
    }
  }

  async function mend(session: SessionIo, desk: Desk): Promise<void> {
    const repairs = options.repairs.get(desk.symbol)
    while (!session.signal.aborted) {
      const nowMs = clock.now()
      if (!session.isPaused()) {
        for (const [tokenId, token] of desk.tokens) watch(session, desk, tokenId, token, nowMs)
        checkPairs(session, desk, nowMs)
        const due = repairs?.due(nowMs) ?? []
        await Promise.all(due.map((tokenId) => repair(session, desk, tokenId)))
      }
      await rested(REPAIR_STEP_MS, session.signal)
    }
  }

  /** A book that does not come is asked for where the stream speaks, else subscribed again; a silent one is compared. */
  function watch(session: SessionIo, desk: Desk, tokenId: string, token: FollowedToken, nowMs: number): void {
    if (!token.book.isLive) {
      const waitedMs = nowMs - token.subscribedMs
      if (waitedMs > TIMES.resubscribeMs) desk.resubscribe([tokenId], nowMs)
      else if (waitedMs > TIMES.bookMissingMs && !token.isUnheard)
        options.repairs.get(desk.symbol)?.want(tokenId, nowMs)
      return
    }
    const { startMs, endMs } = token.book.leg
    if (nowMs < startMs || nowMs > endMs) return
    const isSilent = nowMs - token.heardMs > TIMES.tokenSilenceMs
    if (nowMs - token.comparedMs <= (isSilent ? TIMES.tokenSilenceMs : TIMES.verifyEveryMs)) return
    token.comparedMs = nowMs
    void compare(session, desk, tokenId, token)
  }

  async function compare(
    session: SessionIo,
    desk: Desk,
    tokenId: string,
    token: FollowedToken,
  ): Promise<void> {
    try {
      const { book, receivedMs } = await askBook(rest, tokenId, session.signal)
      if (!token.book.isLive) return
      if (token.book.isWrong(book)) {
        for (const lost of desk.lose(tokenId, 'hash_mismatch', receivedMs))
          session.emit(`book:${desk.symbol}`, lost)
        options.repairs.get(desk.symbol)?.want(tokenId, receivedMs)
        return
      }
      const isSilent = receivedMs - token.heardMs > TIMES.tokenSilenceMs
      if (!isSilent || !token.book.isBehind(book)) return
      for (const lost of desk.lose(tokenId, 'frozen', receivedMs)) session.emit(`book:${desk.symbol}`, lost)
      const recent = (frozenMs.get(desk.symbol) ?? []).filter((at) => receivedMs - at < FROZEN_WITHIN_MS)
      recent.push(receivedMs)
      frozenMs.set(desk.symbol, recent)
      if (recent.length < FROZEN_PER_SOCKET) return desk.resubscribe([tokenId], receivedMs)
      frozenMs.delete(desk.symbol)
      session.cut(routeName(desk.symbol), 'frozen books on an open socket')
    } catch {
      // Not compared: tried again after the next silence.
    }
  }

  /** Bids on both outcomes that cost more than 1 together would be free money: one of the books is wrong. */
  function checkPairs(session: SessionIo, desk: Desk, nowMs: number): void {
    for (const { legs } of catalogue.of(desk.symbol)) {
      const books = legs.map((leg) => desk.tokens.get(leg.tokenId)?.book)
      const bids = books.map((book) => (book?.isLive === true ? book.levels.best('bids') : null))
      const [up, down] = bids
      if (up === null || up === undefined || down === null || down === undefined) continue
      if (up + down <= 1_000_000) continue
      for (const leg of legs) {
        for (const lost of desk.lose(leg.tokenId, 'crossed', nowMs)) session.emit(`book:${desk.symbol}`, lost)
        options.repairs.get(desk.symbol)?.want(leg.tokenId, nowMs)
      }
    }
  }

  async function repair(session: SessionIo, desk: Desk, tokenId: string): Promise<void> {
    const repairs = options.repairs.get(desk.symbol)
    if (desk.tokens.get(tokenId)?.book.isLive !== false) return repairs?.done(tokenId)
    try {
      const { book, receivedMs } = await askBook(rest, tokenId, session.signal)
      const repaired = desk.repair(book, receivedMs)
      if (repaired !== undefined) session.emit(`book:${desk.symbol}`, repaired)
    } catch {
      // A new market has no book for some minutes: asked again, less and less often.
    }
    if (desk.tokens.get(tokenId)?.book.isLive === false) repairs?.failed(tokenId, clock.now())
    else repairs?.done(tokenId)
  }

  return {
    channels: options.channels,
    run,
    disconnected(route) {
      const desk = deskOf(route)
      if (desk === undefined) return
      for (const lost of desk.disconnect(clock.now())) io?.emit(`book:${desk.symbol}`, lost)
    },
  }
}
