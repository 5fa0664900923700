/**
 * One market as we know it, and pure rules for when something is due.
 *
 *   listed ──▶ followed (before its window begins until after it closed) ──▶ queried for its winner ──▶ forgotten
 */
import type { MarketInput } from '../../core/rows/market.ts'
import type { MarketObservation } from '../observation.ts'
import type { HistoryRange } from '../venue.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import { marketObservation, type UpDownMarket } from './mapper.ts'
import { type Series, TENOR_MS } from './slug.ts'

export interface KnownMarket extends UpDownMarket {
  /** The same object until something about the market changes. */
  readonly observation: MarketObservation
  /**
   * The order book named the winner; the time of resolution and the last figures are still to come from the catalogue.
   */
  readonly isProvisional: boolean
  /** Since when we have seen it closed; null for a window that is open, or open again. */
  readonly closedSeenMs: number | null
  tries: number
  nextAskMs: number
}

const SETTLED_KEPT_MS = 3_600_000

/** Merges an answer of the venue into what is known. */
export function mergeMarket(
  before: KnownMarket | undefined,
  seen: UpDownMarket,
  receivedMs: number,
  isProvisional = false,
): KnownMarket {
  // A winner is kept, because a late listing may still say "closed".
  if (before?.market.status === 'resolved' && seen.market.status !== 'resolved') return before
  const hasLegs = seen.legs.length > 0
  const market = {
    ...seen.market,
    // An answer may lack figures, tokens and the event; the earlier values remain.
    settlement: settlementOf(before?.market.settlement ?? null, seen.market.settlement ?? null),
    liquidity: seen.market.liquidity ?? before?.market.liquidity ?? null,
    tokens: (hasLegs ? seen.market.tokens : before?.market.tokens) ?? [],
  }
  const isClosed = market.status === 'resolved' || (market.status !== 'open' && market.active === false)
  // A new `updatedAt` alone is not a change.
  const unchanged = { ...market, updatedAt: before?.market.updatedAt }
  const isSame = before !== undefined && JSON.stringify(before.market) === JSON.stringify(unchanged)
  return {
    market: isSame ? before.market : market,
    observation: isSame ? before.observation : marketObservation(market, receivedMs),
    legs: hasLegs ? seen.legs : (before?.legs ?? []),
    isProvisional,
    closedSeenMs: isClosed ? (before?.closedSeenMs ?? receivedMs) : null,
    tries: before?.tries ?? 0,
    nextAskMs: before?.nextAskMs ?? 0,
  }
}

type Settlement = NonNullable<MarketInput['settlement']> | null

/**
 * Without the event, which says that a market settles on a mean, its record looks like that of one that settles on the
 * stream's price.
 */
function settlementOf(before: Settlement, seen: Settlement): Settlement {
  const lacksMean = seen?.windowSeconds === null && before?.of === seen.of && before.windowSeconds !== null
  return lacksMean ? before : (seen ?? before)
}

/** Longer windows are listed and traded long before they begin. */
const isLong = (tenorMs: number) => tenorMs > TENOR_MS['15m']

/** The range in which the windows that are followed end. */
export function rangeOfEnds(series: Series, nowMs: number): HistoryRange {
  const tenorMs = TENOR_MS[series.marketType]
  const aheadMs = isLong(tenorMs) ? 2 * tenorMs : tenorMs
  return { fromMs: nowMs - TIMES.followAfterEndMs, toMs: nowMs + TIMES.followBeforeMs + aheadMs }
}

export function isFollowed({ market, closedSeenMs }: KnownMarket, nowMs: number): boolean {
  const tenorMs = TENOR_MS[market.marketType ?? '5m']
  const fromMs = (market.startTime ?? 0) - TIMES.followBeforeMs - (isLong(tenorMs) ? tenorMs : 0)
  const toMs =
    closedSeenMs === null
      ? (market.endTime ?? 0) + TIMES.followAfterEndMs
      : // An answer that calls a running window closed may be wrong.
        Math.max(closedSeenMs, market.endTime ?? 0) + TIMES.followAfterClosedMs
  return nowMs >= fromMs && nowMs < toMs
}

const isSettled = ({ market, isProvisional }: KnownMarket) => market.status === 'resolved' && !isProvisional
const sinceEndMs = ({ market }: KnownMarket, nowMs: number) => nowMs - (market.endTime ?? 0)

export function isResolveDue(market: KnownMarket, nowMs: number): boolean {
  const sinceMs = sinceEndMs(market, nowMs)
  if (isSettled(market) || sinceMs >= TIMES.resolveForMs) return false
  return sinceMs >= TIMES.resolveAfterMs && nowMs >= market.nextAskMs
}

export function nextResolveMs(market: KnownMarket, nowMs: number): number {
  const isSlow = sinceEndMs(market, nowMs) > TIMES.resolvePatienceMs
  return nowMs + (isSlow ? TIMES.resolveSlowlyMs : TIMES.resolveEveryMs)
}

export function isPast(market: KnownMarket, nowMs: number): boolean {
  return sinceEndMs(market, nowMs) >= (isSettled(market) ? SETTLED_KEPT_MS : TIMES.resolveForMs)
}
