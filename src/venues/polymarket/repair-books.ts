/**
 * Order books by REST, beside the stream: a missing one is requested, a silent one is compared with the venue's own,
 * and two that contradict each other are replaced.
 *
 *   not live: 10 s after its subscription ──▶ requested, if the stream sends anything of it; after 30 s ──▶ subscribed again
 *   live, in its window: silent for 30 s, once a minute, and just before its end ──▶ compared
 *                          ├── same state, other levels ──▶ lost (hash_mismatch), requested
 *                          └── newer, and the stream is silent ──▶ lost (frozen), subscribed again; twice a minute: socket cut
 */
import { MICRO } from '../../core/micro.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import type { PolymarketCatalogue } from './catalogue.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import type { TokenFeed } from './feed.ts'
import { askBook, type PolymarketRest } from './history.ts'
import type { FollowedToken } from './read-messages.ts'
import type { Repairs } from './repairs.ts'

const STEP_MS = 250
/** The socket is cut when this many of its tokens freeze within `FROZEN_WITHIN_MS`. */
const FROZEN_PER_SOCKET = 2
const FROZEN_WITHIN_MS = 60_000

export const routeName = (symbol: AssetSymbol) => `market:${symbol}`

export interface RepairBooksOptions {
  readonly repairs: Repairs
  readonly catalogue: PolymarketCatalogue
  readonly rest: PolymarketRest
  readonly clock: Clock
}

/** What a followed token needs now. */
export function repairStep(
  token: Pick<FollowedToken, 'subscribedMs' | 'lastReceivedMs' | 'comparedMs' | 'isSilentSinceSubscribed'> & {
    readonly book: {
      readonly isLive: boolean
      readonly leg: { readonly startMs: number; readonly endMs: number }
    }
  },
  nowMs: number,
): 'resubscribe' | 'request' | 'compare' | undefined {
  if (!token.book.isLive) {
    const waitedMs = nowMs - token.subscribedMs
    if (waitedMs > TIMES.resubscribeMs) return 'resubscribe'
    // Without the stream's changes, a REST book would become outdated unnoticed.
    return waitedMs > TIMES.bookMissingMs && !token.isSilentSinceSubscribed ? 'request' : undefined
  }
  const { startMs, endMs } = token.book.leg
  if (nowMs < startMs || nowMs > endMs) return undefined
  const lastMs = endMs - TIMES.verifyBeforeEndMs
  if (nowMs >= lastMs && token.comparedMs < lastMs) return 'compare'
  const isSilent = nowMs - token.lastReceivedMs > TIMES.tokenSilenceMs
  const everyMs = isSilent ? TIMES.tokenSilenceMs : TIMES.verifyEveryMs
  return nowMs - token.comparedMs > everyMs ? 'compare' : undefined
}

/** Runs until the session ends. */
export async function repairBooks(
  session: SessionIo,
  feed: TokenFeed,
  options: RepairBooksOptions,
): Promise<void> {
  const { repairs, catalogue, rest, clock } = options
  const channel = `book:${feed.symbol}`
  let frozenMs: number[] = []

  function lose(tokenId: string, reason: 'frozen' | 'crossed', nowMs: number): void {
    for (const { channel, observation } of feed.lose(tokenId, reason, nowMs))
      session.emit(channel, observation)
  }

  function resubscribe(tokenId: string, nowMs: number): void {
    for (const { channel, observation } of feed.resubscribe(tokenId, nowMs))
      session.emit(channel, observation)
  }

  async function compare(tokenId: string, token: FollowedToken): Promise<void> {
    try {
      const { book, receivedMs } = await askBook(rest, tokenId, session.signal)
      if (!token.book.isLive) return
      const wrong = token.book.disprove(book, receivedMs)
      if (wrong !== null) {
        session.emit(channel, wrong)
        repairs.want(tokenId, receivedMs)
        return
      }
      const isSilent = receivedMs - token.lastReceivedMs > TIMES.tokenSilenceMs
      if (!isSilent || !token.book.isBehind(book)) return
      lose(tokenId, 'frozen', receivedMs)
      frozenMs = [...frozenMs.filter((atMs) => receivedMs - atMs < FROZEN_WITHIN_MS), receivedMs]
      if (frozenMs.length < FROZEN_PER_SOCKET) return resubscribe(tokenId, receivedMs)
      frozenMs = []
      session.cut(routeName(feed.symbol), 'frozen books on an open socket')
    } catch {
      // Not compared; tried again when the next comparison is due.
    }
  }

  /** Null for a book that is not followed or not live, and for an empty side. */
  function bestBid(tokenId: string): number | null {
    const book = feed.tokens.get(tokenId)?.book
    return book?.isLive === true ? book.levels.best('bids') : null
  }

  /** Bids on both outcomes that add up to more than 1 would be free money, so one of the books is wrong. */
  function checkPairs(nowMs: number): void {
    for (const { legs } of catalogue.of(feed.symbol)) {
      const [first, second] = legs
      const up = first === undefined ? null : bestBid(first.tokenId)
      const down = second === undefined || up === null ? null : bestBid(second.tokenId)
      if (up === null || down === null || up + down <= MICRO) continue
      for (const leg of legs) {
        lose(leg.tokenId, 'crossed', nowMs)
        repairs.want(leg.tokenId, nowMs)
      }
    }
  }

  async function repair(tokenId: string): Promise<void> {
    if (feed.tokens.get(tokenId)?.book.isLive !== false) return repairs.done(tokenId)
    try {
      const { book, receivedMs } = await askBook(rest, tokenId, session.signal)
      for (const observation of feed.repair(book, receivedMs)) session.emit(channel, observation)
    } catch {
      // A new market has no book for some minutes, so it is requested again, less and less often.
    }
    if (feed.tokens.get(tokenId)?.book.isLive === false) repairs.failed(tokenId, clock.now())
    else repairs.done(tokenId)
  }

  while (!session.signal.aborted) {
    const nowMs = clock.now()
    if (!session.isPaused()) {
      for (const [tokenId, token] of feed.tokens) {
        const step = repairStep(token, nowMs)
        if (step === 'resubscribe') resubscribe(tokenId, nowMs)
        if (step === 'request') repairs.want(tokenId, nowMs)
        if (step === 'compare') {
          token.comparedMs = nowMs
          void compare(tokenId, token)
        }
      }
      checkPairs(nowMs)
      await Promise.all(repairs.due(nowMs).map(repair))
    }
    await clock.sleep(STEP_MS, session.signal).catch(() => {})
  }
}
